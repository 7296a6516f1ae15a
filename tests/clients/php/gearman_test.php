<?php
// Drives GearmanClient, GearmanTask, GearmanWorker and GearmanJob. Arguments: HOST PORT.

require __DIR__ . '/tap.php';

[, $host, $port] = $argv;
$children = [];
// A file that is there when all tasks of one key have been submitted.
$submitted = sys_get_temp_dir() . '/gearman-test-' . getmypid();

function newClient(): GearmanClient
{
    global $host, $port;
    $client = new GearmanClient();
    $client->addServer($host, (int)$port);
    $client->setTimeout(120000);
    return $client;
}

function newWorker(): GearmanWorker
{
    global $host, $port;
    $worker = new GearmanWorker();
    $worker->addServer($host, (int)$port);
    return $worker;
}

// Runs a worker in a process of its own until it is stopped or its parent is gone.
function startWorker(callable $setup): int
{
    global $children;
    $parent = getmypid();
    $pid = pcntl_fork();
    if ($pid === 0) {
        fclose(STDOUT);
        $worker = newWorker();
        $worker->setTimeout(500);
        $setup($worker);
        while (posix_getppid() === $parent) {
            @$worker->work();
        }
        posix_kill(getmypid(), SIGKILL);
    }
    $children[$pid] = true;
    return $pid;
}

function stopWorker(int $pid): void
{
    global $children;
    posix_kill($pid, SIGKILL);
    pcntl_waitpid($pid, $status);
    unset($children[$pid]);
}

// One line of the server's text protocol: function => [total, running, workers].
function serverStatus(): array
{
    global $host, $port;
    $socket = fsockopen($host, (int)$port);
    stream_set_timeout($socket, 120);
    fwrite($socket, "status\n");
    $table = [];
    while (($line = fgets($socket)) !== false && $line !== ".\n") {
        $columns = explode("\t", rtrim($line, "\n"));
        $table[$columns[0]] = array_map('intval', array_slice($columns, 1));
    }
    fclose($socket);
    return $table;
}

function workersOf(string $function): int
{
    return serverStatus()[$function][2] ?? 0;
}

startWorker(function (GearmanWorker $worker): void {
    $worker->addFunction('reverse', fn(GearmanJob $job) => strrev($job->workload()));
    $worker->addFunction('empty', fn(GearmanJob $job) => '');
    $withContext = fn(GearmanJob $job, $context) => $context . $job->workload();
    $worker->addFunction('context', $withContext, 'with ');
    $worker->addFunction('describe', fn(GearmanJob $job) => implode('|', [
        $job->functionName(), $job->unique(), $job->workloadSize(), $job->handle(),
    ]));
    $worker->addFunction('progress', function (GearmanJob $job): string {
        $job->sendStatus(1, 2);
        $job->sendData('part one');
        $job->sendData('part two');
        $job->sendWarning('careful');
        $job->sendStatus(2, 2);
        return 'whole';
    });
    $worker->addFunction('fail', function (GearmanJob $job): void {
        $job->sendFail();
    });
    $worker->addFunction('fails by return', function (GearmanJob $job): void {
        $job->setReturn(GEARMAN_WORK_FAIL);
    });
    $worker->addFunction('exception', function (GearmanJob $job): void {
        $job->sendException('broken');
    });
    $worker->addFunction('complete', function (GearmanJob $job): void {
        $job->sendComplete('by hand');
    });
    $worker->addFunction('limited', fn(GearmanJob $job) => 'in time', null, 30);
    $counts = [];
    $worker->addFunction('count', function (GearmanJob $job) use (&$counts): string {
        global $submitted;
        while (!file_exists($submitted)) {
            usleep(20000);
        }
        $counts[$job->workload()] = ($counts[$job->workload()] ?? 0) + 1;
        return (string)$counts[$job->workload()];
    });
});

