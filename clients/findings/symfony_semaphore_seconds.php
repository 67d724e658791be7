<?php
// Symfony Semaphore: the only permit is taken for 2 s late in a second, and asked for by another when the second after the next one begins.
require 'Symfony/Component/Semaphore/autoload.php';

use Symfony\Component\Semaphore\{SemaphoreFactory, Store\RedisStore};

[$host, $port] = explode(':', $argv[1]);
($redis = new Redis())->connect($host, (int) $port);
$factory = new SemaphoreFactory(new RedisStore($redis));

$n = 0;
do { // again if this process was not served in time
    $name = 'k'.++$n;
    usleep((int) (1e6 * fmod(1.8 - fmod(microtime(true), 1), 1)));
    $taken = microtime(true);
    ($first = $factory->createSemaphore($name, 1, 1, 2, false))->acquire();
    usleep((int) max(0, 1e6 * ((int) $taken + 2.01 - microtime(true))));
    $granted = $factory->createSemaphore($name, 1, 1, 2, false)->acquire();
    $left = $first->getRemainingLifetime();
} while ($left < 0.5 || fmod($taken, 1) < 0.8);
printf("the first has more than half a second left: true, and the second was granted the only permit: %s\n", var_export($granted, true));
