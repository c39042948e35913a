"""A real server under load for a while: nothing acknowledged is lost or done twice, and neither memory nor open files grow.

    soak.py PROGRAM SECONDS

Producers put tasks with ids of their own, workers take and settle them, and a ledger holds every answer against
what was told before. The server is restarted early on, so that answers get lost on the way.
"""

import http.client
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid

QUEUES = ["soak-a", "soak-b", "soak-c"]
BATCH = 20
MOST_OPEN = 4000  # tasks that are put and not done: producers wait
LEASE_MS = 45_000  # for tasks whose answer got lost on the way: they come back
KEEP_MS = 3000  # then a finished task is forgotten, so that a server that is sound grows no more
GROWTH_BYTES = 96 << 20  # what caches may still take after the first half
GROWTH_FILES = 32
STOP_SECONDS = 120  # then a server that was told to stop hangs
DRAIN_SECONDS = 120  # for what is still open at the end


class Ledger:
    """What was told, and the first thing that contradicts it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.asked = set()  # ids whose put was sent and not yet answered
        self.open = set()  # acknowledged and not done
        self.held = {}  # id -> token
        self.done = 0
        self.put = 0
        self.wrong = None

    def complain(self, text):
        self.wrong = self.wrong or text

    def asks(self, ids):
        with self.lock:
            self.asked.update(ids)

    def acknowledged(self, ids):
        with self.lock:
            self.put += len(ids)
            for each in ids:
                if each in self.asked:  # otherwise it is done already
                    self.asked.discard(each)
                    self.open.add(each)

    def taken(self, task):
        with self.lock:
            each = task["id"]
            if each in self.held:
                self.complain(f"task {each} was given to a worker while another one held it")
            if each in self.asked:  # its acknowledgement is still on its way, or got lost
                self.asked.discard(each)
                self.open.add(each)
            elif each not in self.open:
                self.complain(f"task {each} was given to a worker though it was done, or never put")
            self.held[each] = task["token"]

    def settled(self, end, answer, repeated):
        with self.lock:
            each = end["id"]
            error = answer.get("error", {}).get("code")
            # A settlement whose answer got lost was perhaps stored, and its task forgotten since.
            if error and not (repeated and error == "not_found"):
                return self.complain(f"the holder of task {each} could not settle it: {answer}")
            if self.held.pop(each, None) != end["token"]:
                self.complain(f"task {each} was settled by a worker that did not hold it")
            if end["outcome"] == "done":
                self.open.discard(each)
                self.done += 1

    def backlog(self):
        with self.lock:
            return len(self.open)


class ServerFailed(Exception):
    """The server did not start or stop as it should."""


class Client:
    """One connection that comes again when it is lost."""

    def __init__(self, server):
        self.server = server
        self.connection = None

    def ask(self, path, body):
        """The answer, or None: it got lost, and whether the server did what it was asked for is not known."""
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
            self.connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            answer = self.connection.getresponse()
            text = answer.read()
            if answer.status in (429, 503):
                time.sleep(0.05)
                return None
            return json.loads(text) if answer.status < 400 else {"refused": text.decode()}
        except (OSError, http.client.HTTPException, ValueError):
            self.connection = None
            time.sleep(0.05)
            return None


class Server:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.process, self.port = None, 0

    def start(self):
        address = os.path.join(self.folder, "address")
        if os.path.exists(address):
            os.remove(address)
        log = open(os.path.join(self.folder, "server.log"), "ab")
        self.process = subprocess.Popen(
            [self.program, "serve", "--store", os.path.join(self.folder, "data"),
             "--listen", "127.0.0.1:0", "--address-file", address], stdout=log, stderr=log)
        for _ in range(600):
            if os.path.exists(address):
                with open(address) as file:
                    text = file.read().strip()
                if text:
                    self.port = int(text.rpartition(":")[2])
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise ServerFailed("the server does not start")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            raise ServerFailed(f"the server still runs {STOP_SECONDS} s after it was told to stop") from None
        if code != 0:
            raise ServerFailed(f"the server ended with {code} when it was told to stop")

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def said(self):
        with open(os.path.join(self.folder, "server.log"), errors="replace") as file:
            return "".join(file.readlines()[-20:])

    def memory(self):
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def produce(server, ledger, over):
    client, dice = Client(server), random.Random()
    while not over.is_set() and not ledger.wrong:
        if ledger.backlog() > MOST_OPEN:
            time.sleep(0.02)
            continue
        tasks = [{"id": str(uuid.uuid4()), "queue": dice.choice(QUEUES), "priority": dice.randrange(10),
                  "keep_for_ms": KEEP_MS, "payload": "x" * dice.choice([10, 100, 1000, 10_000])}
                 for _ in range(BATCH)]
        ids = [task["id"] for task in tasks]
        ledger.asks(ids)
        answer = client.ask("/v1/tasks", tasks)
        while answer is None and not over.is_set():  # safe to repeat: the ids are ours
            answer = client.ask("/v1/tasks", tasks)
        if answer is None:
            return
        results = answer.get("tasks")
        if results is None or any("error" in each for each in results):
            ledger.complain(f"a put was refused: {str(answer)[:300]}")
            return
        ledger.acknowledged(ids)


def work(server, ledger, over, name):
    client, dice, ends = Client(server), random.Random(), []
    while not ledger.wrong:
        stopping = over.is_set()
        body = {"worker": name, "settle": ends}
        if not stopping or ledger.backlog() > len(ends):
            queues = [{"queue": queue, "most": 8} for queue in QUEUES]
            body["take"] = {"queues": queues, "lease_ms": LEASE_MS}
        elif not ends:
            return
        answer, repeated = client.ask("/v1/work", body), False
        # Tasks that were taken for an answer that got lost are given back by the server.
        while answer is None and not ledger.wrong:
            repeated = True
            answer = client.ask("/v1/work", body)
        if answer is None:
            return
        if "refused" in answer:
            ledger.complain(f"a worker was refused: {answer['refused'][:300]}")
            return
        for end, settled in zip(ends, answer.get("settled", [])):
            ledger.settled(end, settled, repeated)
        ends = []
        for task in answer.get("tasks", []):
            ledger.taken(task)
            outcome = {"outcome": "done"} if dice.random() < 0.9 else {"outcome": "snooze", "delay_ms": 50}
            ends.append({"id": task["id"], "token": task["token"]} | outcome)
        if not ends:
            time.sleep(0.01)


class Watch:
    """Memory and open files, second by second."""

    def __init__(self):
        self.memory, self.files = [], []

    def look(self, server):
        self.memory.append(server.memory())
        self.files.append(server.files())

    def complaint(self):
        """Compares the middle third of the time with the last; in the first the server warms up."""
        third = len(self.memory) // 3
        if third < 3:
            return None
        before, after = statistics.median(self.memory[third:2 * third]), statistics.median(self.memory[-third:])
        if after > before * 1.1 + GROWTH_BYTES:
            return f"memory grows: {before / 2**20:.0f} MiB, later {after / 2**20:.0f} MiB"
        before, after = max(self.files[third:2 * third]), max(self.files[-third:])
        if after > before + GROWTH_FILES:
            return f"open files grow: {before}, later {after}"
        return None


def load(server, ledger, watch, seconds):
    """Producers and workers for so long, and the server restarted early on; then until nothing is open."""
    over = threading.Event()
    # Daemons: a thread that waits for a server which is gone does not keep this program alive.
    threads = [threading.Thread(target=produce, args=(server, ledger, over), daemon=True) for _ in range(3)]
    threads += [threading.Thread(target=work, args=(server, ledger, over, f"soak-{i}"), daemon=True)
                for i in range(3)]
    for thread in threads:
        thread.start()
    begin, restarted = time.monotonic(), False
    while time.monotonic() - begin < seconds and not ledger.wrong:
        time.sleep(1)
        if not restarted and time.monotonic() - begin > seconds / 5:
            restarted = True
            server.stop()
            server.start()
        if server.process.poll() is not None:
            raise ServerFailed(f"the server has ended with {server.process.returncode}")
        if restarted:
            watch.look(server)
    over.set()
    end = time.monotonic() + DRAIN_SECONDS
    for thread in threads:
        thread.join(timeout=max(0.0, end - time.monotonic()))
        if thread.is_alive():
            ledger.complain(f"what was put is not all worked off {DRAIN_SECONDS} s after the end")
    if not ledger.wrong and ledger.backlog() != 0:
        ledger.complain(f"{ledger.backlog()} tasks were acknowledged and never given to a worker")


def soak(program, seconds, folder):
    server, ledger, watch = Server(program, folder), Ledger(), Watch()
    try:
        server.start()
        load(server, ledger, watch, seconds)
        ledger.wrong = ledger.wrong or watch.complaint()
        server.stop()
    except ServerFailed as failure:
        ledger.complain(str(failure))
    finally:
        server.kill()
    memory = max(watch.memory, default=0) / 2**20
    print(f"{ledger.put} tasks put, {ledger.done} done, one restart, "
          f"at most {memory:.0f} MiB and {max(watch.files, default=0)} open files")
    if ledger.wrong:
        print("WRONG:", ledger.wrong)
        print(server.said())
        return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    with tempfile.TemporaryDirectory(prefix="millrace-soak-") as its_folder:
        sys.exit(soak(sys.argv[1], float(sys.argv[2]), its_folder))
