<?php
// Symfony's Lock: one RedisStore on the first master; with the argument "combined", one on each and a majority of them.
require 'Symfony/Component/Lock/autoload.php';

use Symfony\Component\Lock\{LockFactory, Store\CombinedStore, Store\RedisStore, Strategy\ConsensusStrategy};
use Symfony\Component\Lock\Exception\{ExceptionInterface, LockConflictedException, LockExpiredException};

function answer(array $message): void { echo json_encode($message), "\n"; }
function connect(Redis $redis, string $master, float $timeout): Redis {
    [$host, $port] = explode(':', $master);
    $redis->connect($host, (int) $port, $timeout, null, 0, $timeout);
    return $redis;
}

while (($line = fgets(STDIN)) !== false) {
    $request = json_decode($line);
    try {
        switch ($request->op) {
            case 'init':
                $ttl = $request->ttl_ms / 1000;
                $all = ($argv[1] ?? '') === 'combined';
                $masters = $all ? $request->masters : [$request->masters[0]];
                $connections = array_map(fn ($m) => connect(new Redis(), $m, $ttl), $masters);
                $stores = array_map(fn ($redis) => new RedisStore($redis), $connections);
                $factory = new LockFactory($all ? new CombinedStore($stores, new ConsensusStrategy()) : $stores[0]);
                answer(['type' => 'ok', 'can' => ['extend'], 'masters' => $all ? 'n' : 1, 'library' => 'symfony/lock']);
                break;
            case 'acquire':
                foreach ($connections as $i => $redis) { // phpredis gives up a connection for good after some failures
                    try {
                        if (!$redis->isConnected()) connect($redis, $masters[$i], $ttl);
                    } catch (RedisException) { // the store says so
                    }
                }
                $lock = $factory->createLock($request->key, $ttl, false);
                $end = microtime(true) + $request->within_ms / 1000;
                while (!($ok = $lock->acquire()) && microtime(true) < $end) usleep(50_000);
                answer($ok ? ['type' => 'ok'] : ['type' => 'fail', 'error' => 'not acquired in time']);
                break;
            case 'extend': $lock->refresh(); answer(['type' => 'ok']); break;
            case 'release': $lock->release(); answer(['type' => 'ok']); break;
            case 'exit': exit;
        }
    } catch (ExceptionInterface | RedisException $e) { // of a conflict it is certain; else it may have happened
        $certain = $e instanceof LockConflictedException || $e instanceof LockExpiredException;
        answer(['type' => $certain ? 'fail' : 'info', 'error' => get_class($e).': '.$e->getMessage()]);
    }
}
