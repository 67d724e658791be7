"""redis-py's Lock, on the first master. docs/clients.md of Lockpick describes the protocol."""
import json
import sys

import redis


def answer(**message):
    print(json.dumps(message), flush=True)


held = {}  # locks, by token
for line in sys.stdin:
    request = json.loads(line)
    op, token = request["op"], request.get("token")
    try:
        if op == "init":
            ttl = request["ttl_ms"] / 1000
            client = redis.Redis.from_url(request["urls"][0], socket_timeout=ttl)
            answer(type="ok", can=["extend"], masters=1, library="redis-py " + redis.__version__)
        elif op == "acquire":
            lock = client.lock(request["key"], timeout=ttl, blocking_timeout=request["within_ms"] / 1000)
            if not lock.acquire():
                raise redis.exceptions.LockError("not acquired in time")
            token = lock.local.token.decode()
            held[token] = lock
            answer(type="ok", token=token)
        elif op == "extend":
            held[token].reacquire()
            answer(type="ok")
        elif op == "release":
            held.pop(token).release()
            answer(type="ok")
        elif op == "exit":
            break
    except redis.exceptions.LockError as e:  # it is not held, for certain
        answer(type="fail", error=str(e))
    except redis.RedisError as e:  # a timeout, a lost connection: it may have happened
        answer(type="info", error=repr(e))
