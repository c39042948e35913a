#!/usr/bin/env python3
"""Works the tasks of a Millrace queue, with nothing but Python's standard library.

Copy this file and write your own handle(). docs/workers.md describes what the rest does.
"""

import argparse
import datetime
import http.client
import json
import math
import os
import random
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

POLL = 5  # seconds that a take waits for a task; an idle worker may need as long to stop
PATIENCE = 10  # seconds without an answer until a request counts as lost
LONGEST_PAUSE = 10  # seconds; a server that has just started waits 30 before it calls a lease lost
LAST_WORD = 2  # seconds that a handler has to end after it was told to stop


class CannotSucceed(Exception):
    """A handler raises it where another try cannot help."""


def handle(task, stop):
    """The work itself. What it returns is the task's result; an exception is a failure.

    `stop` is a threading.Event. It is set when the task is cancelled, its time is up, its lease is
    lost or the worker ends; a long handler looks at it and raises. stop.wait(1) is a sleep that
    ends early. A task may run more than once, so this must be safe to repeat.

    task.get("checkpoint") is what an earlier run wrote down, task.get("answer") what the task was
    released with. What is no JSON has another name: checkpoint_text or checkpoint_base64.
    """
    to = task["payload"]["to"]
    if "@" not in to:
        raise CannotSucceed(f"{to} is not an address")
    return {"sent": to, "attempt": task["counters"].get("attempts", 0) + 1}


class Trouble(Exception):
    """A request failed. It may be sent again after `pause` seconds; None: the server refuses it."""

    def __init__(self, message, code="unavailable", pause=None):
        super().__init__(message)
        self.code, self.pause = code, pause


class Run:
    """One task under a lease, from the take to the settlement."""

    def __init__(self, task):
        self.id, self.token, self.task = task["id"], task["token"], task
        self.stop = threading.Event()  # for the handler
        self.why = None  # it was told to stop: cancelled, timeout, lost or stopping
        self.over, self.ending, self.lock = threading.Event(), None, threading.Lock()
        texts = [task[name].replace("Z", "+00:00") for name in ("started_at", "until")]
        began, until = (datetime.datetime.fromisoformat(text) for text in texts)
        # At least every 10 s, because the worker learns of a cancellation by its heartbeat.
        self.beat = min(max(1, (until - began).total_seconds()) / 3, 10)
        self.began = time.monotonic()
        self.time_up = self.began + task.get("timeout_ms", math.inf) / 1000

    def tell(self, why):
        if not self.why or why == "lost":
            self.why = why
        self.stop.set()

    def end(self, outcome, **more):
        """The first ending counts: a handler that was given up may still return."""
        with self.lock:
            self.ending = self.ending or {"outcome": outcome, **more}
        self.over.set()

    def fail(self, error):
        words = {"message": cut(str(error) or type(error).__name__)}
        if self.why == "cancelled":
            self.end("cancel", reason="its handler stopped")
        elif self.why == "stopping":
            self.end("give_back")
        elif self.why == "timeout":
            self.end("failed", error={"code": "timeout", **words})
        elif isinstance(error, CannotSucceed):
            self.end("failed", error=words, retryable=False)
        else:  # the retry policy of the queue decides
            self.end("failed", error=words)


