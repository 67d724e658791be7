"""python3-etcd3: acquire() of a lock that another has, at once and with time to wait."""
import sys

import etcd3

host, port = sys.argv[1].split(":")


def tried(lock, timeout):
    try:
        return str(lock.acquire(timeout=timeout))
    except TypeError as e:
        return type(e).__name__


first, second = (etcd3.client(host, int(port)).lock("k", ttl=60) for _ in range(2))
print("the first: %s; while it has the lock, the second with timeout 0: %s, with 5 s: %s, without a limit: %s" % (
    tried(first, 5), tried(second, 0), tried(second, 5), tried(second, None)))
