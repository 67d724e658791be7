"""tooz: acquire() of a free lock whose first connection breaks between the SET and its reply."""
import socket
import sys
import threading

from tooz import coordination

host, port = sys.argv[1].split(":")
listener = socket.create_server(("127.0.0.1", 0))
tokens = []  # that clients have tried to set


def forward(client):
    server = socket.create_connection((host, int(port)))
    while True:
        request = client.recv(1 << 16)
        if not request:
            return
        server.sendall(request)
        reply = server.recv(1 << 16)
        if b"\r\nNX\r\n" in request:
            tokens.append(request)
            if len(tokens) == 1:  # Redis has executed it
                client.close()
                return
        client.sendall(reply)


def accept():
    while True:
        threading.Thread(target=forward, args=(listener.accept()[0],), daemon=True).start()


threading.Thread(target=accept, daemon=True).start()
coordinator = coordination.get_coordinator("redis://127.0.0.1:%d?lock_timeout=60" % listener.getsockname()[1], b"c")
coordinator.start()
acquired = coordinator.get_lock(b"k").acquire(blocking=False)
print("the only client sent %d different requests to acquire; acquire returned %s" % (len(set(tokens)), acquired))
