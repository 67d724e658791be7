<?php
// Symfony's Lock as a read-write lock, with a RedisStore on the first master; with the argument "semaphore", Symfony's Semaphore.
require 'Symfony/Component/Lock/autoload.php';
if ($semaphore = ($argv[1] ?? '') === 'semaphore') require 'Symfony/Component/Semaphore/autoload.php';
use Symfony\Component\{Lock, Semaphore};

function answer(bool|string $ok, array $more = []): void { echo json_encode(['type' => $ok === true ? 'ok' : ($ok ?: 'fail')] + $more), "\n"; }
function take(object $lock, object $request): bool { return ($request->mode ?? '') === 'read' ? $lock->acquireRead() : $lock->acquire(); }

while (($line = fgets(STDIN)) !== false) {
    $request = json_decode($line);
    try {
        switch ($request->op) {
            case 'init':
                [$ttl, $permits, $host, $redis] = [$request->ttl_ms / 1000, $request->permits ?? 1, explode(':', $request->masters[0]), new Redis()];
                $factory = $semaphore ? new Semaphore\SemaphoreFactory(new Semaphore\Store\RedisStore($redis)) : new Lock\LockFactory(new Lock\Store\RedisStore($redis));
                answer(true, ['masters' => 1] + ($semaphore ? ['library' => 'symfony/semaphore', 'kind' => 'semaphore', 'can' => ['extend'], 'ttl' => ['min_ms' => 1000, 'unit_ms' => 1000]]
                    : ['library' => 'symfony/lock, read-write', 'kind' => 'rw', 'can' => ['extend', 'downgrade', 'upgrade']]));
                break;
            case 'acquire':
                $redis->isConnected() || $redis->connect($host[0], (int) $host[1], $ttl, null, 0, $ttl);
                $lock = $semaphore ? $factory->createSemaphore($request->key, $permits, $request->permits ?? 1, $ttl, false) : $factory->createLock($request->key, $ttl, false);
                $end = microtime(true) + $request->within_ms / 1000;
                while (!($ok = take($lock, $request)) && microtime(true) < $end) usleep(random_int(30_000, 70_000));
                answer($ok); break;
            case 'extend': // to change the mode extends a lock, too
                answer(isset($request->mode) ? take($lock, $request) : ($lock->refresh() ?? true)); break;
            case 'release': $lock->release(); answer(true); break;
            case 'exit': exit;
        }
    } catch (Lock\Exception\ExceptionInterface | Semaphore\Exception\ExceptionInterface | RedisException $e) { // of these it is certain; else it may have happened
        $certain = $e instanceof Lock\Exception\LockConflictedException || $e instanceof Lock\Exception\LockExpiredException
            || $e instanceof Semaphore\Exception\SemaphoreExpiredException || $e instanceof Semaphore\Exception\SemaphoreReleasingException;
        answer($certain ? 'fail' : 'info', ['error' => get_class($e).': '.$e->getMessage()]);
    }
}
