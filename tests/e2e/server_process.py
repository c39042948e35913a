"""What the tests in Python share: a server that they start, and waiting for an event."""

import contextlib
import json
import os
import signal
import ssl
import subprocess
import time
import urllib.request

MORTAL = ["setpriv", "--pdeathsig", "KILL"]  # ctest may kill a script: nothing outlives it


def until(what, check, seconds=20):
    """Waits until `check` finds something, and returns it."""
    limit = time.monotonic() + seconds
    while not (found := check()):
        if time.monotonic() > limit:
            raise AssertionError(f"{seconds} s have passed without this: {what}")
        time.sleep(0.05)
    return found


def clean_environment(**more):
    """That of this process without settings of Millrace."""
    return {k: v for k, v in os.environ.items() if not k.startswith("MILLRACE_")} | more


class Server:
    """`millrace serve` on a free port, with its store and its log in a folder."""

    def __init__(self, program, folder, flags=(), key=None, ca_file=None):
        # It is started in the folder, so a path from here would lead elsewhere.
        self.program, self.folder, self.flags, self.key = os.path.abspath(program), folder, flags, key
        self.scheme = "https" if ca_file else "http"
        self.trust = ssl.create_default_context(cafile=ca_file) if ca_file else None
        self.address = "127.0.0.1:0"
        self.start()

    @property
    def url(self):
        return f"{self.scheme}://{self.address}"

    def start(self):
        """Also again, on the same port and data."""
        told = os.path.join(self.folder, "address")
        with contextlib.suppress(FileNotFoundError):
            os.remove(told)
        environment = clean_environment(**({"MILLRACE_ADMIN_KEY": self.key} if self.key else {}))
        usual = {"--listen": self.address, "--store": os.path.join(self.folder, "data")}
        command = [*MORTAL, self.program, "serve", "--address-file", told, *self.flags]
        for flag, value in usual.items():
            command += [] if flag in self.flags else [flag, value]
        with open(os.path.join(self.folder, "log"), "a") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, env=environment,
                                            stdout=log, stderr=log)
        until("the server starts", lambda: self.is_told(told))
        self.since = time.monotonic()
        with open(told) as file:
            self.address = file.read().strip()
        until("the server is ready", self.is_ready)

    def is_told(self, file):
        if self.process.poll() is not None:
            raise AssertionError(f"the server ended with {self.process.returncode}:\n{self.said()}")
        return os.path.exists(file) and os.path.getsize(file)

    def is_ready(self):
        with contextlib.suppress(OSError):
            return self.ask("/ready")

    def ask(self, path, body=None):
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers)
        with urllib.request.urlopen(request, timeout=40, context=self.trust) as answer:
            return json.load(answer)

    def said(self):
        with open(os.path.join(self.folder, "log")) as log:
            return log.read()

    def end(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.process.wait(20)
