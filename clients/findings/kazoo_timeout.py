"""kazoo: acquire(timeout=2) while another has the lock, and contenders before it give up after 0.5 s and 1.5 s."""
import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout

LIMIT = 2
clients = [KazooClient(sys.argv[1]) for _ in range(4)]
for c in clients:
    c.start(30)
clients[0].Lock("/k").acquire()


def acquire(client, timeout):
    begun = time.monotonic()
    try:
        client.Lock("/k").acquire(timeout=timeout)
    except LockTimeout:
        pass
    return time.monotonic() - begun


def contenders():
    return len(clients[0].get_children("/k"))


for i, timeout in ((1, 1.5), (2, 1)):  # each waits for the one before it
    threading.Thread(target=acquire, args=(clients[i], timeout), daemon=True).start()
    while contenders() < i + 1:
        time.sleep(0.01)
print("acquire(timeout=%d) took longer than %.1f s: %s" % (LIMIT, 1.25 * LIMIT, acquire(clients[3], LIMIT) > 1.25 * LIMIT))
for c in clients:
    c.stop()
