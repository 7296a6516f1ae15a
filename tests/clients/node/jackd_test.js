// Drives jackd's whole API. Arguments: HOST PORT.
'use strict';

const Jackd = require('jackd');
const tap = require('./tap');

async function connect(host, port, options) {
  const client = new Jackd(options);
  await client.connect({ host, port });
  return client;
}

// jackd gives YAML as text; one "key: value" line of it.
function field(yaml, key) {
  const found = yaml.match(new RegExp(`^${key}: "?([^"\\n]*)"?$`, 'm'));
  return found ? found[1] : undefined;
}

async function checkPutAndReserve(bean) {
  await bean.use('jackd');
  await bean.watch('jackd');
  const id = await bean.put('hello');
  tap.ok('put gives an id', /^[1-9]\d*$/.test(id), id);
  const job = await bean.reserve();
  tap.is('reserve', [job.id, job.payload.toString()], [id, 'hello']);
  const stats = await bean.statsJob(id);
  tap.is(
    'jackd asks for priority 0, no delay, 60 s',
    ['pri', 'delay', 'ttr', 'state'].map((key) => field(stats, key)),
    ['0', '0', '60', 'reserved'],
  );
  await bean.touch(id);
  await bean.delete(id);
  await tap.rejects('a second delete', bean.delete(id), /NOT_FOUND/);
  await tap.rejects('touch of nothing', bean.touch(id), /NOT_FOUND/);
  await tap.rejects('stats-job of nothing', bean.statsJob(id), /NOT_FOUND/);
}

async function checkBodies(bean) {
  const object = { a: [1, 'two'] };
  await bean.put(object);
  let job = await bean.reserveWithTimeout(5);
  tap.is('an object travels as JSON', JSON.parse(job.payload.toString()), object);
  await bean.delete(job.id);
  const text = 'ünïcode \r\n RESERVED 1 1\r\nx\r\n'.repeat(500);
  await bean.put(text);
  job = await bean.reserveWithTimeout(5);
  tap.ok('bytes come back as sent', job.payload.toString() === text);
  await bean.delete(job.id);
  await tap.rejects('a body over the limit', bean.put('x'.repeat(65536)), /JOB_TOO_BIG/);
  await bean.put('after');
  job = await bean.reserveWithTimeout(5);
  tap.is('and the connection goes on', job.payload.toString(), 'after');
  await bean.delete(job.id);
}

async function checkReleaseAndBury(bean) {
  const id = await bean.put('again', { priority: 7, ttr: 30 });
  await bean.reserveWithTimeout(5);
  await bean.release(id, { priority: 3, delay: 1000 });
  tap.is('release with a delay', field(await bean.statsJob(id), 'state'), 'delayed');
  tap.is('peek-delayed', (await bean.peekDelayed()).id, id);
  await tap.rejects('release of a job that is not reserved', bean.release(id), /NOT_FOUND/);
  tap.is('kick', await bean.kick(10), 1);
  tap.is('peek-ready', (await bean.peekReady()).payload.toString(), 'again');
  tap.is('reserve-job', (await bean.reserveJob(id)).id, id);
  await tap.rejects('reserve-job of a reserved job', bean.reserveJob(id), /NOT_FOUND/);
  await bean.bury(id, 9);
  tap.is('peek-buried', (await bean.peekBuried()).id, id);
  tap.is('bury sets the priority', field(await bean.statsJob(id), 'pri'), '9');
  await bean.kickJob(id);
  tap.is('kick-job', field(await bean.statsJob(id), 'state'), 'ready');
  await tap.rejects('kick-job of a ready job', bean.kickJob(id), /NOT_FOUND/);
  tap.is('peek', (await bean.peek(id)).payload.toString(), 'again');
  await bean.delete(id);
  await tap.rejects('peek of nothing', bean.peek(id), /NOT_FOUND/);
  await tap.rejects('peek-ready of nothing', bean.peekReady(), /NOT_FOUND/);
  await tap.rejects('peek-delayed of nothing', bean.peekDelayed(), /NOT_FOUND/);
  await tap.rejects('peek-buried of nothing', bean.peekBuried(), /NOT_FOUND/);
  await tap.rejects('bury of nothing', bean.bury(id), /NOT_FOUND/);
}

