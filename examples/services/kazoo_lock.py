"""kazoo's Lock on ZooKeeper. docs/clients.md of Lockpick describes the protocol. Its first argument says how long the client
counts on a lock:

    timed      for the session timeout, from the moment at which it sent the last write that was answered
    suspended  until kazoo says that the connection is SUSPENDED or the session LOST, as its documentation asks
    lost       until kazoo says that the session is LOST, which it can only learn from a server

Its second argument, which may be missing, is another kind of lock: read-write (ReadLock and WriteLock) or semaphore.
"""
import json
import sys
import threading
import time
from urllib.parse import quote

import kazoo
from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import LockTimeout

MODE, KIND = (sys.argv + ["", ""])[1:3]
TIMED = MODE == "timed"
OVER = {"timed": [], "suspended": [KazooState.SUSPENDED, KazooState.LOST], "lost": [KazooState.LOST]}
KINDS = {  # what the client says of it in its answer to init
    "": {"library": "Lock", "can": ["fence"]},
    "read-write": {"library": "ReadLock and WriteLock", "kind": "rw"},
    "semaphore": {"library": "Semaphore", "kind": "semaphore", "permits": 1},
}
if MODE not in OVER or KIND not in KINDS:
    sys.exit("usage: kazoo_lock.py timed|suspended|lost [read-write|semaphore]")

held = {}  # by key: the lock and its token
saying = threading.Lock()


def say(**message):
    with saying:
        print(json.dumps(message), flush=True)


def watch(state):
    """kazoo calls this when the state of the connection changes."""
    now = time.monotonic_ns()
    if state in OVER[MODE]:
        for key, (_, token) in list(held.items()):
            say(type="ended", key=key, value={"token": token}, error=state, when=now)


def renew():
    """A write is answered by a majority; a read by any server, also by one that the others have given up."""
    sent = time.monotonic_ns()
    client.set_async("/locks", b"").get(timeout=ttl)
    return sent


def renew_forever():
    while True:
        time.sleep(ttl / 3)
        before = dict(held)
        try:
            sent = renew()
        except Exception:  # not renewed
            continue
        for key, (lock, token) in before.items():
            if held.get(key) == (lock, token):
                say(type="renewed", key=key, value={"token": token}, at=sent, left=int(ttl * 1e9))


def make(key, mode):
    path = "/locks/" + quote(key, safe="")  # ZooKeeper's names have no slashes and no characters above U+FFFF
    if KIND == "semaphore":
        return client.Semaphore(path, max_leases=permits)
    if KIND == "read-write":
        return client.ReadLock(path) if mode == "read" else client.WriteLock(path)
    return client.Lock(path)


def acquire(key, mode, within):
    lock = make(key, mode)
    if not lock.acquire(timeout=within):
        return {"type": "fail", "error": "not acquired in time"}
    try:
        node = lock.create_path if KIND == "semaphore" else lock.path + "/" + lock.node
        token = node.rpartition("/")[2]
        answer = {"type": "ok", "token": token}
        if "fence" in KINDS[KIND].get("can", []):
            answer["fence"] = client.get_async(node).get(timeout=ttl)[1].czxid
        if TIMED:
            answer["at"], answer["left"] = renew(), int(ttl * 1e9)
    except Exception:
        lock.release()  # the session would keep the lock for good
        raise
    held[key] = (lock, token)
    return answer


for line in sys.stdin:
    request = json.loads(line)
    op, answer = request["op"], {"type": "ok"}
    try:
        if op == "init":
            client = KazooClient(",".join(request["masters"]), timeout=request["ttl_ms"] / 1000)
            client.add_listener(watch)
            client.start(30)
            client.ensure_path("/locks")
            permits = request.get("permits", 1)
            ttl = client._session_timeout / 1000  # what the server has agreed to; there is no other way to ask
            if TIMED:
                threading.Thread(target=renew_forever, daemon=True).start()
            else:
                answer["lease"] = "none"
            answer.update(KINDS[KIND], ttl={"max_ms": 2**31 - 1, "unit_ms": 1})
            answer["library"] = "kazoo %s %s (%s)" % (kazoo.__version__, answer["library"], MODE)
        elif op == "acquire":
            answer = acquire(request["key"], request.get("mode"), request["within_ms"] / 1000)
        elif op == "release":
            lock, _ = held.pop(request["key"])
            lock.release()
        else:
            break
    except LockTimeout as e:
        answer = {"type": "fail", "error": str(e)}
    except Exception as e:  # it may have happened
        answer = {"type": "info", "error": repr(e)}
    say(**answer)
