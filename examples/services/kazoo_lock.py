"""kazoo's Lock on ZooKeeper. docs/clients.md of Lockpick describes the protocol. Its first argument says how long the client
counts on a lock:

    timed      for the session timeout, from the moment at which it sent the last write that was answered in the session that
               owns the lock's node
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
from kazoo.exceptions import LockTimeout, SessionExpiredError

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

held = {}  # by key: the lock, its token, and the session that owns its node
saying = threading.Lock()


def say(**message):
    with saying:
        print(json.dumps(message), flush=True)


def watch(state):
    """kazoo calls this when the state of the connection changes."""
    now = time.monotonic_ns()
    if state in OVER[MODE]:
        for key, (_, token, _) in list(held.items()):
            say(type="ended", key=key, value={"token": token}, error=state, when=now)


def session():
    """The session that the client is in; None: it has no connection."""
    return client.client_id and client.client_id[0]


def renew():
    """A write is answered by a majority; a read by any server, also by one that the others have given up. It proves that the
    session of the client lasted until it was sent: kazoo begins another one by itself, which owns none of the locks."""
    owner, sent = session(), time.monotonic_ns()
    client.set_async("/locks", b"").get(timeout=ttl)
    if owner is None or session() != owner:
        raise SessionExpiredError("the session changed")
    return sent, owner


def renew_forever():
    while True:
        time.sleep(ttl / 3)
        before = dict(held)
        try:
            sent, owner = renew()
        except Exception:  # not renewed
            continue
        for key, lease in before.items():
            _, token, of = lease
            if of == owner and held.get(key) == lease:
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
        stat = client.get_async(node).get(timeout=ttl)[1]
        if "fence" in KINDS[KIND].get("can", []):
            answer["fence"] = stat.czxid
        if TIMED:
            answer["at"], owner = renew()
            answer["left"] = int(ttl * 1e9)
            if owner != stat.owner_session_id:
                raise SessionExpiredError("the node is of another session")
    except Exception:
        lock.release()  # the session would keep the lock for good
        raise
    held[key] = (lock, token, stat.owner_session_id)
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
            lock, _, _ = held.pop(request["key"])
            lock.release()
        else:
            break
    except LockTimeout as e:
        answer = {"type": "fail", "error": str(e)}
    except Exception as e:  # it may have happened
        answer = {"type": "info", "error": repr(e)}
    say(**answer)
