"""The example workers in Python and Node lose no work: real server, real processes, slow handlers.

    example_workers_test.py MILLRACE [-k PART_OF_A_NAME] [--examples DIRECTORY]

All tests run at the same time, because they mostly wait.
"""

import argparse
import http.server
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from parallel_cases import all_pass, cases_of
from server_process import MORTAL, Server, until

HERE = os.path.dirname(os.path.abspath(__file__))
LEASE = {"lease_ms": 5000}
KEY = "k" * 40


class Workers:
    """The tests, for any language. Each has a queue of its own."""

    def setUp(self):
        self.server, self.queue = shared, f"{self.language}.{self._testMethodName}"
        folder = tempfile.mkdtemp(prefix="millrace-example-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.folder = folder
        self.record, self.errors = os.path.join(folder, "record"), os.path.join(folder, "errors")
        self.words = "nothing"
        self.addCleanup(self.keep_words)

    def own_server(self, **more):
        self.server = Server(given.millrace, self.folder, **more)
        self.addCleanup(lambda: self.server.end())

    def make_queue(self, **settings):
        self.server.ask("/v1/queues", {"name": self.queue, **LEASE, **settings})

    def put(self, *payloads, **more):
        tasks = [{"payload": payload, **more} for payload in payloads]
        answer = self.server.ask(f"/v1/queues/{self.queue}/tasks", tasks)
        return [task["id"] for task in answer["tasks"]]

    def begin(self, *flags, url=None, key=None):
        """Starts the example with the handler of example_handler."""
        environment = dict(os.environ, MILLRACE_URL=url or self.server.url)
        environment.update({"MILLRACE_KEY": key} if key else {})
        script = os.path.join(HERE, f"example_handler{self.example[-1]}")
        example = os.path.join(given.examples, "".join(self.example))
        command = [*MORTAL, self.program, script, example, self.record, self.queue, *flags]
        with open(self.errors, "a") as errors:
            self.worker = subprocess.Popen(command, env=environment, stderr=errors)
        self.addCleanup(self.worker.wait)
        self.addCleanup(self.worker.kill)

    def notes(self, what, task=None):
        if not os.path.exists(self.record):
            return []
        with open(self.record) as file:
            notes = [json.loads(line) for line in file]
        return [note for note in notes if note["what"] == what and task in (None, note["id"])]

    def wait_for(self, what, count=1, **more):
        until(f"{count} × {what}", lambda: len(self.notes(what)) >= count, **more)

    def ended(self, task):
        return self.server.ask(f"/v1/tasks/{task}?wait=40s")

    def said(self):
        with open(self.errors) as file:
            return file.read()

    def keep_words(self):
        if os.path.exists(self.errors):
            self.words = self.said()

    def assert_exit(self, code, seconds):
        self.assertEqual(self.worker.wait(seconds), code, self.said())

    # ---- Leases ----

    def test_handlers_longer_than_their_lease_run_once(self):
        """Leases are called lost once a server is 30 s old; the last four runs end after that."""
        self.make_queue()
        tasks = self.put(*[{"seconds": 7}] * 10)
        time.sleep(max(0, self.server.since + 13 - time.monotonic()))
        self.begin("--concurrency", "4")
        self.wait_for("began", 4)
        counts = self.server.ask(f"/v1/queues/{self.queue}")["counts"]
        self.assertEqual((counts["taken"], counts["ready"]), (4, 6))
        until("a report of four busy processors", lambda: self.report().get("busy") == 4)
        for task in tasks:
            self.assertEqual(self.ended(task)["state"], "completed")
        self.assertGreater(time.monotonic(), self.server.since + 31)
        self.assertEqual(len(self.notes("began")), 10)
        self.assertEqual(len(self.notes("ended")), 10)

    def report(self):
        for worker in self.server.ask("/v1/workers")["workers"]:
            for queue in worker.get("report", {}).get("queues", []):
                if queue["queue"] == self.queue:
                    return queue
        return {}

    def test_a_lost_lease_stops_the_handler_and_drops_its_result(self):
        self.make_queue()
        heeds, deaf = self.put({"seconds": 50}, {"seconds": 6, "deaf": True})
        self.begin("--concurrency", "2")
        self.wait_for("began", 2)
        for note in self.notes("began"):  # the lease ends behind the worker's back
            other = {"token": note["token"], "outcome": "done", "result": "of another worker"}
            self.server.ask(f"/v1/tasks/{note['id']}/settle", other)
        self.wait_for("stopped")
        self.wait_for("ended")
        for task in (heeds, deaf):
            self.assertEqual(self.ended(task)["result"], "of another worker")
        until("the worker says so", lambda: self.said().count("lease_lost") == 2)

    # ---- Ends ----

    def test_a_cancelled_task_stops_its_handler(self):
        self.make_queue()
        [task] = self.put({"seconds": 50})
        self.begin()
        self.wait_for("began")
        self.server.ask(f"/v1/tasks/{task}/cancel", {"reason": "not wanted"})
        self.wait_for("stopped", seconds=5)
        self.assertEqual(self.ended(task)["state"], "cancelled")

    def test_a_handler_that_throws_is_retried_then_dead(self):
        self.make_queue(retry={"max_retries": 1, "base_ms": 100})
        dies, hopeless = self.put({"fail": "no route to host"}, {"hopeless": "no address"})
        self.begin()
        dead = self.ended(dies)
        self.assertEqual((dead["state"], dead["error"]["message"]), ("dead", "no route to host"))
        self.assertEqual(len(self.notes("began", dies)), 2)
        failed = self.ended(hopeless)
        self.assertEqual((failed["state"], failed["error"]["message"]), ("failed", "no address"))
        self.assertEqual(len(self.notes("began", hopeless)), 1)

    def test_a_handler_gets_the_checkpoint_and_the_answer(self):
        self.make_queue()
        steps = self.put({"show_steps": True}, {"show_steps": True}, {"show_steps": True})
        written = [{"checkpoint": {"page": 17}}, {"checkpoint_text": "page 17"}, {}]
        taken = self.server.ask("/v1/take", {"worker": "before", "queue": self.queue, "most": 3})
        for lease in taken["tasks"]:
            outcome = {"token": lease["token"], "outcome": "park"}
            outcome.update(written[steps.index(lease["id"])])
            self.server.ask(f"/v1/tasks/{lease['id']}/settle", outcome)
        self.server.ask(f"/v1/tasks/{steps[0]}/release", {"data": {"approved": True}})
        self.server.ask(f"/v1/tasks/{steps[1]}/release", {"data": 0})
        self.server.ask(f"/v1/tasks/{steps[2]}/release", {})
        self.begin()
        nothing = dict.fromkeys(("checkpoint", "answer", "checkpoint_text"))
        seen = [self.ended(task)["result"] for task in steps]
        self.assertEqual(seen[0], {**nothing, "checkpoint": {"page": 17}, "answer": {"approved": True}})
        self.assertEqual(seen[1], {**nothing, "checkpoint_text": "page 17", "answer": 0})
        self.assertEqual(seen[2], nothing)

    def test_a_timeout_stops_the_handler(self):
        self.make_queue()
        [task] = self.put({"seconds": 50}, timeout_ms=1000, max_retries=0)
        self.begin()
        dead = self.ended(task)
        self.assertEqual((dead["state"], dead["error"]["code"]), ("dead", "timeout"))
        self.assertEqual(len(self.notes("stopped")), 1)

    def test_a_result_that_is_refused_fails_its_task_alone(self):
        self.make_queue()
        sizes = (2_000_000, 9_000_000)  # more than a result, and more than a request may have
        refused = self.put(*[{"seconds": 0, "result_bytes": size} for size in sizes], max_retries=0)
        [good] = self.put({"seconds": 0})
        self.begin("--concurrency", "1")
        self.assertEqual(self.ended(good)["result"], "x")
        for task in refused:
            self.assertEqual(self.ended(task)["error"]["code"], "settlement_refused")

    # ---- Stopping ----

    def test_sigterm_lets_handlers_end(self):
        self.make_queue()
        tasks = self.put(*[{"seconds": 3}] * 4)
        self.begin("--concurrency", "2")
        self.wait_for("began", 2)
        self.worker.send_signal(signal.SIGTERM)
        self.assert_exit(0, 8)
        states = [self.server.ask(f"/v1/tasks/{task}")["state"] for task in tasks]
        self.assertEqual(sorted(states), ["completed", "completed", "queued", "queued"])

    def test_sigterm_gives_back_what_does_not_end_in_time(self):
        self.make_queue()
        tasks = self.put({"seconds": 50}, {"seconds": 50, "deaf": True})
        self.begin("--concurrency", "3", "--grace", "1")  # one loop waits for a task
        self.wait_for("began", 2)
        self.worker.send_signal(signal.SIGTERM)
        self.assert_exit(0, 10)
        for task in tasks:
            found = self.server.ask(f"/v1/tasks/{task}")
            self.assertEqual(found["state"], "queued")
            self.assertEqual(list(found["counters"]), ["deliveries"])  # nothing is charged

    # ---- The server ----

    def test_a_server_that_is_killed_or_restarted_costs_nothing(self):
        self.own_server(key=KEY)
        self.make_queue()
        tasks = self.put(*[{"seconds": 3}] * 6)
        self.begin("--concurrency", "3", key=KEY)
        for ends, number in ((3, signal.SIGKILL), (6, signal.SIGTERM)):
            self.wait_for("began", ends)
            self.server.end(number)
            self.wait_for("ended", ends)  # while the server is away
            time.sleep(0.5)
            self.server.start()
        for task in tasks:
            self.assertEqual(self.ended(task)["state"], "completed")
        self.assertEqual(len(self.notes("began")), 6)
        self.assertIsNone(self.worker.poll(), self.said())
        self.worker.send_signal(signal.SIGINT)
        self.assert_exit(0, 10)
        self.begin()  # without the key
        self.assert_exit(1, 10)
        self.assertIn('"code":"unauthorized"', self.said())

    def test_retry_after_is_heeded(self):
        takes = []

        class Busy(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                if self.path == "/v1/take":
                    takes.append(time.monotonic())
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(503)
                self.send_header("Retry-After", "3")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Busy) as busy:
            threading.Thread(target=busy.serve_forever, daemon=True).start()
            self.begin("--concurrency", "1", url=f"http://127.0.0.1:{busy.server_port}")
            until("two takes", lambda: len(takes) >= 2)
            self.assertGreater(takes[1] - takes[0], 2.9)
            self.worker.send_signal(signal.SIGTERM)
            self.assert_exit(0, 5)
            busy.shutdown()

    def test_wrong_usage_creates_nothing(self):
        environment = dict(os.environ, MILLRACE_URL=self.server.url)
        example = os.path.join(given.examples, "".join(self.example))
        for code, flags in ((0, ["--help"]), (2, []), (2, ["--nonsense"]), (2, ["--", "-x"]),
                            (2, ["a", "b"]), (2, ["a", "--concurrency", "0"])):
            ran = subprocess.run([self.program, example, *flags], env=environment,
                                 capture_output=True, text=True, timeout=10)
            self.assertEqual(ran.returncode, code, (flags, ran.stderr))
            self.assertIn("usage:", ran.stdout if code == 0 else ran.stderr)
        names = [queue["name"] for queue in self.server.ask("/v1/queues")["queues"]]
        self.assertFalse({"--help", "--nonsense", "-x", "a", "b"} & set(names))


class PythonWorkers(Workers, unittest.TestCase):
    language, program, example = "python", sys.executable, ("python/worker", ".py")


class NodeWorkers(Workers, unittest.TestCase):
    language, program, example = "node", "node", ("node/worker", ".mjs")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("millrace")
    parser.add_argument("-k", default="")
    parser.add_argument("--examples", default=os.path.join(HERE, "../../examples"))
    given = parser.parse_args()
    cases = cases_of((PythonWorkers, NodeWorkers), given.k)
    if not cases:
        parser.error(f"no test has {given.k} in its name")
    with tempfile.TemporaryDirectory(prefix="millrace-example-") as directory:
        shared = Server(given.millrace, directory)
        try:
            passed = all_pass(cases, lambda case: f"The worker said:\n{case.words}")
        finally:
            shared.end()
    sys.exit(0 if passed else 1)
