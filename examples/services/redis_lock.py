"""A lock on one Redis of several: SET NX PX to acquire it, a script to release it. docs/clients.md of Lockpick describes the
protocol. The first argument says how the client finds the master, each the way that redis-py's documentation shows, the second what
a fencing token is:

    sentinel   asks the Sentinels in the variable SENTINELS for the master named MASTER
    cluster    asks the nodes in masters of init which of them has the key's slot

    counter    the next number of a counter on the same master, which a failover loses with the lock
    clock      the master's time in microseconds: it grows where the masters' clocks agree
"""
import json
import os
import re
import sys
import time
import uuid

import redis
from redis.sentinel import Sentinel

FENCES = {
    "counter": "return redis.call('incr', KEYS[2])",
    "clock": "local t = redis.call('time') return t[1] * 1000000 + t[2]",
}
if len(sys.argv) != 3 or sys.argv[1] not in ("sentinel", "cluster") or sys.argv[2] not in FENCES:
    sys.exit("usage: redis_lock.py sentinel|cluster counter|clock")
MODE, FENCE = sys.argv[1:]

ACQUIRE = "if redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2]) then %s end return false" % FENCES[FENCE]
RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
RETRY = 0.05  # seconds between two tries
FAILED = (redis.RedisError, redis.exceptions.RedisClusterException, IndexError)  # the last two: no node or no master is reachable


def connect():
    """RedisCluster looks for a node at once, and fails while it reaches none."""
    global client
    if client:
        return client
    patience = {"socket_timeout": ttl, "socket_connect_timeout": ttl}
    nodes = [a.rsplit(":", 1) for a in os.environ.get("SENTINELS", ",".join(masters)).split(",")]
    if MODE == "sentinel":
        sentinels = [(host, int(port)) for host, port in nodes]
        client = Sentinel(sentinels, sentinel_kwargs=patience, **patience).master_for(os.environ["MASTER"])
    else:
        client = redis.RedisCluster(startup_nodes=[redis.cluster.ClusterNode(h, int(p)) for h, p in nodes], **patience)
    return client


def counter_beside(key):
    """In a Cluster all keys of a script must have one slot. A name that has a hash tag keeps it, any other becomes the tag."""
    return "%s:fence" % key if re.search(r"^[^{]*{[^}]+}", key) else "{%s}:fence" % key


def acquire(key, within):
    token, end = uuid.uuid4().hex, time.monotonic() + within
    while True:
        sent, fault = time.monotonic_ns(), None
        try:
            keys = [key, counter_beside(key)] if FENCE == "counter" else [key]
            fence = connect().eval(ACQUIRE, len(keys), *keys, token, int(ttl * 1000))
            if fence and time.monotonic_ns() < sent + ttl * 1e9:
                return {"type": "ok", "token": token, "fence": fence, "at": sent, "left": int(ttl * 1e9)}
        except FAILED as e:  # no answer, or no master at the moment: a try whose key ends by its TTL
            fault = e
        if time.monotonic() > end:
            return {"type": "fail", "error": repr(fault or "held by another")}
        time.sleep(RETRY)


client = None
for line in sys.stdin:
    request = json.loads(line)
    op, answer = request["op"], {"type": "ok"}
    try:
        if op == "init":
            ttl, masters = request["ttl_ms"] / 1000, request["masters"]
            answer.update(library="redis-py %s (%s, %s)" % (redis.__version__, MODE, FENCE), can=["fence"])
            connect()
        elif op == "acquire":
            answer = acquire(request["key"], request["within_ms"] / 1000)
        elif op == "release":
            if not connect().eval(RELEASE, 1, request["key"], request["token"]):
                answer = {"type": "fail", "error": "not held"}
        else:
            break
    except FAILED as e:  # it may have happened
        answer = answer if op == "init" else {"type": "info", "error": repr(e)}
    print(json.dumps(answer), flush=True)