function checkDo(): void
{
    $client = newClient();
    Tap::is('doNormal', $client->doNormal('reverse', 'abc'), 'cba');
    Tap::is('its return code', $client->returnCode(), GEARMAN_SUCCESS);
    Tap::is('doHigh', $client->doHigh('reverse', 'abc'), 'cba');
    Tap::is('doLow', $client->doLow('reverse', 'abc'), 'cba');
    $all = implode('', array_map('chr', range(0, 255)));
    Tap::is('every byte', bin2hex($client->doNormal('reverse', $all)), bin2hex(strrev($all)));
    $large = str_repeat('ab', 600000);
    Tap::ok('a large workload and result', $client->doNormal('reverse', $large) === strrev($large));
    Tap::is('an empty result', (string)$client->doNormal('empty', 'x'), '');
    Tap::is('a worker with a context', $client->doNormal('context', 'x'), 'with x');
    Tap::is('a function with a time limit', $client->doNormal('limited', 'x'), 'in time');
    Tap::is('sendComplete', $client->doNormal('complete', 'x'), 'by hand');
    $parts = explode('|', $client->doNormal('describe', 'four', 'my-key'));
    $seen = array_slice($parts, 0, 3);
    Tap::is('the worker sees function, key and size', $seen, ['describe', 'my-key', '4']);
    Tap::ok('and a handle', preg_match('/^\S+:\d+$/', $parts[3]) === 1, $parts[3]);
}

function checkDoWithProgress(): void
{
    $client = newClient();
    Tap::is('WORK_DATA is gathered before the result', $client->doNormal('progress', 'x'),
        'part onepart twowhole');
    Tap::is('the job ends well', $client->returnCode(), GEARMAN_SUCCESS);
    Tap::is('doJobHandle is empty again', $client->doJobHandle(), '');
    Tap::is('doStatus, too', $client->doStatus(), [0, 0]);
}

function checkFailures(): void
{
    $client = newClient();
    @$client->doNormal('fail', 'x');
    Tap::is('sendFail', $client->returnCode(), GEARMAN_WORK_FAIL);
    @$client->doNormal('fails by return', 'x');
    Tap::is('setReturn', $client->returnCode(), GEARMAN_WORK_FAIL);
    @$client->doNormal('exception', 'x');
    Tap::is('sendException', $client->returnCode(), GEARMAN_WORK_EXCEPTION);
    $client->setTimeout(300);
    Tap::is('timeout', $client->timeout(), 300);
    @$client->doNormal('nobody does this', 'x');
    Tap::is('a job without a worker times out', $client->returnCode(), GEARMAN_TIMEOUT);
    Tap::ok('error has a text', $client->error() !== '' && is_int($client->getErrno()));
}

function checkBackground(): void
{
    $client = newClient();
    foreach (['doBackground', 'doHighBackground', 'doLowBackground'] as $method) {
        $handle = $client->$method('reverse', 'x');
        Tap::ok("$method gives a handle", is_string($handle) && $handle !== '');
        $known = fn(): bool => $client->jobStatus($handle)[0];
        Tap::ok('and the job is done', eventually(fn() => !$known()));
    }
    $handle = $client->doBackground('sleeper', 'x', 'sleeper-key');
    Tap::is('jobStatus of a waiting job', $client->jobStatus($handle), [true, false, 0, 0]);
    // libgearman misses the next answer on a connection that asked by key, so another one asks.
    $byKey = newClient()->jobStatusByUniqueKey('sleeper-key');
    Tap::is('jobStatusByUniqueKey', array_slice($byKey, 0, 4), [true, false, 0, 0]);
    Tap::is('the same key joins', $client->doBackground('sleeper', 'y', 'sleeper-key'), $handle);
    $pid = startWorker(function (GearmanWorker $worker): void {
        $worker->addFunction('sleeper', function (GearmanJob $job): void {
            $job->sendStatus(3, 7);
            sleep(600);
        });
    });
    $running = fn(): bool => $client->jobStatus($handle) === [true, true, 3, 7];
    Tap::ok('jobStatus of a running job', eventually($running));
    Tap::is('serverStatus counts it', serverStatus()['sleeper'], [1, 1, 1]);
    stopWorker($pid);
    $idle = fn(): bool => !$client->jobStatus($handle)[1];
    Tap::ok('a killed worker gives its job back', eventually($idle));
    Tap::is('the job is kept', $client->jobStatus($handle)[0], true);
    startWorker(fn(GearmanWorker $worker) => $worker->addFunction('sleeper', fn() => 'done'));
    Tap::ok('another worker does it', eventually(fn() => !$client->jobStatus($handle)[0]));
    Tap::is('an unknown handle', $client->jobStatus('H:nowhere:1'), [false, false, 0, 0]);
    $byKey = newClient()->jobStatusByUniqueKey('no such key');
    Tap::is('an unknown key', array_slice($byKey, 0, 2), [false, false]);
}

