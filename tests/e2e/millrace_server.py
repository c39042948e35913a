"""A real server for tests in Python: started on a free port, with a folder of its own."""

import contextlib
import json
import os
import signal
import subprocess
import time
import urllib.request

MORTAL = ["setpriv", "--pdeathsig", "KILL"]  # ctest may kill a test: nothing outlives it


def until(what, check, seconds=20):
    """Waits for an event that nothing announces."""
    limit = time.monotonic() + seconds
    while not (found := check()):
        if time.monotonic() > limit:
            raise AssertionError(f"{seconds} s have passed without this: {what}")
        time.sleep(0.05)
    return found


class Server:
    """`key` has the scope admin. Without it the server is open."""

    def __init__(self, program, folder, key=None, flags=()):
        self.program, self.folder, self.key, self.flags = program, folder, key, flags
        self.address = "127.0.0.1:0"
        self.start()

    def start(self):
        """Also again, on the same port and data."""
        told = os.path.join(self.folder, "address")
        with contextlib.suppress(FileNotFoundError):
            os.remove(told)
        environment = dict(os.environ, **({"MILLRACE_ADMIN_KEY": self.key} if self.key else {}))
        command = [*MORTAL, self.program, "serve", "--listen", self.address, "--address-file", told,
                   "--store", os.path.join(self.folder, "data"), *self.flags]
        with open(os.path.join(self.folder, "log"), "a") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        until("the server starts", lambda: os.path.exists(told) and os.path.getsize(told))
        self.since = time.monotonic()
        with open(told) as file:
            self.address = file.read().strip()
        until("the server is ready", self.ready)

    def ready(self):
        with contextlib.suppress(OSError):
            return self.ask("/ready")

    def ask(self, path, body=None):
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{self.address}{path}", data, headers)
        with urllib.request.urlopen(request, timeout=40) as answer:
            return json.load(answer)

    def end(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.process.wait(20)
