<?php
// MediaWiki: a client holds a lock for 60 s. One whose clock is right asks for it, and one whose clock is two minutes ahead.
const AHEAD = <<<'C'
    #define _GNU_SOURCE
    #include <sys/syscall.h>
    #include <sys/time.h>
    #include <unistd.h>
    int gettimeofday(struct timeval *t, void *zone) {
        int failed = syscall(SYS_gettimeofday, t, zone);
        t->tv_sec += 120;
        return failed;
    }
    time_t time(time_t *t) {
        struct timeval now;
        gettimeofday(&now, 0);
        if (t) *t = now.tv_sec;
        return now.tv_sec;
    }
    C;
$library = tempnam(sys_get_temp_dir(), 'ahead');
$compiler = popen('gcc -shared -fPIC -xc -o '.escapeshellarg($library).' -', 'w');
fwrite($compiler, AHEAD);
if (pclose($compiler) !== 0) exit(1);

/** Starts a client that asks for the lock, and returns its answer. It goes on until the script ends. */
function acquire(string $master, array $env = []): string {
    static $started = [];
    $started[] = [proc_open([PHP_BINARY, __DIR__.'/../php/mediawiki.php'], [['pipe', 'r'], ['pipe', 'w'], STDERR], $pipes, null, $env + getenv()), $pipes];
    foreach ([['op' => 'init', 'masters' => [$master], 'ttl_ms' => 60_000], ['op' => 'acquire', 'key' => 'k', 'within_ms' => 0]] as $request) {
        fwrite($pipes[0], json_encode($request)."\n");
        $answer = fgets($pipes[1]);
    }
    return json_decode($answer)->type;
}
printf("the first: %s, a right clock: %s, a clock that is ahead: %s\n", acquire($argv[1]), acquire($argv[1]), acquire($argv[1], ['LD_PRELOAD' => $library]));
unlink($library);
