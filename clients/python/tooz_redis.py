"""OpenStack's tooz with its Redis driver, on the first master. Its TTLs are whole seconds."""
import json
import sys
from importlib.metadata import version

import tooz
from tooz import coordination


def answer(**message):
    print(json.dumps(message), flush=True)


held = None  # the lock that is held; tooz does not show its token
for line in sys.stdin:
    request = json.loads(line)
    op = request["op"]
    try:
        if op == "init":
            ttl = int(request["ttl_ms"] / 1000)
            url = "redis://%s?lock_timeout=%d&socket_timeout=%d" % (request["masters"][0], ttl, max(ttl, 1))
            coordinator = coordination.get_coordinator(url, request["client"].encode())
            coordinator.start()
            answer(type="ok", can=["extend"], masters=1, library="tooz " + version("tooz"),
                   ttl={"min_ms": 1000, "unit_ms": 1000})
        elif op == "acquire":
            held = coordinator.get_lock(request["key"].encode())
            acquired = held.acquire(blocking=request["within_ms"] / 1000)
            answer(type="ok") if acquired else answer(type="fail", error="not acquired in time")
        elif op == "extend":
            answer(type="ok") if held.heartbeat() else answer(type="fail", error="not held")
        elif op == "release":
            answer(type="ok") if held.release() else answer(type="fail", error="not held any more")
        elif op == "exit":
            break
    except coordination.ToozConnectionError as e:  # it may have happened
        answer(type="info", error=repr(e))
    except tooz.ToozError as e:
        answer(type="fail", error=repr(e))
