// Drives gearmanode's client, job, worker and job server. Arguments: HOST PORT.
'use strict';

const winston = require('winston');
const tap = require('./tap');

winston.loggers.options = { transports: [new winston.transports.Console({ silent: true })] };
const gearmanode = require('gearmanode');

let server;

function newClient() {
  const client = gearmanode.client({ ...server });
  client.on('error', () => undefined);
  return client;
}

// Submits a job; the promise has all its events in their order.
function follow(client, name, payload, options) {
  const events = [];
  const job = client.submitJob(name, payload, { toStringEncoding: 'utf8', ...options });
  const end = new Promise((resolve) => {
    job.on('created', () => {
      events.push('created');
      if (job.background) resolve(events);
    });
    job.on('status', (status) =>
      events.push(`status ${status.percent_done_num}/${status.percent_done_den}`),
    );
    job.on('workData', (data) => events.push(`data ${data}`));
    job.on('warning', (data) => events.push(`warning ${data}`));
    job.on('complete', () => {
      events.push(`complete ${job.response}`);
      resolve(events);
    });
    job.on('failed', () => {
      events.push('failed');
      resolve(events);
    });
    job.on('exception', (text) => {
      events.push(`exception ${text}`);
      resolve(events);
    });
  });
  return { job, end: tap.within(`${name} ${payload}`, end) };
}

function newWorker() {
  const worker = gearmanode.worker({ ...server, withUnique: true });
  worker.addFunction('reverse', (job) => job.workComplete([...job.payload].reverse().join('')), {
    toStringEncoding: 'utf8',
  });
  worker.addFunction('unique', (job) => job.workComplete(job.unique));
  worker.addFunction('limited', (job) => job.workComplete('in time'), { timeout: 30000 });
  worker.addFunction('fail', (job) => job.reportError());
  worker.addFunction('exception', (job) => job.reportException('broken'));
  worker.addFunction('progress', (job) => {
    job.reportStatus(1, 2);
    job.sendWorkData('part one');
    job.sendWorkData('part two');
    job.reportWarning('careful');
    job.reportStatus(2, 2);
    job.workComplete('whole');
  });
  return worker;
}

async function checkForeground(client) {
  for (const priority of ['NORMAL', 'HIGH', 'LOW']) {
    const { end, job } = follow(client, 'reverse', 'abc', { priority });
    tap.is(`priority ${priority}`, await end, ['created', 'complete cba']);
    tap.ok('a handle', /^\S+:\d+$/.test(job.handle), job.handle);
  }
  tap.is(
    'a unique key reaches the worker',
    await follow(client, 'unique', 'x', { unique: 'key-1' }).end,
    ['created', 'complete key-1'],
  );
  tap.is('a function with a time limit', await follow(client, 'limited', 'x').end, [
    'created',
    'complete in time',
  ]);
  tap.is('progress', await follow(client, 'progress', 'x').end, [
    'created',
    'status 1/2',
    'data part one',
    'data part two',
    'warning careful',
    'status 2/2',
    'complete whole',
  ]);
  tap.is('a failing job', await follow(client, 'fail', 'x').end, ['created', 'failed']);
  const burst = await Promise.all(
    Array.from({ length: 50 }, (_, n) => follow(client, 'reverse', `j${n}`).end),
  );
  tap.ok(
    '50 jobs at once',
    burst.every((events, n) => events[1] === `complete ${[...`j${n}`].reverse().join('')}`),
  );
}

async function checkBackground(client) {
  for (const priority of ['NORMAL', 'HIGH', 'LOW']) {
    const { end, job } = follow(client, 'nobody does this', 'x', { background: true, priority });
    await end;
    const status = new Promise((resolve) => job.once('status', resolve));
    job.getStatus();
    tap.is(`getStatus in background, ${priority}`, await tap.within('getStatus', status), {
      known: true,
      running: false,
      percent_done_num: '0',
      percent_done_den: '0',
    });
  }
}

async function checkExceptions(client) {
  const jobServer = client.jobServers[0];
  const echo = new Promise((resolve) => jobServer.once('echo', resolve));
  jobServer.echo('ping');
  tap.is('echo', String(await tap.within('echo', echo)), 'ping');
  const option = new Promise((resolve) => jobServer.once('option', resolve));
  jobServer.setOption('exceptions');
  tap.is('option exceptions', String(await tap.within('option', option)), 'exceptions');
  tap.is('an exception for a client that asked', await follow(client, 'exception', 'x').end, [
    'created',
    'exception broken',
  ]);
  const refused = new Promise((resolve) =>
    jobServer.once('jobServerError', (code) => resolve(String(code))),
  );
  jobServer.setOption('nonsense');
  tap.is('an unknown option', await tap.within('jobServerError', refused), 'UNKNOWN_OPTION');
  await tap.oursOnly(
    'an exception for others',
    'gearmand sends a handle that the library does not find',
    async () => {
      const plain = newClient();
      tap.is(
        'an exception for a client that did not ask',
        await follow(plain, 'exception', 'x').end,
        ['created', 'failed'],
      );
      plain.close();
    },
  );
}

async function checkWorker(client) {
  const worker = gearmanode.worker({ ...server });
  const done = [];
  worker.setWorkerId('node-worker');
  worker.addFunction('kept', (job) => {
    done.push('kept');
    job.workComplete('kept');
  });
  worker.addFunction('removed', (job) => {
    done.push('removed');
    job.workComplete('removed');
  });
  tap.is(
    'a worker without unique keys',
    (await follow(client, 'kept', 'x').end)[1],
    'complete kept',
  );
  worker.removeFunction('removed');
  await follow(client, 'removed', 'x', { background: true }).end;
  tap.is('the other function goes on', (await follow(client, 'kept', 'x').end)[1], 'complete kept');
  tap.is('a removed function gets no jobs', done, ['kept', 'kept']);
  worker.resetAbilities();
  await follow(client, 'kept', 'x', { background: true }).end;
  const echo = new Promise((resolve) => worker.jobServers[0].once('echo', resolve));
  worker.jobServers[0].echo('still there');
  tap.is(
    'a worker without abilities still answers',
    String(await tap.within('echo', echo)),
    'still there',
  );
  tap.is('and gets no jobs', done, ['kept', 'kept']);
  worker.close();
}

tap.run(async (host, port) => {
  server = { host, port };
  const worker = newWorker();
  const client = newClient();
  await checkForeground(client);
  await checkBackground(client);
  await checkExceptions(client);
  await checkWorker(client);
  const closed = new Promise((resolve) => client.once('close', resolve));
  client.close();
  await tap.within('close', closed);
  worker.close();
});
