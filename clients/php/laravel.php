<?php
// Laravel's RedisLock over Predis, on the first master. Its TTLs are whole seconds, and it cannot extend.
require 'Illuminate/Cache/autoload.php';
require 'Predis/autoload.php';

use Illuminate\Cache\RedisLock;
use Illuminate\Contracts\Cache\LockTimeoutException;
use Predis\PredisException;

function answer(array $message): void { echo json_encode($message), "\n"; }

while (($line = fgets(STDIN)) !== false) {
    $request = json_decode($line);
    try {
        switch ($request->op) {
            case 'init':
                $ttl = (int) ($request->ttl_ms / 1000);
                $redis = new Predis\Client("tcp://{$request->masters[0]}?timeout=$ttl&read_write_timeout=$ttl");
                answer(['type' => 'ok', 'masters' => 1, 'library' => 'illuminate/cache', 'ttl' => ['min_ms' => 1000, 'unit_ms' => 1000]]);
                break;
            case 'acquire':
                $lock = new RedisLock($redis, 'laravel_cache:'.$request->key, $ttl);
                $lock->betweenBlockedAttemptsSleepFor(50);
                $lock->block(max(1, (int) ($request->within_ms / 1000)));
                answer(['type' => 'ok', 'token' => $lock->owner()]);
                break;
            case 'release':
                answer($lock->release() ? ['type' => 'ok'] : ['type' => 'fail', 'error' => 'not held any more']);
                break;
            case 'exit': exit;
        }
    } catch (LockTimeoutException $e) {
        answer(['type' => 'fail', 'error' => 'not acquired in time']);
    } catch (PredisException $e) { // it may have happened
        answer(['type' => 'info', 'error' => get_class($e).': '.$e->getMessage()]);
        $redis->disconnect();
    }
}
