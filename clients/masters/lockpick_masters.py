"""Redis masters with a nemesis for pytest. In conftest.py: pytest_plugins = ["lockpick_masters"]. See docs/masters.md."""
import contextlib, json, os, shlex, subprocess, urllib.error, urllib.request

import pytest


class Masters:
    def __init__(self, *args):  # flags of lockpick masters
        command = [*shlex.split(os.environ.get("LOCKPICK", "lockpick")), "masters", "--json", *args]
        # Closing the pipe to stdin ends the masters, also if this process is killed. A session of its own: Ctrl-C ends pytest first.
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        if not (line := self.process.stdout.readline()):
            raise RuntimeError(f"{shlex.join(command)} ended with {self.process.wait()}: stderr says why")
        state = json.loads(line)
        self.api, self.addresses, self.clients = state["api"], state["addresses"], state["clients"]

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.api + path, None if body is None else json.dumps(body).encode(), method=method)
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            raise RuntimeError(json.load(refused)["error"]) from None

    def fault(self, kind, **params):  # as in fault("kill", masters=["m1"], for_="2s"); without for_ until heal()
        return self.call("POST", "/faults", {"fault": kind, **{name.rstrip("_"): value for name, value in params.items()}})["id"]

    def heal(self, fault=None):  # one fault, or all
        self.call("DELETE", "/faults" if fault is None else f"/faults/{fault}")

    def event(self, event, client, key, **fields):
        self.call("POST", "/events", {"event": event, "client": client, "key": key, **fields})

    @contextlib.contextmanager
    def holding(self, client, key, ttl_ms, acquire, release):
        """Reports a critical section: acquire returns the token, or None if it was refused, which is also yielded."""
        self.event("acquiring", client, key)
        if (token := acquire()) is None:
            self.event("refused", client, key)
            return (yield None)
        self.event("acquired", client, key, token=token, ttl_ms=ttl_ms)
        try:
            yield token
        finally:
            self.event("releasing", client, key)
            release()
            self.event("released", client, key)


def pytest_configure(config):
    config.addinivalue_line("markers", "masters(*flags): flags of lockpick masters, for the fixture masters")


@pytest.fixture
def masters(request):  # flags: @pytest.mark.masters("--masters", "1")
    m = Masters(*getattr(request.node.get_closest_marker("masters"), "args", ()))
    yield m
    result = m.call("POST", "/stop")
    m.process.communicate()
    assert result["verdict"] != "violated", result["why"]
