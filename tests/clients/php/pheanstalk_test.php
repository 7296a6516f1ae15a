<?php
// Drives Debian's Pheanstalk 4, which reads statistics with regular expressions. Arguments: HOST PORT.

require __DIR__ . '/tap.php';
require 'Pheanstalk/autoload.php';

use Pheanstalk\Pheanstalk;

[, $host, $port] = $argv;
$broker = Pheanstalk::create($host, (int)$port);

$job = $broker->useTube('mail')->put('hello', 10, 0, 60);
Tap::ok('put gives an id', $job->getId() > 0);
Tap::is('listTubeUsed', $broker->listTubeUsed(), 'mail');
Tap::ok('listTubes names the tube', in_array('mail', $broker->listTubes(), true));

$tube = $broker->statsTube('mail');
Tap::is('a tube has its name, without quotes', $tube['name'], 'mail');
Tap::is('and its jobs', (int)$tube['current-jobs-ready'], 1);

$stats = $broker->statsJob($job);
Tap::is('a job has its tube, without quotes', $stats['tube'], 'mail');
Tap::is('its state', $stats['state'], 'ready');
Tap::is('its priority', (int)$stats['pri'], 10);

$server = $broker->stats();
Tap::is('the host has its name, without quotes', $server['hostname'], gethostname());
Tap::is('the platform, too', $server['platform'], php_uname('m'));
Tap::is('and jobs', (int)$server['current-jobs-ready'], 1);

$broker->watchOnly('mail');
Tap::is('listTubesWatched', array_values($broker->listTubesWatched()), ['mail']);
$reserved = $broker->reserveWithTimeout(5);
Tap::is('reserve gives the body', $reserved->getData(), 'hello');
$broker->touch($reserved);
$broker->release($reserved, 20, 0);
$reserved = $broker->reserveWithTimeout(5);
Tap::is('release has set the priority', (int)$broker->statsJob($reserved)['pri'], 20);
$broker->bury($reserved);
Tap::is('bury', $broker->peekBuried()->getId(), $job->getId());
Tap::is('kick', $broker->kick(5), 1);
$broker->pauseTube('mail', 60);
Tap::is('a paused tube gives nothing', $broker->reserveWithTimeout(0), null);
$broker->resumeTube('mail');
$reserved = $broker->reserveWithTimeout(5);
$broker->delete($reserved);
Tap::is('delete', (int)$broker->statsTube('mail')['current-jobs-ready'], 0);
Tap::finish();