function recordEvents(GearmanClient $client, array &$events): void
{
    $note = function (string $event, GearmanTask $task, string $more = '') use (&$events): int {
        $events[] = trim("$event {$task->unique()} $more");
        return GEARMAN_SUCCESS;
    };
    $client->setCreatedCallback(
        fn($task) => $note('created', $task, $task->jobHandle() === '' ? 'no handle' : '')
    );
    $client->setDataCallback(fn($task) => $note('data', $task, $task->data()));
    $client->setWarningCallback(fn($task) => $note('warning', $task, $task->data()));
    $client->setStatusCallback(
        fn($task) => $note('status', $task, $task->taskNumerator() . '/' . $task->taskDenominator())
    );
    $client->setCompleteCallback(fn($task) => $note('complete', $task, $task->data()));
    $client->setExceptionCallback(fn($task) => $note('exception', $task, (string)$task->data()));
    $client->setFailCallback(fn($task) => $note('fail', $task));
}

function eventsOf(array $events, string $unique): array
{
    $matches = fn(string $event): bool => explode(' ', $event)[1] === $unique;
    return array_values(array_filter($events, $matches));
}

function checkTasks(): void
{
    $client = newClient();
    $events = [];
    recordEvents($client, $events);
    $context = null;
    $client->addTask('reverse', 'abc', $context, 'u-normal');
    $client->addTaskHigh('reverse', 'def', $context, 'u-high');
    $client->addTaskLow('reverse', 'ghi', $context, 'u-low');
    $client->addTask('progress', 'x', $context, 'u-progress');
    $client->addTask('fail', 'x', $context, 'u-fail');
    $client->addTask('exception', 'x', $context, 'u-exception');
    $client->addTaskBackground('reverse', 'x', $context, 'u-bg');
    $client->addTaskHighBackground('reverse', 'x', $context, 'u-high-bg');
    $client->addTaskLowBackground('reverse', 'x', $context, 'u-low-bg');
    Tap::is('runTasks', @$client->runTasks(), true);
    foreach (['normal' => 'cba', 'high' => 'fed', 'low' => 'ihg'] as $priority => $result) {
        $want = ["created u-$priority", "complete u-$priority $result"];
        Tap::is("addTask, $priority", eventsOf($events, "u-$priority"), $want);
    }
    $all = eventsOf($events, 'u-progress');
    Tap::is('progress of a task', $all, [
        'created u-progress', 'status u-progress 1/2', 'data u-progress part one',
        'data u-progress part two', 'warning u-progress careful', 'status u-progress 2/2',
        'complete u-progress whole',
    ]);
    Tap::is('a failing task', eventsOf($events, 'u-fail'), ['created u-fail', 'fail u-fail']);
    $last = eventsOf($events, 'u-exception')[1] ?? '';
    Tap::is('an exception', $last, 'exception u-exception broken');
    foreach (['bg', 'high-bg', 'low-bg'] as $kind) {
        Tap::is("addTask, $kind", eventsOf($events, "u-$kind"), ["created u-$kind"]);
    }
    Tap::is('clearCallbacks', $client->clearCallbacks(), true);
}

function checkTaskStatus(): void
{
    $client = newClient();
    $handle = $client->doBackground('nobody does this', 'x');
    $seen = null;
    $client->setStatusCallback(function (GearmanTask $task) use (&$seen): int {
        $seen = [
            $task->isKnown(), $task->isRunning(), $task->taskNumerator(), $task->taskDenominator(),
        ];
        return GEARMAN_SUCCESS;
    });
    $client->addTaskStatus($handle);
    $client->runTasks();
    Tap::is('addTaskStatus', $seen, [true, false, 0, 0]);
}

