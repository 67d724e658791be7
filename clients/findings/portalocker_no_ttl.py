"""portalocker: what Redis stores while a RedisLock is held."""
import sys

import portalocker
import redis

host, port = sys.argv[1].split(":")
client = redis.Redis(host=host, port=int(port))
lock = portalocker.RedisLock("k", connection=redis.Redis(host=host, port=int(port)))
lock.acquire()
print("while it is held: %d keys, %d subscribers" % (client.dbsize(), client.pubsub_numsub("k")[0][1]))
lock.release()
