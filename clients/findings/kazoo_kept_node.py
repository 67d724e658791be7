"""kazoo: acquire(timeout=1) gives up, its connection is gone before the request to delete its node arrives, and the node stays."""
import socket
import sys
import threading

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout

host, port = sys.argv[1].split(":")
listener = socket.create_server(("127.0.0.1", 0))
DELETE = b"\0\0\0\2"  # the type of a request, after its length and its number
dropped = threading.Event()


def copy(source, sink, drops):
    try:
        while data := source.recv(65536):
            if drops and not dropped.is_set() and data[8:12] == DELETE:
                dropped.set()
                break
            sink.sendall(data)
    except OSError:
        pass
    for s in (source, sink):
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def relay():
    while True:
        client, server = listener.accept()[0], socket.create_connection((host, int(port)))
        threading.Thread(target=copy, args=(client, server, True), daemon=True).start()
        threading.Thread(target=copy, args=(server, client, False), daemon=True).start()


def acquire(client, timeout):
    try:
        return client.Lock("/k").acquire(timeout=timeout)
    except LockTimeout:
        return False


threading.Thread(target=relay, daemon=True).start()
holder, other = KazooClient(sys.argv[1]), KazooClient(sys.argv[1])
waiter = KazooClient("127.0.0.1:%d" % listener.getsockname()[1])
for c in (holder, other, waiter):
    c.start(30)
session = waiter.client_id[0]
lock = holder.Lock("/k")
lock.acquire()
refused = not acquire(waiter, 1)
lock.release()
first = acquire(other, 3)
lasts = waiter.client_id[0] == session
waiter.stop()
print("the waiter was refused: %s, its session lasted: %s; nobody had the lock: another was granted it: %s, and when that session was over: %s"
      % (refused, lasts, first, acquire(other, 20)))
