"""kazoo's Lock on ZooKeeper. docs/clients.md of Lockpick describes the protocol. Its argument says how long the client
counts on a lock:

    timed      for the session timeout, from the moment at which it sent the last write that was answered
    suspended  until kazoo says that the connection is SUSPENDED or the session LOST, as its documentation asks
    lost       until kazoo says that the session is LOST, which it can only learn from a server
"""
import json
import sys
import threading
import time
from urllib.parse import quote

import kazoo
from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import LockTimeout

MODE = sys.argv[1] if len(sys.argv) == 2 else ""
TIMED = MODE == "timed"
OVER = {"timed": [], "suspended": [KazooState.SUSPENDED, KazooState.LOST], "lost": [KazooState.LOST]}
if MODE not in OVER:
    sys.exit("usage: kazoo_lock.py timed|suspended|lost")

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


def acquire(key, within):
    lock = client.Lock("/locks/" + quote(key, safe=""))  # ZooKeeper's names have no slashes and no characters above U+FFFF
    if not lock.acquire(timeout=within):
        return {"type": "fail", "error": "not acquired in time"}
    try:
        fence = client.get_async(lock.path + "/" + lock.node).get(timeout=ttl)[1].czxid
        answer = {"type": "ok", "token": lock.node, "fence": fence}
        if TIMED:
            answer["at"], answer["left"] = renew(), int(ttl * 1e9)
    except Exception:
        lock.release()  # the session would keep the lock for good
        raise
    held[key] = (lock, lock.node)
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
            ttl = client._session_timeout / 1000  # what the server has agreed to; there is no other way to ask
            if TIMED:
                threading.Thread(target=renew_forever, daemon=True).start()
            else:
                answer["lease"] = "none"
            answer.update(library="kazoo %s Lock (%s)" % (kazoo.__version__, MODE), can=["fence"], ttl={"max_ms": 2**31 - 1, "unit_ms": 1})
        elif op == "acquire":
            answer = acquire(request["key"], request["within_ms"] / 1000)
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
