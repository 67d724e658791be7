<?php
// Symfony's Lock: one RedisStore on the first master; with the argument "combined", one on each and a majority of them.
require 'Symfony/Component/Lock/autoload.php';

use Symfony\Component\Lock\{LockFactory, Store\CombinedStore, Store\RedisStore, Strategy\ConsensusStrategy};
use Symfony\Component\Lock\Exception\{ExceptionInterface, LockConflictedException, LockExpiredException};

function answer(array $message): void { echo json_encode($message), "\n"; }
function connect(Redis $redis, string $master, float $timeout): Redis {
    try { // also anew: after some failures phpredis itself tries no more
        $redis->isConnected() || $redis->connect(strtok($master, ':'), (int) strtok(':'), $timeout, null, 0, $timeout);
    } catch (RedisException) {} // the store will say so
    return $redis;
}

while (($line = fgets(STDIN)) !== false) {
    $request = json_decode($line);
    try {
        switch ($request->op) {
            case 'init':
                [$ttl, $all] = [$request->ttl_ms / 1000, ($argv[1] ?? '') === 'combined'];
                foreach ($all ? $request->masters : [$request->masters[0]] as $m)
                    $stores[] = new RedisStore($connections[$m] = connect(new Redis(), $m, $ttl));
                $factory = new LockFactory($all ? new CombinedStore($stores, new ConsensusStrategy()) : $stores[0]);
                answer(['type' => 'ok', 'can' => ['extend'], 'masters' => $all ? 'n' : 1, 'library' => 'symfony/lock']); break;
            case 'acquire':
                foreach ($connections as $m => $redis) connect($redis, $m, $ttl);
                $lock = $factory->createLock($request->key, $ttl, false);
                $end = microtime(true) + $request->within_ms / 1000;
                while (!($ok = $lock->acquire()) && microtime(true) < $end) usleep(50_000);
                answer($ok ? ['type' => 'ok'] : ['type' => 'fail', 'error' => 'not acquired in time']); break;
            case 'extend': $lock->refresh(); answer(['type' => 'ok']); break;
            case 'release': $lock->release(); answer(['type' => 'ok']); break;
            case 'exit': exit;
        }
    } catch (ExceptionInterface | RedisException $e) { // of a conflict it is certain; else it may have happened
        $certain = $e instanceof LockConflictedException || $e instanceof LockExpiredException;
        answer(['type' => $certain ? 'fail' : 'info', 'error' => get_class($e).': '.$e->getMessage()]);
    }
}
