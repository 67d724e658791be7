<?php
// MediaWiki's RedisLockManager, over all masters. Its TTLs are whole seconds, and at least 5: a subclass allows shorter ones.
namespace Wikimedia { // two helpers that Debian's package of the classes lacks
    function base_convert(string $hash): string { return $hash; } // keys have it in hex, not in base 36
    class WaitConditionLoop {
        const CONDITION_CONTINUE = 0;
        public function __construct(private $attempt, private float $seconds) {}
        public function invoke(): void {
            for ($end = microtime(true) + $this->seconds; !($this->attempt)() && microtime(true) < $end;) usleep(50_000);
        }
    }
}
namespace {
    require 'Psr/Log/autoload.php';
    foreach (['StatusValue', 'redis/RedisConnectionPool', 'redis/RedisConnRef', 'lockmanager/LockManager', 'lockmanager/QuorumLockManager', 'lockmanager/RedisLockManager'] as $class) require "/usr/share/mediawiki/includes/libs/$class.php";
    class ShortLockManager extends RedisLockManager {
        public function __construct(array $config) { parent::__construct($config); $this->lockTTL = $config['lockTTL']; }
    }
    function answer(string $type, $status = '', array $more = []): void { echo json_encode(['type' => $type, 'error' => (string) $status] + $more), "\n"; }

    while (($line = fgets(STDIN)) !== false) {
        $request = json_decode($line);
        switch ($request->op) {
            case 'init':
                $ttl = (int) ($request->ttl_ms / 1000);
                $config = ['lockServers' => $request->masters, 'lockTTL' => $ttl, 'redisConfig' => ['connectTimeout' => $ttl, 'readTimeout' => $ttl]];
                answer('ok', '', ['masters' => 'n', 'library' => 'MediaWiki RedisLockManager', 'ttl' => ['min_ms' => 1000, 'unit_ms' => 1000]]);
                break;
            case 'acquire': // as a web request does it: with a manager and with connections of its own
                RedisConnectionPool::destroySingletons();
                $status = ($manager = new ShortLockManager($config))->lock([$request->key], LockManager::LOCK_EX, $request->within_ms / 1000);
                answer($status->isOK() ? 'ok' : ($status->hasMessage('lockmanager-fail-conflict') ? 'fail' : 'info'), $status);
                break;
            case 'release': // to the manager, a lost reply and a lock that is gone are the same
                answer(($status = $manager->unlock([$request->key]))->isGood() ? 'ok' : 'info', $status);
                break;
            case 'exit': exit;
        }
    }
}
