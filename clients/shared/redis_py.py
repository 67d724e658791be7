"""redis-py's Lock, used by several threads of a process. docs/clients.md of Lockpick describes the protocol."""
import json
import sys
import uuid
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import redis

thread_local = "thread_local=False" not in sys.argv
locks, held = {}, {}  # by object and key; by token


def say(**message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def carry_out(request):
    if request["op"] == "acquire":
        lock = locks.setdefault((request.get("object"), request["key"]), client.lock(request["key"], ttl, thread_local=thread_local))
        token = uuid.uuid4().hex
        say(type="token", id=request.get("id"), token=token)
        if not lock.acquire(blocking_timeout=request["within_ms"] / 1000, token=token):
            raise redis.exceptions.LockError("not acquired in time")
        held[token] = lock
        return {"token": token}
    lock = held[request["token"]]
    lock.reacquire() if request["op"] == "extend" else lock.release()
    return {}


def answer(request):
    try:
        say(type="ok", id=request.get("id"), **carry_out(request))
    except redis.exceptions.LockError as e:  # it is not held, for certain
        say(type="fail", id=request.get("id"), error=str(e))
    except redis.RedisError as e:  # a timeout, a lost connection: it may have happened
        say(type="info", id=request.get("id"), error=repr(e))


init = json.loads(sys.stdin.readline())
host, port = init["masters"][0].rsplit(":", 1)
ttl = init["ttl_ms"] / 1000
client = redis.Redis(host=host, port=int(port), socket_timeout=ttl)
say(type="ok", can=["extend", "shared"], masters=1, library="redis-py " + redis.__version__)
threads = defaultdict(lambda: ThreadPoolExecutor(1))  # redis-py's locks know which thread holds them
for request in map(json.loads, sys.stdin):
    if request["op"] == "exit":
        sys.exit()
    threads[request.get("thread")].submit(answer, request)
