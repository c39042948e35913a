"""./dev prove: the long proofs, one after the other, and one table at the end.

    prove.py [MINUTES] [PROOF...]

The time (60 minutes) is divided by what a minute of each proof is worth; what one does not need goes to those after
it. Building is not counted. Output of each goes to build/prove/NAME.log, that of a build to build-PRESET.log. Fails
if any proof fails.
"""

import dataclasses
import os
import platform
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOGS = os.path.join(ROOT, "build", "prove")
GRACE = 300  # seconds that a program may need beyond its time; then it hangs
TEST_GRACE = 660  # longer than the limit of nearly every test, so that ctest itself ends one that hangs
BUILD_LIMIT = 3 * 3600


@dataclasses.dataclass
class Outcome:
    good: bool
    ran: str  # "412 of 2731 tests"
    failure: str = ""  # what failed, and how it is run again


@dataclasses.dataclass
class Proof:
    name: str
    about: str
    share: float
    presets: tuple  # to be built before
    run: object  # (seconds, log) -> Outcome


class Interrupted(BaseException):  # no proof takes it for a failure of its own
    pass


def jobs():
    return os.environ.get("MILLRACE_JOBS") or str(os.cpu_count())


def unshuffled():
    """Sanitizers map their shadow at fixed addresses, which a kernel with much randomisation may have used."""
    prefix = ["setarch", platform.machine(), "-R"]
    works = shutil.which("setarch") and subprocess.run(prefix + ["true"], capture_output=True).returncode == 0
    return prefix if works else []


def run(command, log, seconds, cwd=ROOT, environment=None, more=None):
    """(exit code, output); exit code None: its time was up, and it was told to stop.

    When the time is up, more(output) is asked as often as need be whether the program may go on.
    """
    log.write(f"$ {' '.join(command)}\n")
    log.flush()
    start = log.tell()
    process = subprocess.Popen(command, cwd=cwd, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                               env={**os.environ, **(environment or {})})
    code = None
    try:
        code = wait(process, seconds)
        while code is None and more and more(written(log, start)):
            code = wait(process, 0.5)
    finally:
        if process.poll() is None:
            end_group(process)
    log.seek(0, os.SEEK_END)
    return code, written(log, start)


def wait(process, seconds):
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return None


def written(log, start):
    with open(log.name, errors="replace") as file:
        file.seek(start)
        return file.read()


def end_group(process):
    """Ends it and what it started. Signals wait so long: an interrupt here would leave the group running."""
    signals = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        for number, patience in ((signal.SIGINT, 20), (signal.SIGKILL, 20)):
            os.killpg(process.pid, number)
            if wait(process, patience) is not None:
                return
    except ProcessLookupError:
        return
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)


def ending(code):
    return "did not end in its time" if code is None else f"ended with {code}"


# ---- Tests under sanitizers ----------------------------------------------------------------------


def tests(preset):
    def prove(seconds, log):
        # In another order each time: where the time does not suffice for all, others are left out.
        command = unshuffled() + ["ctest", "-j", jobs(), "--output-on-failure", "--schedule-random"]
        unfinished = Unfinished(TEST_GRACE)
        code, output = run(command, log, seconds, cwd=os.path.join(ROOT, "build", preset), more=unfinished)
        return tests_outcome(code, output, preset, unfinished.names)
    return prove


class Unfinished:
    """The tests that were at work when the time was up. They are waited for: one that hangs runs into its limit."""

    def __init__(self, most_seconds):
        self.most_seconds, self.end = most_seconds, None
        self.names = set()

    def __call__(self, output):
        if self.end is None:
            self.end = time.monotonic() + self.most_seconds
            self.names = set(re.findall(r"^ *Start +\d+: (\S+)", output, re.M))
        self.names -= {name for _, name, _ in finished_tests(output)}
        return bool(self.names) and time.monotonic() < self.end


def finished_tests(output):
    return re.findall(r"^ *\d+/(\d+) Test +#\d+: (\S+) \.*\s*(.*)$", output, re.M)


def tests_outcome(code, output, preset, unfinished=()):
    lines = finished_tests(output)
    fine = re.compile(r"Passed|\*\*\*Skipped|\*\*\*Not Run \(Disabled\)")
    failed = sorted({name for _, name, how in lines if not fine.match(how)})
    failed += [f"{name} (hangs)" for name in sorted(unfinished)]
    ran = f"{len(lines)} of {lines[0][0]} tests" if lines else "no test"
    if failed:
        more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
        return Outcome(False, ran, f"{', '.join(failed[:3])}{more}; ./dev {preset} NAME")
    if not lines or code not in (0, None):
        return Outcome(False, ran, "ctest " + ending(code))
    return Outcome(True, ran)


