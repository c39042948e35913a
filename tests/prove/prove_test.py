"""The table of ./dev prove tells the truth: what passed, what failed with what, what was not run."""

import contextlib
import io
import os
import signal
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import prove
import soak


def proof(name, outcome, share=1):
    def run(seconds, log):
        if callable(outcome):
            return outcome(seconds, log)
        return outcome
    return prove.Proof(name, "a proof", share, ("release",), run)


def prove_with(proofs, minutes="1", building=lambda preset, log: True):
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out):
        prove.LOGS = folder
        code = prove.main([minutes], proofs, building)
    return code, out.getvalue().rpartition("\n\n")[2]


GOOD = prove.Outcome(True, "5 things")
BAD = prove.Outcome(False, "3 things", "./dev sim --seed 17")


class ProveTest(unittest.TestCase):
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

    def test_an_interrupt_tells_what_was_not_run(self):
        def interrupted(seconds, log):
            os.kill(os.getpid(), signal.SIGINT)
            signal.pause()
        code, table = prove_with([proof("one", GOOD), proof("two", interrupted), proof("three", GOOD)])
        self.assertEqual(code, 130)
        self.assertRegex(table, r"one +5 things +0:00 +passed")
        self.assertRegex(table, r"two .*not run to its end")
        self.assertRegex(table, r"three +not run")

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

    def test_a_failing_seed_is_named(self):
        with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "log"), "w+") as log:
            command = lambda seed, count: (["sh", "-c", "echo replay with --seed=42; exit 1"], {})
            outcome = prove.repeated(command, 5, log, 10, "seeds",
                                     prove.failing_seed(r"replay with --seed=(\d+)", "again --seed={}"))
        self.assertEqual(outcome, prove.Outcome(False, "10 seeds", "again --seed=42"))

    def test_pieces_are_run_until_the_time_is_up(self):
        with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "log"), "w+") as log:
            outcome = prove.repeated(lambda seed, count: (["true"], {}), 0.5, log, 10, "seeds", None)
        self.assertTrue(outcome.good)
        self.assertGreater(int(outcome.ran.split()[0]), 10)


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