class Worker:
    def __init__(self, queue, handle, concurrency=4, grace=20, until_empty=False):
        self.server = os.environ.get("MILLRACE_URL", "http://127.0.0.1:7070").rstrip("/")
        self.key = os.environ.get("MILLRACE_KEY")
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self.queue, self.handle, self.until_empty = queue, handle, until_empty
        self.concurrency, self.grace = concurrency, grace
        self.told = False  # by a signal
        self.stopping = threading.Event()  # nothing more is taken
        self.gone = threading.Event()  # nothing more is sent
        self.exit_code = 0
        self.lock = threading.Lock()  # for what follows
        self.runs, self.away = set(), False
        self.sums = {"handled": 0, "errors": 0, "busy_ms": 0}

    def call(self, path, body, timeout=PATIENCE):
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        request = urllib.request.Request(self.server + path, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                got = json.load(answer)
        except urllib.error.HTTPError as error:
            later = error.code >= 500 or error.code in (408, 425, 429)
            seconds = error.headers.get("Retry-After", "")
            pause = int(seconds) if seconds.isdecimal() else 0
            try:
                text = error.read().decode()  # application/problem+json
                code = json.loads(text)["code"]
            except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
                text, code = error.reason, "unknown"  # a proxy answered
            message = f"POST {path}: {error.code} {text}"
            raise Trouble(message, code, pause if later else None) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Trouble(f"POST {path}: {error}", pause=0) from None
        self.note(None)
        return got

    def note(self, trouble):
        """Says once that the server is away, and once that it is back."""
        with self.lock:
            was, self.away = self.away, trouble is not None
        if was != self.away:
            log(f"the server is away: {trouble}" if trouble else "the server is back")

    def insist(self, path, body, timeout, given_up):
        """Asks until the server answers; None if the event `given_up` comes first."""
        pause = 0.25
        while not given_up.is_set():
            try:
                return self.call(path, body, timeout)
            except Trouble as trouble:
                if trouble.pause is None:
                    raise
                self.note(trouble)
                pause = min(pause * 2, LONGEST_PAUSE)
                # Workers that lost a server together should not all come back at one moment.
                wait = max(pause, trouble.pause) * random.uniform(1, 1.3)
                given_up.wait(min(wait, 0.5) if self.stopping.is_set() else wait)
        return None

    def loop(self):
        """Works one task after the other: `concurrency` loops hold at most as many tasks."""
        try:
            run = self.take()
            while run or not (self.stopping.is_set() or self.until_empty):
                if run:
                    self.work(run)
                    run = self.settle(run)
                run = run or self.take()
        except Exception as error:  # a wrong key or queue, for example: the operator has to look
            log(f"the worker stops: {error!r}")
            self.exit_code = 1
            self.stopping.set()

    def take(self):
        wait = 100 if self.until_empty else POLL * 1000
        body = {"worker": self.name, "queue": self.queue, "most": 1, "wait_ms": wait}
        return self.taken(self.insist("/v1/take", body, POLL + PATIENCE, self.stopping))

    def taken(self, answer):
        if not answer or not answer["tasks"]:
            return None
        run = Run(answer["tasks"][0])
        with self.lock:
            self.runs.add(run)
        return run

    def work(self, run):
        """Runs the handler in a thread of its own, and heartbeats beside it until it is over."""
        if self.stopping.is_set():  # the task came with the last take
            return run.end("give_back")
        threading.Thread(target=self.attempt, args=(run,), daemon=True).start()
        next_beat = run.began + run.beat
        while not run.over.wait(min(run.beat, 0.5)):
            now = time.monotonic()
            if now >= run.time_up:
                run.tell("timeout")
            if now >= run.time_up + LAST_WORD:
                continue  # a handler that ignores its timeout loses the lease: it may hang
            if now >= next_beat and run.why != "lost":
                self.heartbeat(run)
                next_beat = time.monotonic() + run.beat

    def attempt(self, run):
        try:
            result = self.handle(run.task, run.stop)
            json.dumps(result, allow_nan=False)  # what is no JSON is the handler's failure
            run.end("done", result=result)
        except BaseException as error:  # sys.exit(), too: it would end this thread unnoticed
            run.fail(error)
        with self.lock:
            self.sums["handled"] += 1
            self.sums["errors"] += run.ending["outcome"] == "failed"
            self.sums["busy_ms"] += int(1000 * (time.monotonic() - run.began))

    def heartbeat(self, run):
        try:
            answer = self.call(f"/v1/tasks/{run.id}/extend", {"token": run.token}, run.beat)
            if answer["cancel_requested"]:
                run.tell("cancelled")
        except Trouble as trouble:
            self.note(trouble) if trouble.pause is not None else log(trouble)
            if trouble.code in ("lease_lost", "not_found"):
                run.tell("lost")

    def settle(self, run):
        """Sends the ending until the server has it; the next task may come with the answer."""
        following, takes = None, True
        while run.why != "lost":  # else the result is dropped
            body = {"worker": self.name}
            body["settle"] = [{"id": run.id, "token": run.token, **run.ending}]
            if takes and not following and not self.stopping.is_set():
                body["take"] = {"queue": self.queue, "most": 1}
            try:
                answer = self.insist("/v1/work", body, PATIENCE, self.gone)
                if answer is None:
                    break  # the worker must go; the lease ends by itself
                following = following or self.taken(answer)
                settled = answer["settled"][0]
            except Trouble as trouble:
                takes = False  # perhaps only the take is refused
                settled = {"error": {"code": trouble.code, "message": str(trouble)}}
            log(f"{run.id}: {settled.get('state') or settled['error']['message']}")
            if "error" not in settled or not self.send_again(run, settled["error"]):
                break
        with self.lock:
            self.runs.discard(run)
        return following

    def send_again(self, run, error):
        """What becomes of an ending that the server refused."""
        code = error["code"]
        if code in ("unavailable", "limited", "unauthorized", "forbidden"):
            return not self.gone.wait(random.uniform(1, 2))  # nothing is wrong with the ending
        refused_before = run.ending.get("error", {}).get("code") == "settlement_refused"
        if refused_before or code in ("lease_lost", "not_found"):
            return False
        error = {"code": "settlement_refused", "message": cut(error["message"])}
        run.ending = {"outcome": "failed", "error": error}  # its result is too large, perhaps
        return True

    def report(self):
        """Says every 5 s what this worker does, for `millrace workers` and the dashboard.

        The answer may assign processors to queues, which means nothing to a worker of one queue.
        """
        path = f"/v1/workers/{urllib.parse.quote(self.name, safe='')}/beat"
        processors = self.concurrency
        last = False
        while not last:
            last = self.gone.is_set()
            with self.lock:
                busy = sum(run.ending is None for run in self.runs)
                queue = {"queue": self.queue, "processors": processors, "most": processors}
                queue.update(self.sums, busy=busy)
            stopping = self.stopping.is_set()
            try:
                self.call(path, {"processors": processors, "queues": [queue], "stopping": stopping})
            except Trouble:
                pass  # the loops notice, too, and say so
            self.gone.wait(0 if last else 5)

    def run(self):
        """Works until SIGTERM or SIGINT, or until the queue is empty; returns the exit code."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.on_signal)
        loops = [threading.Thread(target=self.loop, daemon=True) for _ in range(self.concurrency)]
        beats = threading.Thread(target=self.report, daemon=True)
        for thread in [*loops, beats]:
            thread.start()
        while any(loop.is_alive() for loop in loops) and not self.stopping.is_set():
            time.sleep(0.1)
            if self.told:
                self.stopping.set()
        join(loops, self.grace)
        for run in list(self.runs):
            run.tell("stopping")
        join(loops, LAST_WORD)
        for run in list(self.runs):
            run.end("give_back")
        join(loops, PATIENCE)
        self.stopping.set()
        self.gone.set()
        join([beats], 1)  # the last one says that the worker stops
        return self.exit_code

    def on_signal(self, number, _):
        self.told = True  # no more than that: an Event that is set here could deadlock
        signal.signal(number, signal.SIG_DFL)  # the same one again ends the process at once


def cut(text):
    """A text that fits into an error of a task, which has at most 8 KiB."""
    return text.encode(errors="replace")[:4000].decode(errors="ignore")


def join(threads, seconds):
    limit = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0, limit - time.monotonic()))


def log(words):
    print(words, file=sys.stderr, flush=True)


def main(handle):
    parser = argparse.ArgumentParser(
        description="Works the tasks of a Millrace queue.",
        epilog="MILLRACE_URL is the server (http://127.0.0.1:7070), MILLRACE_KEY its key, if any.",
    )
    parser.add_argument("queue", help="the queue whose tasks to work")
    parser.add_argument("--concurrency", type=int, default=4, help="tasks at the same time [4]")
    parser.add_argument("--grace", type=float, default=20, help="seconds for handlers to end [20]")
    parser.add_argument("--until-empty", action="store_true", help="end when the queue is empty")
    given = parser.parse_args()
    if not given.queue or given.queue.startswith("-"):
        parser.error("the name of a queue does not begin with -")
    if given.concurrency < 1 or given.grace < 0:
        parser.error("--concurrency is at least 1, --grace at least 0")
    worker = Worker(given.queue, handle, given.concurrency, given.grace, given.until_empty)
    if not worker.server.startswith(("http://", "https://")):
        parser.error(f"MILLRACE_URL is {worker.server}; it begins with http:// or https://")
    code = worker.run()
    sys.stdout.flush()
    os._exit(code)  # not sys.exit(), which waits for threads of handlers that hang


if __name__ == "__main__":
    main(handle)
