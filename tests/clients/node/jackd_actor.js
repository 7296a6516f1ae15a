// Does with jackd what standard input asks for (see bridge/actor.py). Arguments: HOST PORT.
'use strict';

const Jackd = require('jackd');
const actor = require('./actor');

const bean = new Jackd();
let watched = 'default';

async function watchOnly(tube) {
  if (tube === watched) return;
  await bean.watch(tube);
  await bean.ignore(watched);
  watched = tube;
}

async function inTube(tube, command) {
  await bean.use(tube);
  return command();
}

const found = ({ id, payload }) => [id, payload];
const pairs = (yaml) =>
  yaml
    .split('\n')
    .filter((line) => line.includes(': '))
    .map((line) => line.replace(/^([a-z-]+): "?(.*?)"?$/, '$1=$2'));
const names = (yaml) =>
  yaml
    .split('\n')
    .filter((line) => line.startsWith('- '))
    .map((line) => line.slice(2));

const verbs = {
  put: (tube, body, priority, delay, ttr) =>
    inTube(tube, async () => [
      await bean.put(Buffer.from(body, 'latin1').toString('utf8'), { priority, delay, ttr }),
    ]),
  reserve: async (tube, seconds) => {
    await watchOnly(tube);
    return found(await bean.reserveWithTimeout(seconds));
  },
  delete: (id) => bean.delete(id),
  touch: (id) => bean.touch(id),
  release: (id, priority, delay) => bean.release(id, { priority, delay }),
  bury: (id, priority) => bean.bury(id, priority),
  kick: (tube, bound) => inTube(tube, async () => [await bean.kick(bound)]),
  'kick-job': (id) => bean.kickJob(id),
  'peek-ready': (tube) => inTube(tube, async () => found(await bean.peekReady())),
  'peek-delayed': (tube) => inTube(tube, async () => found(await bean.peekDelayed())),
  'peek-buried': (tube) => inTube(tube, async () => found(await bean.peekBuried())),
  'stats-job': async (id) => pairs(await bean.statsJob(id)),
  'stats-tube': async (tube) => pairs(await bean.statsTube(tube)),
  stats: async () => pairs(await bean.stats()),
  // The library ends this one command without CR LF.
  pause: (tube, seconds) => bean.pauseTube(tube, { delay: `${seconds}\r\n` }),
  list: async () => names(await bean.listTubes()),
};

bean.connect({ host: process.argv[2], port: Number(process.argv[3]) }).then(() => {
  actor.serveBeanstalk(async (verb, ...args) => (await verbs[verb](...args)) || []);
});
