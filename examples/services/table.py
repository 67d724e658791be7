#!/usr/bin/env python3
"""Runs the same faults on four stores and prints a table of verdicts: examples/services/table.py [LOCKPICK [SECONDS [STORE …]]].

It is run in the root of a checkout, with lockpick-etcd on the PATH (docs/services.md). Two runs go on at a time. A run that
does not decide all levels is repeated once, for twice as long.
"""
import concurrent.futures
import datetime
import json
import subprocess
import sys

LOCKPICK = sys.argv[1] if len(sys.argv) > 1 else "lockpick"
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 40
REDIS = ["--driver", "process", "--fencing", "--hold", "300ms..3500ms", "--long-holds", "0", "--extend", "1", "--persistence", "none"]
STORES = {
    "Redlock": REDIS,
    "single Redis": REDIS + ["--lock", "single", "--masters", "1"],
    "etcd": ["examples/services/etcd.yaml"],
    "ZooKeeper": ["examples/services/zookeeper.yaml"],
}
FAULTS = ["kill", "pause", "client-pause", "client-partition"]
LEVELS = ["L2", "L3", "L4", "L5"]
CHOSEN = sys.argv[3:] or list(STORES)


def run(store, fault, seconds):
    """The words of a cell, and whether all levels are decided."""
    command = [LOCKPICK, "run", *STORES[store], "--trust", "--json", "--faults", fault, "--time-limit", "%ds" % seconds]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if not done.stdout:
        sys.exit("%s: %s" % (" ".join(command), done.stderr))
    result = json.loads(done.stdout)
    verdicts, why = {}, ""
    for v in result["verdicts"]:
        level, verdict = v["level"], v["verdict"]
        if level in LEVELS and verdict not in ("violated", "holds"):
            why = v["why"]
        if verdicts.get(level) != "violated" and (verdict != "holds" or level not in verdicts):
            verdicts[level] = verdict
    broken = [x for x in LEVELS if verdicts.get(x) == "violated"]
    undecided = [x for x in LEVELS if verdicts.get(x) not in ("violated", "holds")]
    words = [", ".join(broken) + " violated"] if broken else []
    if undecided:
        words.append(", ".join(undecided) + " not decided")
    counts = result["counts"]
    dose = " (%d s: %d faults, %d leases)" % (seconds, counts["bit"], counts["granted"])
    print("%s under %s: %s%s %s" % (store, fault, "; ".join(words) or "hold", dose, why), file=sys.stderr, flush=True)
    return ("; ".join(words) or "L2 to L5 hold") + dose, not undecided


def cell(store, fault):
    words, decided = run(store, fault, SECONDS)
    return words if decided else run(store, fault, 2 * SECONDS)[0]


with concurrent.futures.ThreadPoolExecutor(2) as pool:
    cells = {(s, f): pool.submit(cell, s, f) for f in FAULTS for s in CHOSEN}
print("One run for each cell, %s. No persistence on Redis." % datetime.date.today().isoformat())
print()
for row in [["fault"] + CHOSEN, ["---"] * (len(CHOSEN) + 1)] + [[f] + [cells[s, f].result() for s in CHOSEN] for f in FAULTS]:
    print("| " + " | ".join(row) + " |")
