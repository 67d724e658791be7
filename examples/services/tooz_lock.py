"""OpenStack's tooz with its ZooKeeper driver. docs/clients.md of Lockpick describes the protocol.

A lock of tooz counts as held until it is released: nothing tells its holder that the session is over.
"""
import json
import sys
from importlib.metadata import version
from urllib.parse import quote

import tooz
from kazoo.exceptions import KazooException, LockTimeout
from tooz import coordination


def start(url, member, tries=20):
    """Starts a coordinator. It waits for a server no longer than the session timeout."""
    coordinator = coordination.get_coordinator(url, member)
    try:
        coordinator.start(start_heart=True)
    except coordination.ToozConnectionError:
        if tries == 1:
            raise
        return start(url, member, tries - 1)
    return coordinator


for line in sys.stdin:
    request = json.loads(line)
    op, answer = request["op"], {"type": "ok"}
    try:
        if op == "init":
            first, *others = request["masters"]
            url = "zookeeper://%s?timeout=%s%s" % (first, round(request["ttl_ms"] / 1000), "".join("&hosts=" + a for a in others))
            coordinator = start(url, request["client"].encode())
            answer.update(library="tooz %s, kazoo %s" % (version("tooz"), version("kazoo")), lease="none",
                          ttl={"min_ms": 1000, "max_ms": 2147483000, "unit_ms": 1000})  # the protocol has 32 bits for milliseconds
        elif op == "acquire":
            lock = coordinator.get_lock(quote(request["key"], safe="").encode())  # ZooKeeper's names have no slashes
            if not lock.acquire(blocking=request["within_ms"] / 1000):
                answer = {"type": "fail", "error": "not acquired in time"}
        elif op == "release":
            if not lock.release():
                answer = {"type": "fail", "error": "not held any more"}
        else:
            break
    except LockTimeout as e:
        answer = {"type": "fail", "error": repr(e)}
    except (tooz.ToozError, KazooException) as e:  # it may have happened
        answer = {"type": "info", "error": repr(e)}
    print(json.dumps(answer), flush=True)
