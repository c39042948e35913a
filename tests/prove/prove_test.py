"""The table of ./dev prove tells the truth: what passed, what failed with what, what was not run."""

import contextlib
import io
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import contract
import prove
import soak

# ./dev prove installs schemathesis; what is tested here only needs its way to register functions.
REGISTRY = {"hook": lambda function: function, "serializer": types.SimpleNamespace(alias=lambda *_: None)}
with mock.patch.dict(sys.modules, {"schemathesis": types.SimpleNamespace(**REGISTRY)}):
    import contract_hooks


def proof(name, outcome, share=1):
    def run(seconds, log):
        if callable(outcome):
            return outcome(seconds, log)
        return outcome
    return prove.Proof(name, "a proof", share, ("release",), run)


def prove_with(proofs, minutes="1", building=lambda preset, log: True):
    code, told, _ = prove_and_tell(proofs, minutes, building)
    return code, told.rpartition("\n\n")[2]


def prove_and_tell(proofs, minutes="1", building=lambda preset, log: True):
    """The exit code, all output, and the logs by name."""
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out):
        prove.LOGS = folder
        code = prove.main([minutes], proofs, building)
        logs = {}
        for name in os.listdir(folder):
            with open(os.path.join(folder, name)) as file:
                logs[name] = file.read()
    return code, out.getvalue(), logs


@contextlib.contextmanager
def a_log():
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "log"), "w+") as log:
        yield log


def a_program(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, stat.S_IRWXU)
    return path


GOOD = prove.Outcome(True, "5 things")
BAD = prove.Outcome(False, "3 things", "./dev sim --seed 17")


