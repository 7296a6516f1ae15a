# Does with Gearman::Client and Gearman::Worker what standard input asks for
# (see bridge/actor.py). Arguments: HOST PORT.
use strict;
use warnings;

use Gearman::Client;
use Gearman::Worker;

$| = 1;
my $server = "$ARGV[0]:$ARGV[1]";
my $client = Gearman::Client->new(job_servers => [$server], exceptions => 1);
my $worker;

sub encode {
    my ($value) = @_;
    $value = '' unless defined $value;
    $value =~ s{([^A-Za-z0-9_.:/\$-])}{sprintf '%%%02X', ord $1}ge;
    return $value;
}

sub read_request {
    my $line = <STDIN>;
    exit 0 unless defined $line;
    chomp $line;
    return map { s/%(..)/chr hex $1/ger } split /\t/, $line, -1;
}

sub say_line {
    my ($kind, @fields) = @_;
    print $kind, join("\t", map { encode($_) } @fields), "\n";
    return;
}
sub event  { say_line('+', @_); return }
sub answer { say_line('=', @_); return }

# The library's handle is HOST:PORT//HANDLE.
sub bare { return $_[0] =~ s{^.*?//}{}r }

sub task_options {
    my ($unique, $priority) = @_;
    return (priority => $priority, length $unique ? (uniq => $unique) : ());
}

sub submit {
    my ($function, $body, $unique, $priority) = @_;
    my @end;
    my $set    = $client->new_task_set;
    my $handle = $set->add_task(
        $function,
        \$body,
        {
            task_options($unique, $priority),
            on_data      => sub { event('data',    ${ $_[0] }) },
            on_warning   => sub { event('warning', ${ $_[0] }) },
            on_status    => sub { event('status',  @_) },
            on_complete  => sub { @end = ('complete', ${ $_[0] }) },
            on_fail      => sub { @end = ('fail') },
            on_exception => sub { @end = ('exception', $_[0]) },
        }
    );
    event('created', bare($handle));
    $set->wait;
    answer(@end ? @end : 'nothing');
    return;
}

sub background {
    my ($function, $body, $unique, $priority) = @_;
    my $handle = eval {
        $client->dispatch_background($function, \$body, { task_options($unique, $priority) });
    };
    answer($handle ? ('created', bare($handle)) : ('error', $@ || 'no handle'));
    return;
}

sub status {
    my ($handle) = @_;
    my $status = $client->get_status("$server//$handle");
    answer('status', $status->known, $status->running, @{ $status->progress });
    return;
}

# Follows the steps of standard input until one of them ends the job.
sub follow {
    my ($job) = @_;
    event('job', $job->handle, '', $job->arg);
    while (1) {
        my ($step, @args) = read_request();
        if    ($step eq 'data')      { $worker->send_work_data($job, $args[0]) }
        elsif ($step eq 'warning')   { $worker->send_work_warning($job, $args[0]) }
        elsif ($step eq 'progress')  { $job->set_status(@args) }
        elsif ($step eq 'complete')  { $worker->send_work_complete($job, $args[0]);  last }
        elsif ($step eq 'fail')      { $worker->send_work_fail($job);                last }
        elsif ($step eq 'exception') { $worker->send_work_exception($job, $args[0]); last }
        else                         { die "unknown step $step" }
    }
    return 1;
}

sub work {
    my ($functions) = @_;
    my $done = 0;
    $worker = Gearman::Worker->new(job_servers => [$server], client_id => 'perl-actor');
    for my $function (split /,/, $functions) {
        $worker->register_function($function => sub { follow($_[0]); $done = 1 });
    }
    $worker->work(stop_if => sub { $done });
    answer('done');
    return;
}

my %verbs = (submit => \&submit, background => \&background, status => \&status, work => \&work);
while (1) {
    my ($verb, @args) = read_request();
    $verbs{$verb}->(@args);
}
