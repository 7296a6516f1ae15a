// The line protocol of bridge/actor.py for programs in JavaScript.
'use strict';

const readline = require('readline');

// A field of a request is text with one character per byte.
const decode = (field) => unescape(field);

function encode(value) {
  const text = Buffer.from(value.buffer ? value : String(value)).toString('latin1');
  return text.replace(
    /[^A-Za-z0-9_.:/$-]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

function say(kind, fields) {
  process.stdout.write(`${kind}${fields.map(encode).join('\t')}\n`);
}

const event = (...fields) => say('+', fields);
const answer = (...fields) => say('=', fields);

// Calls `handle(verb, ...args)` for each line; its lines come one after the other.
function serve(handle) {
  let before = Promise.resolve();
  readline
    .createInterface({ input: process.stdin, terminal: false })
    .on('line', (line) => {
      const fields = line.split('\t').map(decode);
      before = before.then(() => handle(...fields));
    })
    .on('close', () => process.exit(0));
}

// Serves the verbs of a beanstalk library; a rejected promise is the server's error word.
function serveBeanstalk(perform) {
  serve(async (...request) => {
    try {
      answer('ok', ...(await perform(...request)));
    } catch (error) {
      answer('error', error.message.replace('Unexpected response: ', ''));
    }
  });
}

module.exports = { event, answer, serve, serveBeanstalk };