class ProveTest(unittest.TestCase):
    def setUp(self):  # an interrupt leaves them ignored, and children inherit that
        for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
            signal.signal(number, handler)

    def test_all_passed(self):
        code, table = prove_with([proof("one", GOOD), proof("two", GOOD)])
        self.assertEqual(code, 0)
        self.assertRegex(table, r"one +5 things +0:00 +passed")

    def test_a_failure_is_named_and_the_rest_is_run(self):
        code, table = prove_with([proof("one", BAD), proof("two", GOOD)])
        self.assertEqual(code, 1)
        self.assertRegex(table, r"one +3 things +0:00 +FAILED: ./dev sim --seed 17")
        self.assertRegex(table, r"two +5 things +0:00 +passed")

    def test_what_does_not_build_failed(self):
        code, table = prove_with([proof("one", GOOD)], building=lambda preset, log: False)
        self.assertEqual(code, 1)
        self.assertIn("it does not build", table)

    def test_what_does_not_build_is_told_at_once_and_names_the_log_of_the_build(self):
        def building(preset, log):
            log.write("error: no such file")
            return False
        code, told, logs = prove_and_tell([proof("one", GOOD), proof("two", GOOD)], building=building)
        self.assertEqual(code, 1)
        self.assertEqual(logs["build-release.log"], "error: no such file")
        self.assertEqual(len([line for line in told.splitlines()
                              if line.startswith("    nothing, FAILED: it does not build")]), 2)
        self.assertEqual(told.count("build-release.log"), 4, told)  # as they come, and in the table

    def test_a_proof_that_breaks_is_a_failure_and_the_rest_is_run(self):
        def breaks(seconds, log):
            raise FileNotFoundError("build/release/sim")
        code, table = prove_with([proof("one", breaks), proof("two", GOOD)])
        self.assertEqual(code, 1)
        self.assertRegex(table, r"one +nothing +0:00 +FAILED: the proof itself broke: .*build/release/sim")
        self.assertRegex(table, r"two +5 things +0:00 +passed")

        def no_build(preset, log):
            raise OSError("no space left")
        code, table = prove_with([proof("one", GOOD)], building=no_build)
        self.assertEqual(code, 1)
        self.assertIn("no space left", table)

    def test_an_interrupt_tells_what_was_not_run(self):
        def interrupted(seconds, log):
            os.kill(os.getpid(), signal.SIGINT)
            signal.pause()
        code, table = prove_with([proof("one", GOOD), proof("two", interrupted), proof("three", GOOD)])
        self.assertEqual(code, 130)
        self.assertRegex(table, r"one +5 things +0:00 +passed")
        self.assertRegex(table, r"two .*not run to its end")
        self.assertRegex(table, r"three +not run")

    def test_a_second_interrupt_leaves_no_process_behind(self):
        started = []

        def stubborn(seconds, log):
            with tempfile.TemporaryDirectory() as folder:
                ready = os.path.join(folder, "pid")
                program = a_program(folder, "stubborn", f"""#!/usr/bin/env python3
import os, signal, time
signal.signal(signal.SIGINT, lambda *_: (time.sleep(1), os._exit(0)))
with open({ready!r} + "~", "w") as file: file.write(str(os.getpid()))
os.rename({ready!r} + "~", {ready!r})
time.sleep(60)
""")

                def interrupts():
                    while not os.path.exists(ready):
                        time.sleep(0.01)
                    with open(ready) as file:
                        started.append(int(file.read()))
                    for _ in range(3):
                        os.kill(os.getpid(), signal.SIGINT)
                        time.sleep(0.2)
                thread = threading.Thread(target=interrupts)
                thread.start()
                try:
                    prove.run([program], log, 30)
                finally:
                    thread.join()
        code, _ = prove_with([proof("one", stubborn)])
        self.assertEqual(code, 130)
        with self.assertRaises(ProcessLookupError):
            os.kill(started[0], 0)

    def test_an_interrupt_while_a_group_is_ended_waits_until_it_is(self):
        signal.signal(signal.SIGINT, prove.interrupt)
        process = subprocess.Popen(["sh", "-c", "trap '' INT; echo; sleep 60 & wait"], start_new_session=True,
                                   stdout=subprocess.PIPE)
        process.stdout.readline()
        process.stdout.close()
        killpg = os.killpg

        def kill_and_interrupt(group, number):
            if number == signal.SIGINT:
                os.kill(os.getpid(), signal.SIGINT)
            killpg(group, number)
        with mock.patch.object(os, "killpg", kill_and_interrupt), \
                mock.patch.object(prove, "wait", lambda process, seconds: soon(process)):
            with self.assertRaises(prove.Interrupted):
                prove.end_group(process)
        self.assertIsNotNone(process.wait(timeout=5))

    def test_time_is_divided_by_shares_and_what_is_left_is_handed_on(self):
        given = []

        def note(seconds, log):
            given.append(round(seconds))
            return GOOD
        prove_with([proof("one", note, 1), proof("two", note, 2), proof("three", note, 1)], minutes="10")
        self.assertEqual(given, [150, 400, 600])

    def test_output_of_ctest_is_understood(self):
        output = ("  1/3 Test #7: core/Cron.a ...................   Passed    0.02 sec\n"
                  "  2/3 Test #9: core/Cron.b ...................***Failed    0.02 sec\n")
        self.assertEqual(prove.tests_outcome(None, output, "asan"),
                         prove.Outcome(False, "2 of 3 tests", "core/Cron.b; ./dev asan NAME"))
        self.assertTrue(prove.tests_outcome(None, output.splitlines()[0], "asan").good)
        for how, good in (("***Skipped   0.01 sec", True), ("***Not Run (Disabled)   0.00 sec", True),
                          ("***Not Run   0.00 sec", False), ("***Timeout 120.01 sec", False),
                          ("Subprocess aborted***Exception:   0.20 sec", False)):
            line = "  1/3 Test  #12: core/Cron.c ...................." + how
            self.assertEqual(prove.tests_outcome(None, line, "asan").good, good, how)
        self.assertFalse(prove.tests_outcome(8, output.splitlines()[0], "asan").good)
        self.assertFalse(prove.tests_outcome(0, "", "asan").good)

    def test_a_test_at_work_when_the_time_is_up_is_waited_for(self):
        with tempfile.TemporaryDirectory() as folder, a_log() as log:
            ctest = a_program(folder, "ctest", """#!/bin/sh
echo '      Start  7: core/Cron.hangs'
echo '      Start  9: core/Cron.b'
echo '  1/3 Test  #9: core/Cron.b ...................   Passed    0.02 sec'
sleep 2
echo '  2/3 Test  #7: core/Cron.hangs ...................***Timeout 300.02 sec'
sleep 60
""")
            unfinished = prove.Unfinished(30)
            code, output = prove.run([ctest], log, 0.5, more=unfinished)
            self.assertIsNone(code)
            self.assertEqual(prove.tests_outcome(code, output, "tsan", unfinished.names),
                             prove.Outcome(False, "2 of 3 tests", "core/Cron.hangs; ./dev tsan NAME"))

    def test_a_test_that_outlives_its_grace_hangs(self):
        output = ("      Start  7: core/Cron.a\n"
                  "      Start  9: core/Cron.b\n"
                  "  1/3 Test  #9: core/Cron.b ...................   Passed    0.02 sec\n")
        unfinished = prove.Unfinished(0)
        self.assertFalse(unfinished(output))
        self.assertEqual(prove.tests_outcome(None, output, "asan", unfinished.names),
                         prove.Outcome(False, "1 of 3 tests", "core/Cron.a (hangs); ./dev asan NAME"))

    def test_tests_that_began_after_the_time_was_up_are_not_waited_for(self):
        unfinished = prove.Unfinished(30)
        first = "      Start  7: core/Cron.a\n"
        self.assertTrue(unfinished(first))
        later = "  1/3 Test  #7: core/Cron.a ....   Passed    0.02 sec\n      Start  8: core/Cron.b\n"
        self.assertFalse(unfinished(first + later))
        self.assertTrue(prove.tests_outcome(None, first + later, "asan", unfinished.names).good)

    def test_a_failing_seed_is_named(self):
        with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "log"), "w+") as log:
            command = lambda seed, count: (["sh", "-c", "echo replay with --seed=42; exit 1"], {})
            outcome = prove.repeated(command, 5, log, 10, "seeds",
                                     prove.failing_seed(r"replay with --seed=(\d+)", "again --seed={}"))
        self.assertEqual(outcome, prove.Outcome(False, "10 seeds", "again --seed=42"))

    def test_a_piece_that_hangs_is_a_failure(self):
        with a_log() as log, mock.patch.object(prove, "GRACE", 0.2):
            outcome = prove.repeated(lambda seed, count: (["sleep", "60"], {}), 0.3, log, 10, "seeds",
                                     prove.failing_seed("seed", "{}"))
        self.assertEqual(outcome, prove.Outcome(False, "10 seeds", "did not end in its time"))

    def test_every_program_has_a_limit(self):
        limits = []

        def note(command, log, seconds, **_):
            limits.append(seconds)
            return None, ""
        with mock.patch.object(prove, "run", note), a_log() as log:
            for each in prove.PROOFS:
                self.assertFalse(each.run(100, log).good, each.name)
            self.assertFalse(prove.build("release", log))
        self.assertGreaterEqual(len(limits), len(prove.PROOFS) + 1)
        self.assertTrue(all(limit is not None and limit > 0 for limit in limits), limits)

    def test_pieces_do_not_shrink_under_their_least(self):
        counts = []

        def command(_, count):
            counts.append(count)
            return ["sleep", "0.3"], {}
        with a_log() as log:
            prove.repeated(command, 1, log, 40, "kills", None, least=4)
        self.assertGreater(len(counts), 2)
        self.assertTrue(all(count >= 4 for count in counts), counts)

    def test_a_crash_is_named_with_the_command_that_runs_it_again(self):
        said = "[  FAILED  ] On/ServedCrash.nothing/journal, where GetParam() = false (12 ms)"
        with mock.patch.object(prove, "run", lambda *_, **__: (1, said)), a_log() as log:
            outcome = prove.crash(10, log)
        self.assertIn("crash_test --kills=4 --gtest_filter=On/ServedCrash.nothing/journal;", outcome.failure)

    def test_random_calls_get_new_seeds_and_skip_the_tests_of_the_generator(self):
        seen = []

        def note(command, log, seconds, environment=None, **_):
            seen.append((command, environment))
            return 1, "replay with --seed=42"
        with mock.patch.object(prove, "run", note), a_log() as log:
            for each in prove.PROOFS:
                if each.name in ("random", "postgres"):
                    self.assertIn("--seed=42", each.run(10, log).failure)
        for command, environment in seen:
            self.assertIn("--gtest_filter=-*RandomDefect*", command)
            self.assertEqual(sorted(environment), ["MILLRACE_SEED", "MILLRACE_SEEDS"])
        self.assertNotEqual(seen[0][1]["MILLRACE_SEED"], seen[1][1]["MILLRACE_SEED"])

    def test_fuzzers_after_one_that_failed_are_run(self):
        def one_fails(command, log, seconds, **_):
            failing = any("bad_fuzz" in part for part in command)
            return (77, "Test unit written to build/fuzz/bad-crash-1") if failing else (
                0, "stat::number_of_executed_units: 10")
        with mock.patch.object(prove, "run", one_fails), a_log() as log, \
                mock.patch.object(prove, "fuzzers", lambda: ["bad", "good"]), \
                mock.patch.object(os, "makedirs"):
            self.assertEqual(prove.fuzz(10, log),
                             prove.Outcome(False, "10 inputs in 2 fuzzers",
                                           "build/fuzz/fuzz/bad_fuzz build/fuzz/bad-crash-1"))

    def test_what_is_neither_minutes_nor_a_proof_is_refused(self):
        for wrong in (".", "1.", "1.2.3", "simm"):
            with self.assertRaises(SystemExit) as refused:
                prove.chosen([wrong])
            self.assertIn(f"there is no proof '{wrong}'", str(refused.exception))
        self.assertEqual(prove.chosen(["1.5", "sim"])[0], 1.5)

    def test_pieces_are_run_until_the_time_is_up(self):
        with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "log"), "w+") as log:
            outcome = prove.repeated(lambda seed, count: (["true"], {}), 0.5, log, 10, "seeds", None)
        self.assertTrue(outcome.good)
        self.assertGreater(int(outcome.ran.split()[0]), 10)


