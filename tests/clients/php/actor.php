<?php
// Does with PHP's gearman extension what standard input asks for (see bridge/actor.py).
// Arguments: HOST PORT.

[, $host, $port] = $argv;

function encode(string $value): string
{
    $escape = fn(array $match): string => sprintf('%%%02X', ord($match[0]));
    return preg_replace_callback('{[^A-Za-z0-9_.:/$-]}', $escape, $value);
}

function say(string $kind, array $fields): void
{
    echo $kind, implode("\t", array_map(fn($field) => encode((string)$field), $fields)), "\n";
    fflush(STDOUT);
}

function event(mixed ...$fields): int
{
    say('+', $fields);
    return GEARMAN_SUCCESS;
}

function answer(mixed ...$fields): void
{
    say('=', $fields);
}

function readRequest(): array
{
    $line = fgets(STDIN);
    if ($line === false) {
        exit(0);
    }
    return array_map('rawurldecode', explode("\t", rtrim($line, "\n")));
}

function newClient(): GearmanClient
{
    global $host, $port;
    $client = new GearmanClient();
    $client->addServer($host, (int)$port);
    return $client;
}

function submit(string $function, string $body, string $unique, string $priority): void
{
    $client = newClient();
    $end = ['nothing'];
    $set = function (mixed ...$fields) use (&$end): int {
        $end = $fields;
        return GEARMAN_SUCCESS;
    };
    $client->setCreatedCallback(fn($task) => event('created', $task->jobHandle()));
    $client->setDataCallback(fn($task) => event('data', $task->data()));
    $client->setWarningCallback(fn($task) => event('warning', $task->data()));
    $client->setStatusCallback(
        fn($task) => event('status', $task->taskNumerator(), $task->taskDenominator())
    );
    $client->setCompleteCallback(fn($task) => $set('complete', $task->data()));
    $client->setFailCallback(fn($task) => $set('fail'));
    $client->setExceptionCallback(fn($task) => $set('exception', $task->data()));
    $method = ['normal' => 'addTask', 'high' => 'addTaskHigh', 'low' => 'addTaskLow'][$priority];
    $context = null;
    $client->$method($function, $body, $context, $unique === '' ? null : $unique);
    if (!@$client->runTasks() && $end === ['nothing']) {
        $end = ['error', $client->error()];
    }
    answer(...$end);
}

function background(string $function, string $body, string $unique, string $priority): void
{
    $method = ['normal' => 'doBackground', 'high' => 'doHighBackground',
        'low' => 'doLowBackground'][$priority];
    $client = newClient();
    $handle = @$client->$method($function, $body, $unique === '' ? null : $unique);
    $good = $client->returnCode() === GEARMAN_SUCCESS;
    $good ? answer('created', $handle) : answer('error', $client->error());
}

function status(string $handle): void
{
    [$known, $running, $numerator, $denominator] = newClient()->jobStatus($handle);
    answer('status', (int)$known, (int)$running, $numerator, $denominator);
}

// Follows the steps of standard input until one of them ends the job.
function follow(GearmanJob $job): void
{
    event('job', $job->handle(), $job->unique(), $job->workload());
    while (true) {
        $request = readRequest();
        $argument = $request[1] ?? '';
        match ($request[0]) {
            'data' => $job->sendData($argument),
            'warning' => $job->sendWarning($argument),
            'progress' => $job->sendStatus((int)$argument, (int)$request[2]),
            'complete' => $job->sendComplete($argument),
            'fail' => $job->sendFail(),
            'exception' => $job->sendException($argument),
        };
        if (in_array($request[0], ['complete', 'fail', 'exception'])) {
            return;
        }
    }
}

function work(string $functions): void
{
    global $host, $port;
    static $worker = null;
    $worker = new GearmanWorker();
    $worker->addServer($host, (int)$port);
    foreach (explode(',', $functions) as $function) {
        $worker->addFunction($function, function (GearmanJob $job): void {
            follow($job);
        });
    }
    @$worker->work();
    answer('done');
}

while (true) {
    $request = readRequest();
    $verb = array_shift($request);
    match ($verb) {
        'submit' => submit(...$request),
        'background' => background(...$request),
        'status' => status(...$request),
        'work' => work(...$request),
    };
}
