// Drives fivebeans' client and worker. Arguments: HOST PORT.
'use strict';

const { client: Client, worker: Worker } = require('fivebeans');
const tap = require('./tap');

function connect(host, port) {
  const client = new Client(host, port);
  return tap.within(
    'connect',
    new Promise((resolve, reject) => {
      client.on('connect', () => resolve(client)).on('error', reject);
      client.connect();
    }),
  );
}

// Calls a command; the promise has its one value, or all of them as an array.
function call(client, command, ...args) {
  return tap.within(
    command,
    new Promise((resolve, reject) => {
      client[command](...args, (error, ...values) => {
        if (error) reject(new Error(error));
        else resolve(values.length > 1 ? values : values[0]);
      });
    }),
  );
}

async function checkJobs(bean) {
  tap.is('use', await call(bean, 'use', 'five'), 'five');
  tap.is('list-tube-used', await call(bean, 'list_tube_used'), 'five');
  tap.is('watch', await call(bean, 'watch', 'five'), '2');
  tap.is('list-tubes-watched', (await call(bean, 'list_tubes_watched')).sort(), [
    'default',
    'five',
  ]);
  tap.is('ignore', await call(bean, 'ignore', 'default'), '1');
  await tap.rejects('the last tube', call(bean, 'ignore', 'five'), /NOT_IGNORED/);
  tap.ok('list-tubes', (await call(bean, 'list_tubes')).includes('five'));
  const id = await call(bean, 'put', 10, 0, 60, 'hello');
  let [got, body] = await call(bean, 'reserve');
  tap.is('put and reserve', [got, body.toString()], [id, 'hello']);
  await call(bean, 'touch', id);
  await call(bean, 'release', id, 5, 0);
  [got] = await call(bean, 'reserve_with_timeout', 5);
  tap.is('release', got, id);
  await call(bean, 'bury', id, 20);
  [got, body] = await call(bean, 'peek_buried');
  tap.is('bury and peek-buried', [got, body.toString()], [id, 'hello']);
  tap.is('kick', await call(bean, 'kick', 10), '1');
  [got] = await call(bean, 'peek_ready');
  tap.is('peek-ready', got, id);
  await call(bean, 'reserve');
  await call(bean, 'release', id, 5, 1000);
  [got] = await call(bean, 'peek_delayed');
  tap.is('peek-delayed', got, id);
  await call(bean, 'kick_job', id);
  const stats = await call(bean, 'stats_job', id);
  tap.is(
    'stats-job',
    [String(stats.id), stats.tube, stats.state, stats.pri, stats.buries, stats.releases],
    [id, 'five', 'ready', 5, 1, 2],
  );
  [, body] = await call(bean, 'peek', id);
  tap.is('peek', body.toString(), 'hello');
  await call(bean, 'destroy', id);
  for (const command of ['destroy', 'touch', 'peek', 'stats_job', 'kick_job']) {
    await tap.rejects(`${command} of nothing`, call(bean, command, id), /NOT_FOUND/);
  }
  for (const command of ['peek_ready', 'peek_delayed', 'peek_buried']) {
    await tap.rejects(`${command} of nothing`, call(bean, command), /NOT_FOUND/);
  }
}

async function checkErrors(bean) {
  await tap.rejects('TIMED_OUT', call(bean, 'reserve_with_timeout', 0), /TIMED_OUT/);
  await tap.rejects('JOB_TOO_BIG', call(bean, 'put', 0, 0, 60, Buffer.alloc(65536)), /JOB_TOO_BIG/);
  await tap.rejects('BAD_FORMAT', call(bean, 'use', '-bad'), /BAD_FORMAT/);
  const id = await call(bean, 'put', 0, 0, 2, 'short');
  await call(bean, 'reserve');
  const deadlineSoon = () => call(bean, 'reserve_with_timeout', 5).then(
    () => false, // the job came back: somebody slept through its last second
    (error) => /DEADLINE_SOON/.test(error.message),
  );
  tap.ok('DEADLINE_SOON', await tap.eventually(deadlineSoon));
  await call(bean, 'destroy', id);
}

async function checkPauseAndStats(bean) {
  await call(bean, 'pause_tube', 'five', 1000);
  const tube = await call(bean, 'stats_tube', 'five');
  tap.is('pause-tube', [tube.pause, tube['cmd-pause-tube'], tube['current-using']], [1000, 1, 1]);
  await call(bean, 'pause_tube', 'five', 0);
  const stats = await call(bean, 'stats');
  tap.ok(
    'stats',
    stats['cmd-put'] > 1 && stats['max-job-size'] === 65535 && stats.draining === false,
  );
  await tap.rejects('pause-tube of nothing', call(bean, 'pause_tube', 'nobody', 1), /NOT_FOUND/);
  await tap.rejects('stats-tube of nothing', call(bean, 'stats_tube', 'nobody'), /NOT_FOUND/);
}

