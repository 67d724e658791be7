"""redis-py: release() that Redis refuses, and a second release() when Redis takes it again."""
import sys

import redis

host, port = sys.argv[1].split(":")
client = redis.Redis(host=host, port=int(port))
lock = client.lock("k", timeout=60)
lock.acquire()
client.execute_command("ACL", "SETUSER", "default", "-evalsha")
said = []
for allowed in ("-evalsha", "+evalsha"):
    client.execute_command("ACL", "SETUSER", "default", allowed)
    try:
        lock.release()
        said.append("released")
    except redis.exceptions.RedisError as e:
        said.append(type(e).__name__ + ", token " + ("kept" if lock.local.token else "gone"))
print("first release: %s; second: %s; keys after: %d" % (*said, client.exists("k")))