function checkUniqueKeys(): void
{
    global $submitted;
    $client = newClient();
    $results = $handles = [];
    $created = 0;
    $client->setCreatedCallback(function () use (&$created, $submitted): int {
        if (++$created === 3) {
            touch($submitted);
        }
        return GEARMAN_SUCCESS;
    });
    $client->setCompleteCallback(function (GearmanTask $task) use (&$results, &$handles): int {
        $results[] = $task->data();
        $handles[$task->jobHandle()] = true;
        return GEARMAN_SUCCESS;
    });
    $context = null;
    foreach ([1, 2, 3] as $ignored) {
        $client->addTask('count', 'same', $context, 'one-key');
    }
    $client->runTasks();
    Tap::is('one run ends every task of the key', $results, ['1', '1', '1']);
    Tap::is('all with one handle', count($handles), 1);
    Tap::is('the key is free again', newClient()->doNormal('count', 'same', 'one-key'), '2');
    unlink($submitted);
}

function checkConnection(): void
{
    global $host, $port;
    $client = new GearmanClient();
    Tap::is('addServers', $client->addServers("$host:$port"), true);
    Tap::is('ping', $client->ping('are you there'), true);
    $every = implode('', array_map('chr', range(0, 255)));
    Tap::is('ping with every byte', $client->ping($every), true);
    Tap::is('enableExceptionHandler', $client->enableExceptionHandler(), true);
    $plain = new GearmanClient();
    $added = $plain->addServer($host, (int)$port, false);
    Tap::is('a server without the exception option', $added, true);
}

function checkWorker(): void
{
    $worker = newWorker();
    Tap::is('setId', $worker->setId('php-worker'), true);
    Tap::is('worker ping', $worker->ping('ping'), true);
    $worker->setTimeout(300);
    // The library sends changes with a grab; one that timed out is continued by the next.
    $workersAfterGrab = function (string $function) use ($worker): int {
        @$worker->grabJob();
        return workersOf($function);
    };
    $worker->register('registered', 30);
    $worker->register('other');
    $both = fn(): bool => $workersAfterGrab('registered') === 1 && workersOf('other') === 1;
    Tap::ok('register', eventually($both));
    $worker->unregister('registered');
    Tap::ok('unregister', eventually(fn() => $workersAfterGrab('registered') === 0));
    Tap::is('takes back only that one', workersOf('other'), 1);
    $worker->unregisterAll();
    Tap::ok('unregisterAll', eventually(fn() => $workersAfterGrab('other') === 0));
}

function checkGrab(): void
{
    $worker = newWorker();
    $worker->setTimeout(300);
    $worker->register('grabbed');
    Tap::is('work without a job', @$worker->work(), false);
    Tap::is('times out', $worker->returnCode(), GEARMAN_TIMEOUT);
    // libgearman may lose a job after a grab that timed out.
    $worker = newWorker();
    $worker->setTimeout(120000);
    $worker->register('grabbed');
    $client = newClient();
    $handle = $client->doBackground('grabbed', 'by hand', 'grab-key');
    $job = $worker->grabJob();
    $seen = [$job->workload(), $job->handle(), $job->unique()];
    Tap::is('grabJob', $seen, ['by hand', $handle, 'grab-key']);
    Tap::is('the job runs', $client->jobStatus($handle)[1], true);
    $job->sendComplete('done');
    Tap::ok('sendComplete ends it', eventually(fn() => !$client->jobStatus($handle)[0]));
    $worker->addOptions(GEARMAN_WORKER_GRAB_UNIQ);
    $client->doBackground('grabbed', 'second', 'grab-key');
    $job = $worker->grabJob();
    Tap::is('GRAB_UNIQ', $job->unique(), 'grab-key');
    unset($job);
}

function checkSleepingWorker(): void
{
    $client = newClient();
    $pid = startWorker(function (GearmanWorker $worker): void {
        $worker->setTimeout(-1);
        $worker->addFunction('wakes', fn(GearmanJob $job) => 'awake');
    });
    Tap::ok('a worker registers', eventually(fn() => workersOf('wakes') === 1));
    foreach ([1, 2, 3] as $round) {
        Tap::is("a sleeping worker wakes, round $round", $client->doNormal('wakes', 'x'), 'awake');
    }
    stopWorker($pid);
    Tap::ok('a killed worker is forgotten', eventually(fn() => workersOf('wakes') === 0));
}

checkDo();
checkDoWithProgress();
checkFailures();
checkBackground();
checkTasks();
checkTaskStatus();
checkUniqueKeys();
checkConnection();
checkWorker();
checkGrab();
checkSleepingWorker();
foreach (array_keys($children) as $pid) {
    stopWorker($pid);
}
Tap::finish();