def soon(process):
    try:
        return process.wait(timeout=0.3)
    except subprocess.TimeoutExpired:
        return None


class SoakTest(unittest.TestCase):
    """A server that does not start or stop as it should is a complaint, and the soak ends."""

    def soak_with(self, first, later, seconds=2):
        """Runs it in a process of its own, as ./dev prove does, with a server that is a few lines of Python."""
        with tempfile.TemporaryDirectory() as folder:
            server = a_program(folder, "server", f"""#!/usr/bin/env python3
import os, signal, sys, time
again = os.path.exists({folder!r} + "/started")
with open({folder!r} + "/started", "w") as file: file.write(str(os.getpid()))
def listen():
    with open(sys.argv[sys.argv.index("--address-file") + 1], "w") as file: file.write("127.0.0.1:1")
def first():
    {first}
def later():
    {later}
later() if again else first()
time.sleep(600)
""")
            script = (f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r}); import soak; "
                      f"soak.STOP_SECONDS = soak.DRAIN_SECONDS = 1; "
                      f"sys.exit(soak.soak({server!r}, {seconds}, {folder!r}))")
            ended = subprocess.run([sys.executable, "-B", "-c", script], capture_output=True, text=True, timeout=30)
            with open(os.path.join(folder, "started")) as file:
                with self.assertRaises(ProcessLookupError, msg="the server is still there"):
                    os.kill(int(file.read()), 0)
        self.assertEqual(ended.returncode, 1, ended.stderr)
        return ended.stdout

    STOPS = "listen(); signal.signal(signal.SIGTERM, lambda *_: os._exit(0))"

    def test_a_server_that_does_not_start(self):
        self.assertIn("WRONG: the server does not start", self.soak_with("os._exit(1)", "pass"))

    def test_a_server_that_does_not_start_again(self):
        self.assertIn("WRONG: the server does not start", self.soak_with(self.STOPS, "os._exit(1)"))

    def test_a_server_that_does_not_stop(self):
        said = self.soak_with("signal.signal(signal.SIGTERM, signal.SIG_IGN); listen()", "pass")
        self.assertIn("WRONG: the server still runs 1 s after it was told to stop", said)

    def test_a_server_that_stops_with_an_error(self):
        said = self.soak_with("signal.signal(signal.SIGTERM, lambda *_: os._exit(3)); listen()", "pass")
        self.assertIn("WRONG: the server ended with 3 when it was told to stop", said)

    def test_a_server_that_answers_nothing(self):
        said = self.soak_with(self.STOPS, self.STOPS)
        self.assertIn("WRONG: what was put is not all worked off", said)