# ---- Fuzzers -------------------------------------------------------------------------------------


def fuzzers():
    with open(os.path.join(ROOT, "tests", "fuzz", "CMakeLists.txt")) as file:
        return re.findall(r"^millrace_fuzzer\((\w+)", file.read(), re.M)


def fuzz(seconds, log):
    names, runs, failures = fuzzers(), 0, []
    each = max(1, int(seconds / len(names)))
    for name in names:
        found = os.path.join(ROOT, "build", "fuzz", "corpus", name)
        seeds = os.path.join(ROOT, "tests", "fuzz", "corpus", name)
        os.makedirs(found, exist_ok=True)
        command = unshuffled() + [
            f"build/fuzz/fuzz/{name}_fuzz", f"-max_total_time={each}", "-timeout=10", "-print_final_stats=1",
            f"-artifact_prefix=build/fuzz/{name}-", found] + ([seeds] if os.path.isdir(seeds) else [])
        code, output = run(command, log, each + GRACE)
        counted = re.search(r"stat::number_of_executed_units: +(\d+)", output)
        runs += int(counted.group(1)) if counted else 0
        if code != 0:
            unit = re.search(r"Test unit written to (\S+)", output)
            failures.append(f"build/fuzz/fuzz/{name}_fuzz {unit.group(1)}" if unit else f"{name} {ending(code)}")
    return Outcome(not failures, f"{runs} inputs in {len(names)} fuzzers", "; ".join(failures))


# ---- Random histories ----------------------------------------------------------------------------


def repeated(command_for, seconds, log, count, noun, failure, least=1):
    """Runs pieces until the time is up. Pieces grow or shrink so that each takes a tenth of the time."""
    begin, total, first = time.monotonic(), 0, random.SystemRandom().randrange(1, 10**9)
    while True:
        left = seconds - (time.monotonic() - begin)
        if left <= 0 and total > 0:
            return Outcome(True, f"{total} {noun}")
        command, environment = command_for(first + total, count)
        piece = time.monotonic()
        code, output = run(command, log, max(left, 0) + GRACE, environment=environment)
        if code != 0:
            return Outcome(False, f"{total + count} {noun}", failure(output, code, count))
        total += count
        took = max(time.monotonic() - piece, 0.01)
        count = max(least, int(count * min(4.0, min(seconds / 10, max(left - took, 0.01)) / took)))


def failing_seed(pattern, again):
    def find(output, code, count):
        found = re.search(pattern, output)
        return again.format(found.group(1), count=count) if found else ending(code)
    return find


def simulate(seconds, log):
    return repeated(lambda seed, count: (["build/release/tests/sim/sim", "--seed", str(seed), "--seeds", str(count)], {}),
                    seconds, log, 50, "histories",
                    failing_seed(r"replay with (\./dev sim --seed \d+)", "{}"))


def compare(program):
    def prove(seconds, log):
        path = f"build/release/tests/random/{program}"
        # That the generator finds defects is a test with seeds of its own, not a proof.
        return repeated(lambda seed, count: ([path, "--gtest_filter=-*RandomDefect*"],
                                             {"MILLRACE_SEED": str(seed), "MILLRACE_SEEDS": str(count)}),
                        seconds, log, 20, "sequences for each store",
                        failing_seed(r"replay with --seed=(\d+)", path + " --seed={}"))
    return prove


def crash(seconds, log):
    path = "build/release/tests/crash/crash_test"
    # Some lives end before anything is done: a piece of a few kills would have nothing to show.
    return repeated(lambda _, count: ([path, f"--kills={count}"], {}), seconds, log, 4, "kills each",
                    failing_seed(r"\[  FAILED  \] ([^\s,]+)", path + " --kills={count} --gtest_filter={}; "
                                 "the lives are told in build/prove/crash.log"), least=4)


def against_a_server(name, told):
    """A script that starts a server, says at the end what it did in a line with `told`, and what was WRONG."""
    def prove(seconds, log):
        script = os.path.join(ROOT, "tests", "prove", name + ".py")
        code, output = run([sys.executable, "-B", script, "build/release/millrace", str(int(seconds))], log,
                           seconds + GRACE)
        ran = re.search(rf"^(\d+ {told}.*)$", output, re.M)
        wrong = re.search(r"^WRONG: (.*)$", output, re.M)
        return Outcome(code == 0, ran.group(1) if ran else "nothing",
                       "" if code == 0 else wrong.group(1) if wrong else ending(code))
    return prove


