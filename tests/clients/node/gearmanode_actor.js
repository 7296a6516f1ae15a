// Does with gearmanode what standard input asks for (see bridge/actor.py). Arguments: HOST PORT.
'use strict';

const winston = require('winston');
const actor = require('./actor');

winston.loggers.options = { transports: [new winston.transports.Console({ silent: true })] };
const gearmanode = require('gearmanode');

const server = { host: process.argv[2], port: Number(process.argv[3]) };
const client = gearmanode.client({ ...server });
const jobs = new Map();
let worker;
let offered = '';
let asked = false;
let current;
// The library may grab a job before it is asked for one; it waits here.
const assigned = [];

client.on('jobServerError', (uid, code) => actor.answer('error', code));

function submit(name, body, unique, priority, background) {
  const options = { priority: priority.toUpperCase(), background };
  if (unique !== '') options.unique = unique;
  return client.submitJob(name, Buffer.from(body, 'latin1'), options);
}

function foreground(name, body, unique, priority) {
  const job = submit(name, body, unique, priority, false);
  job.on('created', () => actor.event('created', job.handle));
  job.on('workData', (data) => actor.event('data', data));
  job.on('warning', (data) => actor.event('warning', data));
  job.on('status', (s) => actor.event('status', s.percent_done_num, s.percent_done_den));
  job.on('complete', () => actor.answer('complete', job.response));
  job.on('failed', () => actor.answer('fail'));
  job.on('exception', (text) => actor.answer('exception', text));
}

function background(name, body, unique, priority) {
  const job = submit(name, body, unique, priority, true);
  job.on('created', () => {
    jobs.set(job.handle, job);
    actor.answer('created', job.handle);
  });
}

function status(handle) {
  const job = jobs.get(handle);
  job.once('status', (s) =>
    actor.answer(
      'status',
      s.known ? 1 : 0,
      s.running ? 1 : 0,
      s.percent_done_num,
      s.percent_done_den,
    ),
  );
  job.getStatus();
}

function show() {
  if (!asked || assigned.length === 0) return;
  asked = false;
  current = assigned.shift();
  actor.event('job', current.handle, current.unique, current.payload);
}

function offer(functions) {
  if (worker) worker.close();
  offered = functions;
  worker = gearmanode.worker({ ...server, withUnique: true });
  for (const name of functions.split(',')) {
    worker.addFunction(name, (job) => {
      assigned.push(job);
      show();
    });
  }
}

function work(functions) {
  asked = true;
  if (functions !== offered) offer(functions);
  show();
}

function end(step) {
  step();
  actor.answer('done');
}

const verbs = {
  submit: foreground,
  background,
  status,
  work,
  data: (data) => {
    current.sendWorkData(data);
  },
  warning: (data) => {
    current.reportWarning(data);
  },
  progress: (numerator, denominator) => {
    current.reportStatus(Number(numerator), Number(denominator));
  },
  complete: (result) => end(() => current.workComplete(result)),
  fail: () => end(() => current.reportError()),
  exception: (text) => end(() => current.reportException(text)),
};

actor.serve((verb, ...args) => verbs[verb](...args));
