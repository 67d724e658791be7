"""kazoo: a reader asks before a writer, and both wait for each other until the writer gives up."""
import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.recipe.lock import WriteLock

clients = [KazooClient(sys.argv[1]) for _ in range(3)]
for c in clients:
    c.start(30)
holder = clients[0].WriteLock("/k")
holder.acquire()
after = []  # whether the writer had given up when the reader was granted the lock


def read():
    clients[1].ReadLock("/k").acquire(timeout=20)
    after.append(not any(WriteLock._NODE_NAME in node for node in clients[1].get_children("/k")))  # it deletes its node


def write():
    try:
        clients[2].WriteLock("/k").acquire(timeout=3)
        print("the writer was granted the lock")
    except LockTimeout:
        pass


threads = []
for ask in (read, write):  # in this order
    threads.append(threading.Thread(target=ask, daemon=True))
    threads[-1].start()
    end = time.monotonic() + 20
    while len(clients[0].get_children("/k")) < 1 + len(threads) and time.monotonic() < end:
        time.sleep(0.01)
holder.release()
for t in threads:
    t.join(60)
print("the lock was free, and the reader was granted it only after the writer had given up: %s" % after[0])