PROOFS = [
    Proof("asan", "tests, address and undefined-behaviour sanitizers", 20, ("asan",), tests("asan")),
    Proof("tsan", "tests, thread sanitizer", 22, ("tsan",), tests("tsan")),
    Proof("fuzz", "random input to everything that parses", 14, ("fuzz",), fuzz),
    Proof("sim", "random histories with crashes, torn writes and full disks", 10, ("release",), simulate),
    Proof("crash", "a process under load, killed again and again", 8, ("release",), crash),
    Proof("random", "random calls, memory against a model, the journal against memory", 6, ("release",),
          compare("random_test")),
    Proof("postgres", "random calls, PostgreSQL against memory", 6, ("release",), compare("random_postgres_test")),
    Proof("contract", "random requests made from the OpenAPI document, against a server", 4, ("release",),
          against_a_server("contract", "requests to")),
    Proof("soak", "a server under load with a ledger; memory and files", 10, ("release",),
          against_a_server("soak", "tasks put")),
]


# ---- One after the other -------------------------------------------------------------------------


@dataclasses.dataclass
class Row:
    proof: Proof
    outcome: Outcome = None  # None: it was not run
    took: float = 0


def build(preset, log):
    code, _ = run(["./dev", "build", preset], log, BUILD_LIMIT)
    return code == 0


def built(preset, building):
    """"", or why there is nothing to run."""
    with open(os.path.join(LOGS, f"build-{preset}.log"), "w+") as log:
        return "" if building(preset, log) else f"it does not build; see {os.path.relpath(log.name, ROOT)}"


def prove_all(rows, seconds, building=build):
    """Fills in the rows; an interrupt leaves the rest as they are."""
    missing = {}  # preset -> why it is
    for at, row in enumerate(rows):
        proof = row.proof
        print(f"==> {proof.name}: {proof.about}", flush=True)
        used = sum(each.took for each in rows)
        shares = sum(each.proof.share for each in rows[at:])
        try:
            for preset in proof.presets:
                if preset not in missing:
                    missing[preset] = built(preset, building)
            failures = [missing[preset] for preset in proof.presets if missing[preset]]
            row.outcome = (Outcome(False, "nothing", failures[0]) if failures else
                           prove_one(row, max(1.0, (seconds - used) * proof.share / shares)))
        except Exception as error:
            traceback.print_exc(file=sys.stdout)
            row.outcome = Outcome(False, "nothing", f"the proof itself broke: {error!r}")
        result = "passed" if row.outcome.good else f"FAILED: {row.outcome.failure}"
        print(f"    {row.outcome.ran}, {result}", flush=True)


def prove_one(row, seconds):
    begin = time.monotonic()
    try:
        with open(os.path.join(LOGS, row.proof.name + ".log"), "w+") as log:
            return row.proof.run(seconds, log)
    finally:
        row.took = time.monotonic() - begin


def table(rows):
    cells = [("proof", "what ran", "time", "result")]
    for row in rows:
        if row.outcome is None:
            cells.append((row.proof.name, "", duration(row.took) if row.took else "", "not run to its end"
                          if row.took else "not run"))
        else:
            cells.append((row.proof.name, row.outcome.ran, duration(row.took),
                          "passed" if row.outcome.good else f"FAILED: {row.outcome.failure}"))
    widths = [max(len(line[i]) for line in cells) for i in range(3)]
    return "\n".join("  ".join([line[i].ljust(widths[i]) for i in range(3)] + [line[3]]).rstrip() for line in cells)


def duration(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def chosen(arguments):
    minutes = 60.0
    if arguments and re.fullmatch(r"\d+(\.\d+)?", arguments[0]):
        minutes = float(arguments.pop(0))
    known = {proof.name: proof for proof in PROOFS}
    for name in arguments:
        if name not in known:
            raise SystemExit(f"there is no proof '{name}'; there are: {' '.join(known)}")
    return minutes, [proof for proof in PROOFS if not arguments or proof.name in arguments]


def interrupt(*_):
    for number in (signal.SIGINT, signal.SIGTERM):  # another one would come in the middle of the end
        signal.signal(number, signal.SIG_IGN)
    raise Interrupted


def main(arguments, proofs=None, building=build):
    if proofs is None:
        minutes, proofs = chosen(arguments)
    else:
        minutes = float(arguments[0])
    os.makedirs(LOGS, exist_ok=True)
    rows = [Row(proof) for proof in proofs]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    interrupted = False
    try:
        prove_all(rows, minutes * 60, building)
    except Interrupted:
        interrupted = True
    print()
    if interrupted:
        print("Interrupted.")
    print(table(rows))
    if interrupted:
        return 130
    return 0 if all(row.outcome and row.outcome.good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
