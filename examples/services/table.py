#!/usr/bin/env python3
"""Runs the same faults on four stores and prints a table of verdicts: examples/services/table.py [LOCKPICK [SECONDS]].

It is run in the root of a checkout, with lockpick-etcd on the PATH (docs/services.md).
"""
import datetime
import json
import subprocess
import sys

LOCKPICK = sys.argv[1] if len(sys.argv) > 1 else "lockpick"
SECONDS = sys.argv[2] if len(sys.argv) > 2 else "30"
REDIS = ["--driver", "process", "--fencing", "--hold", "300ms..3500ms", "--long-holds", "0", "--extend", "1", "--persistence", "none"]
STORES = {
    "Redlock": REDIS,
    "single Redis": REDIS + ["--lock", "single", "--masters", "1"],
    "etcd": ["examples/services/etcd.yaml"],
    "ZooKeeper": ["examples/services/zookeeper.yaml"],
}
FAULTS = ["kill", "pause", "client-pause", "client-partition"]
LEVELS = ["L2", "L3", "L4", "L5"]


def judge(flags, fault):
    """The levels that a run violates, and those that it could not decide."""
    command = [LOCKPICK, "run", *flags, "--trust", "--json", "--faults", fault, "--time-limit", SECONDS + "s"]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    verdicts = {}
    for v in json.loads(run.stdout)["verdicts"]:
        level, verdict = v["level"], v["verdict"]
        if verdicts.get(level) != "violated":
            verdicts[level] = verdict if verdict != "holds" or level not in verdicts else verdicts[level]
    broken = [x for x in LEVELS if verdicts.get(x) == "violated"]
    open_ = [x for x in LEVELS if verdicts.get(x) not in ("violated", "holds")]
    words = [", ".join(broken) + " violated"] if broken else []
    if open_:
        words.append(", ".join(open_) + " not decided")
    return "; ".join(words) or "L2 to L5 hold"


rows = [[fault] + [judge(flags, fault) for flags in STORES.values()] for fault in FAULTS]
print("One run of %s s each, %s. No persistence on Redis." % (SECONDS, datetime.date.today().isoformat()))
print()
for row in [["fault"] + list(STORES), ["---"] * (len(STORES) + 1)] + rows:
    print("| " + " | ".join(row) + " |")