async function checkPipeline(host, port) {
  const bean = await connect(host, port);
  await call(bean, 'use', 'pipe');
  await call(bean, 'watch', 'pipe');
  const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  const numbers = Array.from({ length: 500 }, (_, index) => index);
  const body = (number) => Buffer.concat([Buffer.from(`${number}:`), all]);
  const puts = numbers.map((number) => call(bean, 'put', 0, 0, 60, body(number)));
  const ids = await Promise.all(puts);
  tap.ok(
    '500 puts in one burst: ids rise',
    ids.every((id, n) => n === 0 || Number(id) > Number(ids[n - 1])),
  );
  const jobs = await Promise.all(numbers.map(() => call(bean, 'reserve')));
  tap.ok(
    '500 reserves in one burst: the jobs in their order',
    jobs.every(([id, payload], n) => id === ids[n] && payload.equals(body(n))),
  );
  const ends = await Promise.all(ids.map((id) => call(bean, 'destroy', id).then(() => true)));
  tap.is('500 deletes in one burst', ends.length, 500);
  const mixed = await Promise.all([
    call(bean, 'put', 0, 0, 60, 'mixed'),
    call(bean, 'reserve'),
    call(bean, 'stats_tube', 'pipe'),
    call(bean, 'list_tubes_watched'),
    call(bean, 'reserve_with_timeout', 0).catch((error) => error.message),
    call(bean, 'list_tube_used'),
  ]);
  tap.is(
    'different commands in one burst',
    [
      mixed[1][1].toString(),
      mixed[2]['current-jobs-reserved'],
      mixed[3].length,
      mixed[4],
      mixed[5],
    ],
    ['mixed', 1, 2, 'TIMED_OUT', 'pipe'],
  );
  const closed = new Promise((resolve) => bean.on('close', resolve));
  bean.quit(() => undefined);
  await tap.within('quit', closed);
  tap.ok('quit closes the connection', true);
}

async function checkWorker(host, port) {
  const bean = await connect(host, port);
  await call(bean, 'use', 'work');
  const seen = [];
  const ends = [];
  const handlers = {
    good: {
      type: 'good',
      work(payload, done) {
        seen.push(payload);
        done('success');
      },
    },
    later: {
      type: 'later',
      work(payload, done) {
        seen.push(payload);
        done('release', 1000);
      },
    },
    bad: {
      type: 'bad',
      work(payload, done) {
        seen.push(payload);
        done('bury');
      },
    },
    numbered: {
      type: 'numbered',
      work(id, payload, done) {
        seen.push(payload);
        done('success');
      },
    },
    throws: {
      type: 'throws',
      work(payload) {
        seen.push(payload);
        throw new Error('broken');
      },
    },
  };
  const worker = new Worker({ id: 'w', host, port, handlers, ignoreDefault: true, timeout: 1 });
  for (const event of ['job.deleted', 'job.released', 'job.buried'])
    worker.on(event, (id) => ends.push([event, String(id)]));
  const types = ['good', 'later', 'bad', 'numbered', 'throws', 'unknown'];
  const ids = [];
  for (const type of types) {
    ids.push(await call(bean, 'put', 0, 0, 60, JSON.stringify({ type, payload: `p ${type}` })));
  }
  worker.start(['work']);
  tap.ok('the worker handles every job', await tap.eventually(() => ends.length === types.length));
  tap.is(
    'with its payload',
    seen,
    types.slice(0, 5).map((type) => `p ${type}`),
  );
  const want = [
    'job.deleted',
    'job.released',
    'job.buried',
    'job.deleted',
    'job.buried',
    'job.buried',
  ];
  tap.is(
    'deleted, released or buried',
    ends,
    want.map((event, n) => [event, ids[n]]),
  );
  const states = await Promise.all([ids[1], ids[2]].map((id) => call(bean, 'stats_job', id)));
  tap.is(
    'as the server sees it',
    states.map((job) => [job.state, job.pri]),
    [
      ['delayed', 1000],
      ['buried', 1000],
    ],
  );
  const stopped = new Promise((resolve) => worker.on('stopped', resolve));
  worker.stop();
  await tap.within('stop', stopped);
  tap.ok('the worker stops', true);
  bean.end();
}

tap.run(async (host, port) => {
  const bean = await connect(host, port);
  await checkJobs(bean);
  await checkErrors(bean);
  await checkPauseAndStats(bean);
  await checkPipeline(host, port);
  await checkWorker(host, port);
  bean.end();
});
