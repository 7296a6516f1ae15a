// Does with fivebeans what standard input asks for (see bridge/actor.py). Arguments: HOST PORT.
'use strict';

const { client: Client } = require('fivebeans');
const actor = require('./actor');

const bean = new Client(process.argv[2], Number(process.argv[3]));
let watched = 'default';

function call(command, ...args) {
  return new Promise((resolve, reject) => {
    bean[command](...args, (error, ...values) =>
      error ? reject(new Error(error)) : resolve(values),
    );
  });
}

async function watchOnly(tube) {
  if (tube === watched) return;
  await call('watch', tube);
  await call('ignore', watched);
  watched = tube;
}

async function inTube(tube, ...command) {
  await call('use', tube);
  return call(...command);
}

const nothing = (promise) => promise.then(() => []);
const pairs = ([stats]) => Object.entries(stats).map(([key, value]) => `${key}=${value}`);

const verbs = {
  put: (tube, body, pri, delay, ttr) =>
    inTube(tube, 'put', pri, delay, ttr, Buffer.from(body, 'latin1')),
  reserve: async (tube, seconds) => {
    await watchOnly(tube);
    return call('reserve_with_timeout', seconds);
  },
  delete: (id) => nothing(call('destroy', id)),
  touch: (id) => nothing(call('touch', id)),
  release: (id, pri, delay) => nothing(call('release', id, pri, delay)),
  bury: (id, pri) => nothing(call('bury', id, pri)),
  kick: (tube, bound) => inTube(tube, 'kick', bound),
  'kick-job': (id) => nothing(call('kick_job', id)),
  'peek-ready': (tube) => inTube(tube, 'peek_ready'),
  'peek-delayed': (tube) => inTube(tube, 'peek_delayed'),
  'peek-buried': (tube) => inTube(tube, 'peek_buried'),
  'stats-job': async (id) => pairs(await call('stats_job', id)),
  'stats-tube': async (tube) => pairs(await call('stats_tube', tube)),
  stats: async () => pairs(await call('stats')),
  pause: (tube, seconds) => nothing(call('pause_tube', tube, seconds)),
  list: async () => (await call('list_tubes'))[0],
};

bean.on('connect', () => actor.serveBeanstalk((verb, ...args) => verbs[verb](...args)));
bean.connect();
