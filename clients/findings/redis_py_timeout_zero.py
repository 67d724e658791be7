"""redis-py: Lock(timeout=0).reacquire() on a lock that is held."""
import sys

import redis

host, port = sys.argv[1].split(":")
client = redis.Redis(host=host, port=int(port))
lock = client.lock("k", timeout=0)
lock.acquire()
before = client.exists("k")
returned = lock.reacquire()
print("keys before: %d, reacquire returned %s, keys after: %d" % (before, returned, client.exists("k")))
