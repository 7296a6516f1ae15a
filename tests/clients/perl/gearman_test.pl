# Drives Gearman::Client, Gearman::Taskset, Gearman::Task and Gearman::Worker. Arguments: HOST PORT.
use strict;
use warnings;

use FindBin ();
use Gearman::Client;
use Gearman::Task;
use Gearman::Worker;
use Test::More;
use Time::HiRes qw(sleep time);

my ($host, $port) = @ARGV;
my $server    = "$host:$port";
my $reference = ($ENV{GEARSTALK_REFERENCE} || '') eq '1';
my $parent    = $$;
my @children;

# Runs a worker in a process of its own; `setup` registers its functions.
sub start_worker {
    my ($setup, %options) = @_;
    my $pid = fork;
    die "fork: $!" unless defined $pid;
    if (!$pid) {
        close STDOUT;
        open STDERR, '>', '/dev/null';
        my $worker = Gearman::Worker->new(job_servers => [$server], %options);
        $setup->($worker);
        $worker->work while getppid() == $parent;
        exit 0;
    }
    push @children, $pid;
    return $pid;
}

sub stop_worker {
    my ($pid) = @_;
    kill 'TERM', $pid;
    waitpid $pid, 0;
    @children = grep { $_ != $pid } @children;
    return;
}

END {
    if ($$ == $parent) {
        my $status = $?;
        kill 'KILL', @children;
        waitpid $_, 0 for @children;
        $? = $status;
    }
}

sub eventually {
    my ($condition, $seconds) = @_;
    my $deadline = time + ($seconds || 120);
    while (!$condition->()) {
        return 0 if time > $deadline;
        sleep 0.02;
    }
    return 1;
}

sub new_client {
    return Gearman::Client->new(job_servers => [$server], @_);
}

sub status_of {
    my ($client, $function) = @_;
    return $client->get_job_server_status->{$server}{$function};
}

sub wait_for_workers {
    my ($client, $function, $count) = @_;
    return eventually(
        sub { (status_of($client, $function) || { capable => 0 })->{capable} == $count });
}

# A named group of checks.
sub section {
    my ($name, $checks) = @_;
    note $name;
    $checks->();
    return;
}

# A check that the reference server is known to fail.
sub ours_only {
    my ($name, $reason, $check) = @_;
    if ($reference) {
    SKIP: { skip "$name: ours only: $reason", 1 }
        return;
    }
    return $check->();
}

my $client = new_client();

start_worker(
    sub {
        my ($worker) = @_;
        $worker->register_function(reverse => sub { scalar reverse $_[0]->arg });
        $worker->register_function(length  => sub { length $_[0]->arg });
        $worker->register_function(fail    => sub { return });
        $worker->register_function(
            progress => sub {
                my ($job) = @_;
                $job->set_status($_, 3) for 1 .. 3;
                $worker->send_work_data($job, 'part one');
                $worker->send_work_data($job, \'part two');
                $worker->send_work_warning($job, 'careful');
                return 'whole';
            }
        );
        $worker->register_function(
            complete_itself => sub { $worker->send_work_complete($_[0], 'early'); 'late' });
        $worker->register_function(fail_itself => sub { $worker->send_work_fail($_[0]); 'late' });
        my %seen;
        $worker->register_function(flaky => sub { $seen{ $_[0]->arg }++ < 2 ? undef : 'third time' }
        );
        $worker->register_function(handle  => sub { $_[0]->handle });
        $worker->register_function(limited => 30, sub { 'in time' });
    }
);
ok(wait_for_workers($client, $_, 1), "status shows a worker of $_") for qw(reverse limited);

