// Prints one TAP line per check.
'use strict';

const util = require('util');

const REFERENCE = process.env.GEARSTALK_REFERENCE === '1';
const DEADLINE_MS = 120000;

let count = 0;
let failed = 0;

function ok(name, passed, note) {
  count += 1;
  if (!passed) failed += 1;
  console.log(`${passed ? '' : 'not '}ok ${count} - ${name}`);
  if (note && !passed) console.log(note.replace(/^/gm, '# '));
}

function is(name, got, want) {
  const show = (value) => util.inspect(value).slice(0, 300);
  ok(name, util.isDeepStrictEqual(got, want), `got  ${show(got)}\nwant ${show(want)}`);
}

async function rejects(name, promise, pattern) {
  try {
    const value = await within(name, promise);
    ok(name, false, `no error, but ${util.inspect(value)}`);
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    ok(name, pattern.test(text) && !text.startsWith('no answer'), `error: ${text}`);
  }
}

// A check that the reference server is known to fail.
async function oursOnly(name, reason, check) {
  if (!REFERENCE) return check();
  count += 1;
  console.log(`ok ${count} - ${name} # skip ours only: ${reason}`);
  return undefined;
}

// The promise, or an error when it takes longer than anything here may take.
function within(what, promise) {
  let timer;
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer: ${what}`)), DEADLINE_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function eventually(condition) {
  const deadline = Date.now() + DEADLINE_MS;
  while (!(await condition())) {
    if (Date.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return true;
}

// Runs the checks, prints the plan and ends the process.
function run(checks) {
  checks(process.argv[2], Number(process.argv[3])).then(
    () => {
      console.log(`1..${count}`);
      process.exit(failed === 0 ? 0 : 1);
    },
    (error) => {
      console.error(error);
      process.exit(1);
    },
  );
}

module.exports = { ok, is, rejects, oursOnly, within, eventually, run };
