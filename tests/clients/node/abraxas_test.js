// Drives abraxas' client and worker. Arguments: HOST PORT.
'use strict';

const Abraxas = require('abraxas');
const tap = require('./tap');

let server;

function connect() {
  return tap.within(
    'connect',
    new Promise((resolve, reject) => {
      const options = { ...server, defaultEncoding: 'utf8' };
      const client = Abraxas.Client.connect(options, (error) =>
        error ? reject(error) : resolve(client),
      );
      client.on('connection-error', () => undefined);
    }),
  );
}

function result(task) {
  return tap.within('a task', new Promise((resolve, reject) => task.then(resolve, reject)));
}

// A task's result by callback; `start` gets the callback.
function called(start) {
  return tap.within(
    'a callback',
    new Promise((resolve, reject) => {
      start((error, value) => (error ? reject(error) : resolve(value)));
    }),
  );
}

function statusTable(client) {
  return called((done) => client.status({}, done));
}

// One worker alone comes without its array.
async function workerTable(client) {
  const rows = await called((done) => client.workers({}, done));
  return Array.isArray(rows) ? rows : [rows];
}

function follow(task) {
  const events = [];
  for (const event of ['created', 'status', 'warn']) {
    task.on(event, (value) => events.push(event === 'created' ? event : `${event} ${value}`));
  }
  return events;
}

function registerFunctions(worker) {
  worker.registerWorker('upper', (task) => task.payload.toUpperCase());
  worker.registerWorker('promised', (task) => Promise.resolve(`promised ${task.payload}`));
  worker.registerWorker('unique', (task) => String(task.uniqueid));
  worker.registerWorker('limited', { timeout: 30000 }, () => 'in time');
  worker.registerWorkerStream('stream', (task) => {
    task.pipe(task);
  });
  worker.registerWorker('progress', (task) => {
    task.status(0.25);
    task.warn('careful');
    task.status(0.5);
    task.end('whole');
  });
}

async function checkForeground(client) {
  for (const priority of [undefined, 'high', 'low']) {
    tap.is(
      `priority ${priority || 'normal'}`,
      await result(client.submitJob('upper', { priority }, 'abc')),
      'ABC',
    );
  }
  tap.is(
    'a result by callback',
    await called((done) => client.submitJob('upper', 'abc', done)),
    'ABC',
  );
  tap.is('a worker that promises', await result(client.submitJob('promised', 'x')), 'promised x');
  tap.is(
    'a unique key',
    await result(client.submitJob('unique', { uniqueid: 'key-1' }, 'x')),
    'key-1',
  );
  tap.is('a function with a time limit', await result(client.submitJob('limited', 'x')), 'in time');
  const task = client.submitJob('progress', 'x');
  const events = follow(task);
  tap.is('a job with progress', await result(task), 'whole');
  tap.is('its events', events.sort(), ['created', 'status 0.25', 'status 0.5', 'warn careful']);
  const large = 'ab'.repeat(200000);
  tap.ok(
    'a large workload',
    (await result(client.submitJob('upper', large))) === large.toUpperCase(),
  );
  const many = await Promise.all(
    Array.from({ length: 100 }, (_, n) => result(client.submitJob('upper', `j${n}`))),
  );
  tap.ok(
    '100 jobs at once',
    many.every((value, n) => value === `J${n}`),
  );
}

async function checkStreams(client) {
  const task = client.submitJob('stream', {});
  const answer = result(task);
  task.write('one ');
  task.write('two');
  task.end();
  tap.is('a workload written as a stream', await answer, 'one two');
}

async function checkBackground(client, worker) {
  for (const priority of [undefined, 'high', 'low']) {
    const handle = await called((done) => client.submitJobBg('later', { priority }, 'x', done));
    tap.ok(`background, ${priority || 'normal'}`, /^\S+:\d+$/.test(handle), handle);
    const status = await called((done) => client.getStatus(handle, done));
    tap.is('getStatus', status, { known: 1, running: 0, complete: 0 });
  }
  tap.is('status counts them', (await statusTable(client)).later, {
    function: 'later',
    inqueue: 3,
    running: 0,
    workers: 0,
  });
  let done = 0;
  worker.registerWorker('later', () => {
    done += 1;
    return 'done';
  });
  tap.ok('a worker does them', await tap.eventually(() => done === 3));
  const soon = new Date(Date.now() + 2000);
  const handle = await called((cb) => client.submitJobAt('later', soon, {}, 'x', cb));
  tap.ok('submitJobAt', /^\S+:\d+$/.test(handle), handle);
  await tap.oursOnly(
    'an epoch job wakes a sleeping worker',
    'gearmand wakes nobody when it is due',
    async () => {
      tap.ok('an epoch job wakes a sleeping worker', await tap.eventually(() => done === 4));
    },
  );
}

async function checkAdmin(client, worker) {
  tap.is('echo', await result(client.echo('ping')), 'ping');
  tap.is('echo by callback', await called((done) => client.echo('pong', done)), 'pong');
  worker.setClientId('node-worker');
  tap.ok(
    'workers shows id and functions',
    await tap.eventually(async () => {
      const row = (await workerTable(client)).find((one) => one.clientid === 'node-worker');
      return row && row.ip === '127.0.0.1' && row.functions.includes('upper');
    }),
  );
  const [status, workers, echo, upper] = await Promise.all([
    statusTable(client),
    workerTable(client),
    result(client.echo('mixed')),
    result(client.submitJob('upper', 'mixed')),
  ]);
  tap.is(
    'tables, echo and a job at once',
    [status.upper.workers, workers.length >= 2, echo, upper],
    [1, true, 'mixed', 'MIXED'],
  );
}

async function checkAbilities(client) {
  const worker = await connect();
  const registered = worker.registerWorker('able', (task) => `able ${task.payload}`);
  tap.is('registerWorker', await result(client.submitJob('able', 'x')), 'able x');
  tap.is('its status', (await statusTable(client)).able.workers, 1);
  // The library sends CANT_DO without the name; the connection must survive that.
  worker.registerWorker('other', () => 'other');
  registered.unregister();
  tap.is('unregister', await result(client.submitJob('other', 'x')), 'other');
  worker.forgetAllWorkers();
  tap.ok(
    'forgetAllWorkers',
    await tap.eventually(async () => {
      const row = (await statusTable(client)).other;
      return !row || row.workers === 0;
    }),
  );
  worker.disconnect();
}

async function checkFailures(client) {
  const worker = await connect();
  worker.registerWorker('broken', () => {
    throw new Error('broken');
  });
  worker.registerWorker('healthy', () => 'healthy');
  await tap.rejects('an exception', result(client.submitJob('broken', 'x')), /broken/);
  await tap.oursOnly(
    'the worker lives on',
    'gearmand answers the WORK_FAIL that follows with an error',
    async () => {
      tap.is('the worker lives on', await result(client.submitJob('healthy', 'x')), 'healthy');
    },
  );
  worker.disconnect();
}

tap.run(async (host, port) => {
  server = { host, port };
  const client = await connect();
  const worker = await connect();
  registerFunctions(worker);
  await checkForeground(client);
  await checkStreams(client);
  await checkBackground(client, worker);
  await checkAdmin(client, worker);
  await checkAbilities(client);
  await checkFailures(client);
  client.disconnect();
  worker.disconnect();
});