section 'do_task' => sub {
    is(${ $client->do_task('reverse', 'abc') }, 'cba', 'a scalar');
    my $text = 'xyz';
    is(${ $client->do_task('reverse', \$text) }, 'zyx', 'a reference');
    my $all = join '', map { chr } 0 .. 255;
    is(${ $client->do_task('reverse', $all) }, scalar reverse($all), 'every byte');
    my $large = 'ab' x 600_000;
    is(${ $client->do_task('reverse', $large) }, 'ba' x 600_000, 'a large workload and result');
    is(${ $client->do_task('length', 'four') },  '4',            'a number as result');
    is(${ $client->do_task('limited', 'x') },    'in time',      'a function with a time limit');
    is(${ $client->do_task(Gearman::Task->new('reverse', \'task')) }, 'ksat', 'a task object');
    is(${ $client->do_task('reverse', $_, { priority => $_ }) }, scalar reverse($_), "priority $_")
        for qw(high normal low);
    ours_only(
        'an empty workload',
        'gearmand leaves the job of an empty result running',
        sub {
            is(${ $client->do_task('reverse', '') }, '', 'an empty workload and an empty result');
            is(${ $client->do_task('length',  '') },
                '', 'the result 0 arrives as the empty one that Perl sends');
        }
    );
};

section 'failures' => sub {
    my $reason;
    is($client->do_task('fail', 'x', { on_fail => sub { $reason = shift } }),
        undef, 'WORK_FAIL gives no result');
    ok($reason, 'and calls on_fail');
    my @retries;
    my $result = $client->do_task('flaky', "r$$",
        { retry_count => 3, on_retry => sub { push @retries, @_ } });
    is($$result, 'third time', 'a failed task is submitted again');
    is_deeply(\@retries, [1, 2], 'as often as needed');
    is(
        $client->do_task(
            'nobody does this',
            'x', { timeout => 0.3, on_fail => sub { $reason = shift } }
        ),
        undef,
        'a task without a worker ends at its timeout'
    );
    like($reason, qr/timeout/, 'which is the reason');
    is(${ $client->do_task('complete_itself', 'x') }, 'early', 'send_work_complete');
    is($client->do_task('fail_itself', 'x'),          undef,   'send_work_fail');
};

section 'callbacks' => sub {
    my (@status, @data, @warning, $complete);
    my $result = $client->do_task(
        'progress',
        'x',
        {
            on_status   => sub { push @status,  join '/', @_ },
            on_data     => sub { push @data,    ${ $_[0] } },
            on_warning  => sub { push @warning, ${ $_[0] } },
            on_complete => sub { $complete = ${ $_[0] } },
        }
    );
    is_deeply(\@status,  ['1/3', '2/3', '3/3'],    'WORK_STATUS');
    is_deeply(\@data,    ['part one', 'part two'], 'WORK_DATA');
    is_deeply(\@warning, ['careful'],              'WORK_WARNING');
    is($complete, 'whole', 'WORK_COMPLETE');
    is($$result,  'whole', 'the result');
};

