<?php
// Symfony: the lifetime of the key after the first of the two commands with which a lock of 2 s is acquired.
require 'Symfony/Component/Lock/autoload.php';

use Symfony\Component\Lock\{Key, LockFactory, Store\RedisStore};

[$host, $port] = explode(':', $argv[1]);
($redis = new Redis())->connect($host, (int) $port);

class ObservedStore extends RedisStore {
    public function putOffExpiration(Key $key, float $ttl) {
        global $redis;
        $first = $redis->pttl((string) $key);
        parent::putOffExpiration($key, $ttl);
        printf("lifetime in whole minutes after the first command: %d, at most 2 s after the second: %s\n", round($first / 60_000), var_export($redis->pttl((string) $key) <= 2000, true));
    }
}
(new LockFactory(new ObservedStore($redis)))->createLock('k', 2)->acquire();