class ContractTest(unittest.TestCase):
    def report(self, **more):
        return {"test_cases": {"generated": 7}, "operations": {"total": 3, "selected": 3, "tested": 3}, "failures": [],
                "errors": [], **more}

    def test_a_clean_report(self):
        self.assertEqual(contract.verdict(self.report(), 0), ("7 requests to 3 of 3 operations", ""))

    def test_what_is_wrong_is_named(self):
        finding = {"title": "Server error", "operations": ["GET /v1/tasks"]}
        self.assertIn("Server error: GET /v1/tasks", contract.verdict(self.report(failures=[finding]), 1)[1])
        self.assertIn("Hook Error (1)", contract.verdict(self.report(errors=[{"title": "Hook Error", "count": 1}]), 1)[1])
        self.assertIn("ended with 2", contract.verdict(self.report(), 2)[1])

    def test_a_run_that_tried_nothing_is_a_failure(self):
        self.assertIn("nothing was tried", contract.verdict(self.report(operations=None), 0)[1])

    def test_only_what_the_list_names_is_accepted(self):
        rows = [("Schema-*", "POST /v1/*", "^422 .*cron", "why")]
        accepted = contract_hooks.is_accepted
        self.assertTrue(accepted("Schema-valid request rejected", "POST /v1/schedules", "422 no cron", rows))
        self.assertFalse(accepted("Server error", "POST /v1/schedules", "422 no cron", rows))
        self.assertFalse(accepted("Schema-valid request rejected", "PUT /v1/schedules", "422 no cron", rows))
        self.assertFalse(accepted("Schema-valid request rejected", "POST /v1/schedules", "400 no cron", rows))

    def test_every_line_of_the_list_has_a_reason(self):
        self.assertTrue(all(len(row[3]) > 20 for row in contract_hooks.accepted()))
        with tempfile.NamedTemporaryFile("w+") as file, mock.patch.object(contract_hooks, "ACCEPTED", file.name):
            file.write("Server error\tGET /v1/tasks\t500\n")
            file.flush()
            with self.assertRaisesRegex(ValueError, "four columns"):
                contract_hooks.accepted()