section 'task sets' => sub {
    my $set = $client->new_task_set;
    my (%result, @failed);
    for my $word (qw(one two three four)) {
        my $handle = $set->add_task('reverse', $word,
            { on_complete => sub { $result{$word} = ${ $_[0] } } });
        like($handle, qr{^\Q$server\E//\S+$}, "$word has a handle");
    }
    $set->add_task('fail', 'x', { on_fail => sub { push @failed, 'x' } });
    $set->add_task('reverse', $_,
        { priority => $_, on_complete => sub { $result{high} .= ${ $_[0] } } })
        for qw(high low);
    $set->wait(timeout => 120);
    is_deeply([sort map { $result{$_} } qw(one two three four)],
        [qw(eerht eno owt ruof)], 'all complete');
    is(length $result{high}, 7, 'in all priorities');
    is_deeply(\@failed, ['x'], 'and the failing one fails');

    $set = $client->new_task_set;
    my $called = 0;
    $set->add_task('nobody does this', 'y', { on_complete => sub { $called++ } });
    $set->cancel;
    is($called, 0, 'a cancelled set hears nothing');
    ok(
        eventually(
            sub { (status_of($client, 'nobody does this') || { queued => 0 })->{queued} == 0 }
        ),
        'and its waiting job is gone'
    ) unless $reference;
};

section 'unique keys' => sub {
    my $set = $client->new_task_set;
    my @results;
    my %options = (uniq => "key-$$", on_complete => sub { push @results, ${ $_[0] } });
    my @handles = map { $set->add_task('count', 'same', {%options}) } 1 .. 3;
    is($handles[1], $handles[0], 'one handle for the same key');
    my %count;
    my $counting = sub {
        $_[0]->register_function(count => sub { ++$count{ $_[0]->arg } });
    };
    my $pid = start_worker($counting);
    $set->wait(timeout => 120);
    is_deeply(\@results, [1, 1, 1], 'the job runs once and each submission hears its end');
    is(${ $client->do_task('count', 'same', {%options}) }, 2, 'the key is free again afterwards');
    stop_worker($pid);

    $set     = $client->new_task_set;
    @results = ();
    %options = (uniq => '-', on_complete => sub { push @results, ${ $_[0] } });
    $set->add_task('count', "dash-$_", {%options}) for qw(a a b);
    $pid = start_worker($counting);
    $set->wait(timeout => 120);
    is_deeply([sort @results], [1, 1, 1], 'the key - merges equal workloads');
    is(${ $client->do_task('count', 'dash-a') }, 2, 'and only those');
    stop_worker($pid);
    is(${ $client->do_task('reverse', 'k', { uniq => 'u' x 63 }) }, 'k', 'a key of 63 bytes');
};

section 'background' => sub {
    my $handle = $client->dispatch_background('reverse', 'bg', { priority => 'high' });
    like($handle, qr{^\Q$server\E//\S+$}, 'a handle');
    ok(eventually(sub { !$client->get_status($handle)->known }), 'done without anybody who waits');
    $handle = $client->dispatch_background('sleeper', 'later');
    my $status = $client->get_status($handle);
    ok($status->known,    'a waiting job is known');
    ok(!$status->running, 'and does not run');
    is_deeply($status->progress, [0, 0], 'progress of nothing');
    my $pid = start_worker(
        sub {
            my ($worker) = @_;
            $worker->register_function(sleeper => sub { $_[0]->set_status(40, 80); sleep 600; 1 });
        }
    );
    ok(eventually(sub { ($client->get_status($handle)->progress || [0])->[0] == 40 }),
        'progress is reported');
    $status = $client->get_status($handle);
    ok($status->running, 'it runs');
    is($status->percent, 0.5, 'percent');
    is_deeply(
        status_of($client, 'sleeper'),
        { queued => 1, running => 1, capable => 1 },
        'status counts it'
    );
    stop_worker($pid);
    ok(eventually(sub { !$client->get_status($handle)->running }),
        'a lost worker gives its job back');
    ok($client->get_status($handle)->known, 'it is kept');
    start_worker(
        sub {
            $_[0]->register_function(sleeper => sub { 'done' });
        }
    );
    ok(eventually(sub { !$client->get_status($handle)->known }), 'and another worker does it');
    ok(!$client->get_status("$server//H:nowhere:1")->known,      'an unknown handle');
};

section 'one socket for lines and packets' => sub {
    is(status_of($client, 'reverse')->{capable},  1,       'status');
    is(${ $client->do_task('reverse', 'mixed') }, 'dexim', 'a job on the same socket');
    is(status_of($client, 'reverse')->{queued},   0,       'status again');
    is_deeply($client->get_job_server_jobs,    {}, 'jobs is refused, not waited for');
    is_deeply($client->get_job_server_clients, {}, 'clients, too');
    is(${ $client->do_task('reverse', 'and on') }, 'no dna', 'and the client goes on');
};

section 'prefix' => sub {
    my $pid = start_worker(
        sub {
            $_[0]->register_function(who => sub { 'prefixed ' . $_[0]->arg });
        },
        prefix => 'ns'
    );
    is(${ new_client(prefix => 'ns')->do_task('who', 'me', { timeout => 120 }) },
        'prefixed me', 'a TAB in a function name');
    is($client->do_task('who', 'me', { timeout => 0.3 }),
        undef, 'is another function than the bare name');
    is(${ new_client()->do_task("ns\twho", 'x', { timeout => 120 }) },
        'prefixed x', 'and can be given in full');
    stop_worker($pid);
};

section 'abilities' => sub {
    my $worker = Gearman::Worker->new(job_servers => [$server], client_id => 'perl-worker');
    my %done;
    $worker->register_function("able$_" => sub { $done{$_}++; 'x' }) for 1 .. 3;
    ok(wait_for_workers($client, 'able1', 1), 'register_function');
    $worker->unregister_function('able1');
    ok(wait_for_workers($client, 'able1', 0), 'unregister_function');
    is(status_of($client, 'able2')->{capable}, 1, 'takes back only that one');
    $worker->reset_abilities;
    ok(wait_for_workers($client, $_, 0), "reset_abilities takes back $_") for qw(able2 able3);
    my @events;
    $worker->register_function(able4 => sub { 'good' });
    $worker->register_function(able5 => sub { undef });
    $client->dispatch_background('able4', 'x');
    $client->dispatch_background('able5', 'x', { priority => 'low' });
    my $ended = 0;
    $worker->work(
        on_start    => sub { push @events, 'start' },
        on_complete => sub { push @events, "complete $_[1]"; $ended++ },
        on_fail     => sub { push @events, 'fail';           $ended++ },
        stop_if     => sub { $ended >= 2 },
    );
    is_deeply([sort @events], ['complete good', 'fail', 'start', 'start'], 'work calls its hooks');
};

section 'exceptions' => sub {
    my $setup = sub {
        my ($worker) = @_;
        $worker->register_function(dies => sub { die "broken\n" });
        $worker->register_function(pid  => sub { $$ });
        $worker->register_function(
            raises => sub { $worker->send_work_exception($_[0], 'raised'); 1 });
    };
    my $pid    = start_worker($setup);
    my $asking = new_client(exceptions => 1);
    my @seen;
    $asking->do_task('raises', 'x', { on_exception => sub { push @seen, shift } });
    is_deeply(\@seen, ['raised'], 'send_work_exception reaches a client that asked');
    @seen = ();
    $asking->do_task('dies', 'x', { timeout => 120, on_exception => sub { push @seen, shift } });
    is(scalar @seen, 1, 'so does the death of a function');
    like($seen[0], qr/broken/, 'with its text');
    ours_only(
        'the worker lives on',
        'gearmand answers the WORK_FAIL that follows with an error',
        sub {
            is(${ $asking->do_task('pid', 'x', { timeout => 120 }) }, $pid, 'the worker lives on');
        }
    );
    ours_only(
        'a client that did not ask',
        'gearmand sends it a broken handle',
        sub {
            my $failed = 0;
            $client->do_task('dies', 'x', { timeout => 120, on_fail => sub { $failed++ } });
            is($failed, 1, 'a client that did not ask sees a failure');
            is(${ $client->do_task('pid', 'x', { timeout => 120 }) },
                $pid, 'and the worker lives on');
        }
    );
};

ours_only(
    'WORK_STATUS without a denominator',
    'gearmand waits for the missing part',
    sub {
        my $pid = start_worker(
            sub {
                my ($worker) = @_;
                $worker->register_function(
                    half => sub { $worker->send_work_status($_[0], 3, 4); 'ok' });
            }
        );
        my @status;
        my $result = $client->do_task('half', 'x',
            { timeout => 120, on_status => sub { push @status, $_[0] } });
        is_deeply([@status, $$result], [3, 'ok'], 'WORK_STATUS without a denominator');
        stop_worker($pid);
    }
);

done_testing;
