"""python3-etcd3's Lock on etcd. docs/clients.md of Lockpick describes the protocol.

The library knows one server: this client takes the next one when that does not answer. It asks with timeout=0 again and again,
since acquire() raises TypeError when it waits (docs/findings.md of Lockpick). Its TTLs are whole seconds.
"""
import itertools
import json
import sys
import time
from importlib.metadata import version

import etcd3
import grpc

FAILED = (etcd3.exceptions.Etcd3Exception, grpc.RpcError)  # it may have happened
POLL = 0.05  # seconds


def connect():
    host, port = next(servers).rsplit(":", 1)
    return etcd3.client(host, int(port), timeout=ttl)


def acquire(key, within):
    end = time.monotonic() + within
    while True:
        lock, sent = client.lock(key, ttl=ttl), time.monotonic_ns()
        if lock.acquire(timeout=0):
            held[key] = lock
            return {"type": "ok", "at": sent, "left": ttl * 10**9}
        if time.monotonic() > end:
            return {"type": "fail", "error": "held by another"}
        time.sleep(POLL)


def extend(key):
    sent = time.monotonic_ns()
    if held[key].refresh()[0].TTL < 1:
        return {"type": "fail", "error": "the lease is over"}
    return {"type": "ok", "at": sent, "left": ttl * 10**9}


held = {}
for line in sys.stdin:
    request = json.loads(line)
    op, answer = request["op"], {"type": "ok"}
    try:
        if op == "init":
            servers, ttl = itertools.cycle(request["masters"]), int(request["ttl_ms"] / 1000)
            client = connect()
            answer.update(library="python3-etcd3 " + version("etcd3"), can=["extend"],
                          ttl={"min_ms": 1000, "unit_ms": 1000}, retry_ms=POLL * 1000)
        elif op == "acquire":
            answer = acquire(request["key"], request["within_ms"] / 1000)
        elif op == "extend":
            answer = extend(request["key"])
        elif op == "release":
            if not held.pop(request["key"]).release():
                answer = {"type": "fail", "error": "not held any more"}
        else:
            break
    except FAILED as e:
        answer, client = {"type": "info", "error": repr(e)}, connect()
    print(json.dumps(answer), flush=True)
