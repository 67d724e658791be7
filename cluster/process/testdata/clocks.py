"""Waits, or says what the clocks show, as TestProgramsGoByTheirClocks tells it."""
import concurrent.futures
import queue
import select
import socket
import sys
import threading
import time

# A thread that works all the time, and one that waits again and again: neither may keep the others.
def ticks():
    while True:
        time.sleep(0.05)


threading.Thread(target=ticks, daemon=True).start()
idle, other = socket.socketpair()
condition = threading.Condition()
held = threading.Lock()
held.acquire()


def epoll(s):
    e = select.epoll()
    e.register(idle, select.EPOLLIN)
    assert e.poll(s) == []


def poll(s):
    p = select.poll()
    p.register(idle, select.POLLIN)
    assert p.poll(s * 1000) == []


def read(s):
    idle.settimeout(s)
    try:
        idle.recv(1)
        assert False
    except TimeoutError:
        pass


def from_queue(s):
    try:
        queue.Queue().get(timeout=s)
        assert False
    except queue.Empty:
        pass


def future(s):
    try:
        concurrent.futures.Future().result(timeout=s)
        assert False
    except concurrent.futures.TimeoutError:
        pass


def wait(s):
    with condition:
        assert not condition.wait(s)


def join(s):
    t = threading.Thread(target=held.acquire, daemon=True)
    t.start()
    t.join(s)
    assert t.is_alive()


ways = {
    "sleep": time.sleep, "select": lambda s: select.select([idle], [], [], s), "poll": poll, "epoll": epoll, "socket": read,
    "lock": lambda s: held.acquire(timeout=s), "condition": wait, "event": lambda s: threading.Event().wait(s),
    "queue": from_queue, "future": future, "join": join,
}
print("ready", flush=True)
for line in sys.stdin:
    how, *s = line.split()
    if how == "clock":
        print(time.monotonic(), time.time(), flush=True)
    else:
        ways[how](float(s[0]))
        print("ok", flush=True)
