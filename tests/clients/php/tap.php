<?php
// Prints one TAP line per check.

final class Tap
{
    private static int $count = 0;
    private static int $failed = 0;

    public static function ok(string $name, bool $passed, string $note = ''): void
    {
        self::$count++;
        self::$failed += $passed ? 0 : 1;
        echo $passed ? '' : 'not ', 'ok ', self::$count, " - $name\n";
        if (!$passed && $note !== '') {
            echo preg_replace('/^/m', '# ', $note), "\n";
        }
    }

    public static function is(string $name, mixed $got, mixed $want): void
    {
        $note = 'got  ' . var_export($got, true) . "\nwant " . var_export($want, true);
        self::ok($name, $got === $want, $note);
    }

    // A check that the reference server is known to fail.
    public static function oursOnly(string $name, string $reason, callable $check): void
    {
        if (getenv('GEARSTALK_REFERENCE') !== '1') {
            $check();
            return;
        }
        self::$count++;
        echo 'ok ', self::$count, " - $name # skip ours only: $reason\n";
    }

    public static function finish(): never
    {
        echo '1..', self::$count, "\n";
        exit(self::$failed === 0 ? 0 : 1);
    }
}

function eventually(callable $condition, float $seconds = 120): bool
{
    $deadline = microtime(true) + $seconds;
    while (!$condition()) {
        if (microtime(true) > $deadline) {
            return false;
        }
        usleep(20000);
    }
    return true;
}