class LedgerTest(unittest.TestCase):
    def setUp(self):
        self.ledger = soak.Ledger()
        self.ledger.asks(["a", "b"])
        self.ledger.acknowledged(["a"])

    def settle(self, outcome="done", answer=None, token="1"):
        self.ledger.settled({"id": "a", "token": token, "outcome": outcome}, answer or {"status": "applied"}, False)

    def test_what_is_sound(self):
        self.ledger.taken({"id": "a", "token": "1"})
        self.settle("snooze")
        self.ledger.taken({"id": "a", "token": "2"})
        self.settle(token="2")
        self.ledger.taken({"id": "b", "token": "3"})
        self.assertIsNone(self.ledger.wrong)
        self.assertEqual(self.ledger.backlog(), 1)

    def test_two_holders(self):
        self.ledger.taken({"id": "a", "token": "1"})
        self.ledger.taken({"id": "a", "token": "2"})
        self.assertIn("while another one held it", self.ledger.wrong)

    def test_done_twice(self):
        self.ledger.taken({"id": "a", "token": "1"})
        self.settle()
        self.ledger.taken({"id": "a", "token": "2"})
        self.assertIn("though it was done", self.ledger.wrong)

    def test_a_holder_that_is_refused(self):
        self.ledger.taken({"id": "a", "token": "1"})
        self.settle(answer={"error": {"code": "lease_lost"}})
        self.assertIn("could not settle it", self.ledger.wrong)

    def test_growth(self):
        watch = soak.Watch()
        watch.memory = [100 << 20] * 20 + [300 << 20] * 10
        watch.files = [20] * 30
        self.assertIn("memory grows", watch.complaint())
        watch.memory = [100 << 20] * 30
        self.assertIsNone(watch.complaint())
        watch.files = [20] * 20 + [90] * 10
        self.assertIn("open files grow", watch.complaint())


if __name__ == "__main__":
    unittest.main()