async function checkWaiting(bean) {
  await tap.rejects('reserve-with-timeout 0', bean.reserveWithTimeout(0), /TIMED_OUT/);
  await tap.rejects('reserve-with-timeout 1', bean.reserveWithTimeout(1), /TIMED_OUT/);
  const id = await bean.put('short', { ttr: 2 });
  await bean.reserveWithTimeout(5);
  const deadlineSoon = () => bean.reserveWithTimeout(5).then(
    () => false, // the job came back: somebody slept through its last second
    (error) => /DEADLINE_SOON/.test(error.message),
  );
  tap.ok('the last second of a ttr', await tap.eventually(deadlineSoon));
  await bean.delete(id);
  const waiting = bean.reserve();
  const other = await connect(bean.socket.remoteAddress, bean.socket.remotePort);
  await other.use('jackd');
  await other.put('wake up');
  const job = await tap.within('a waiting reserve', waiting);
  tap.is('a waiting reserve is served', job.payload.toString(), 'wake up');
  await bean.delete(job.id);
  await other.quit();
}

async function checkTubes(bean) {
  tap.is('watch counts', await bean.watch('second'), 3);
  tap.is('watching twice does not', await bean.watch('second'), 3);
  const watched = await bean.listTubesWatched();
  tap.is(
    'list-tubes-watched',
    watched
      .split('\n')
      .filter((line) => line.startsWith('- '))
      .sort(),
    ['- default', '- jackd', '- second'],
  );
  tap.is('ignore', [await bean.ignore('second'), await bean.ignore('default')], [2, 1]);
  await tap.rejects('the last tube', bean.ignore('jackd'), /NOT_IGNORED/);
  tap.is('use', await bean.use('third'), 'third');
  tap.is('list-tube-used', await bean.getCurrentTube(), 'third');
  tap.ok('list-tubes', /^- third$/m.test(await bean.listTubes()));
  await tap.rejects('a bad name', bean.use('-bad'), /BAD_FORMAT/);
  await bean.use('jackd');
}

async function checkPause(bean) {
  // The library ends this one command without CR LF.
  await bean.pauseTube('jackd', { delay: '1000\r\n' });
  tap.is('pause-tube', field(await bean.statsTube('jackd'), 'pause'), '1000');
  const id = await bean.put('patience');
  await tap.rejects('a paused tube delivers nothing', bean.reserveWithTimeout(0), /TIMED_OUT/);
  await bean.pauseTube('jackd', { delay: '0\r\n' });
  tap.is('until the pause is lifted', (await bean.reserveWithTimeout(5)).id, id);
  await bean.delete(id);
  await tap.rejects(
    'a tube nobody knows',
    bean.pauseTube('nobody', { delay: '1\r\n' }),
    /NOT_FOUND/,
  );
}

async function checkStats(bean, host, port) {
  const stats = await bean.stats();
  tap.ok('stats', Number(field(stats, 'cmd-put')) > 5 && field(stats, 'draining') === 'false');
  const tube = await bean.statsTube('jackd');
  tap.is(
    'stats-tube',
    ['name', 'current-using', 'current-watching'].map((key) => field(tube, key)),
    ['jackd', '1', '1'],
  );
  await tap.rejects('stats-tube of nothing', bean.statsTube('nobody'), /NOT_FOUND/);
  const legacy = await connect(host, port, { useLegacyStringPayloads: true });
  await legacy.use('jackd');
  const id = await legacy.put('text');
  tap.is('payloads as strings', (await legacy.peek(id)).payload, 'text');
  await legacy.delete(id);
  tap.ok('isConnected', legacy.isConnected());
  await legacy.quit();
  tap.ok('quit closes the connection', await tap.eventually(() => !legacy.isConnected()));
}

tap.run(async (host, port) => {
  const bean = await connect(host, port);
  await checkPutAndReserve(bean);
  await checkBodies(bean);
  await checkReleaseAndBury(bean);
  await checkWaiting(bean);
  await checkTubes(bean);
  await checkPause(bean);
  await checkStats(bean, host, port);
  await bean.disconnect();
});
