"""./dev prove: the long proofs, one after the other, and one table at the end.

    prove.py [MINUTES] [PROOF...]

The time (60 minutes) is divided by what a minute of each proof is worth; what one does not need goes to those after
it. Building is not counted. Output of each goes to build/prove/NAME.log. Fails if any proof fails.
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

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOGS = os.path.join(ROOT, "build", "prove")


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


class Interrupted(Exception):
    pass


def jobs():
    return os.environ.get("MILLRACE_JOBS") or str(os.cpu_count())


def unshuffled():
    """Sanitizers map their shadow at fixed addresses, which a kernel with much randomisation may have used."""
    prefix = ["setarch", platform.machine(), "-R"]
    works = shutil.which("setarch") and subprocess.run(prefix + ["true"], capture_output=True).returncode == 0
    return prefix if works else []


def run(command, log, seconds=None, cwd=ROOT, environment=None):
    """(exit code, output); exit code None: its time was up, and it was told to stop."""
    log.write(f"$ {' '.join(command)}\n")
    log.flush()
    start = log.tell()
    process = subprocess.Popen(command, cwd=cwd, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
                               env={**os.environ, **(environment or {})})
    code = None
    try:
        code = process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        pass
    finally:
        if process.poll() is None:
            end_group(process)
    log.seek(0, os.SEEK_END)
    with open(log.name, errors="replace") as file:
        file.seek(start)
        return code, file.read()


def end_group(process):
    for number, patience in ((signal.SIGINT, 20), (signal.SIGKILL, 20)):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=patience)
            return
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            return


# ---- Tests under sanitizers ----------------------------------------------------------------------


def tests(preset):
    def prove(seconds, log):
        # In another order each time: where the time does not suffice for all, others are left out.
        command = unshuffled() + ["ctest", "-j", jobs(), "--timeout", "120", "--output-on-failure",
                                  "--schedule-random"]
        code, output = run(command, log, seconds, cwd=os.path.join(ROOT, "build", preset))
        return tests_outcome(code, output, preset)
    return prove


def tests_outcome(code, output, preset):
    lines = re.findall(r"^ *\d+/(\d+) Test +#\d+: (\S+) \.*\s*(.*)$", output, re.M)
    fine = re.compile(r"Passed|\*\*\*Skipped|\*\*\*Not Run \(Disabled\)")
    failed = sorted({name for _, name, how in lines if not fine.match(how)})
    ran = f"{len(lines)} of {lines[0][0]} tests" if lines else "no test"
    if failed:
        more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
        return Outcome(False, ran, f"{', '.join(failed[:3])}{more}; ./dev {preset} NAME")
    if not lines or code not in (0, None):
        return Outcome(False, ran, f"ctest ended with {code}")
    return Outcome(True, ran)


# ---- Fuzzers -------------------------------------------------------------------------------------


def fuzzers():
    with open(os.path.join(ROOT, "tests", "fuzz", "CMakeLists.txt")) as file:
        return re.findall(r"^millrace_fuzzer\((\w+)", file.read(), re.M)


def fuzz(seconds, log):
    names, runs = fuzzers(), 0
    each = max(1, int(seconds / len(names)))
    for name in names:
        found = os.path.join(ROOT, "build", "fuzz", "corpus", name)
        seeds = os.path.join(ROOT, "tests", "fuzz", "corpus", name)
        os.makedirs(found, exist_ok=True)
        command = unshuffled() + [
            f"build/fuzz/fuzz/{name}_fuzz", f"-max_total_time={each}", "-timeout=10", "-print_final_stats=1",
            f"-artifact_prefix=build/fuzz/{name}-", found] + ([seeds] if os.path.isdir(seeds) else [])
        code, output = run(command, log)
        counted = re.search(r"stat::number_of_executed_units: +(\d+)", output)
        runs += int(counted.group(1)) if counted else 0
        if code != 0:
            written = re.search(r"Test unit written to (\S+)", output)
            where = f"build/fuzz/fuzz/{name}_fuzz {written.group(1)}" if written else f"{name} ended with {code}"
            return Outcome(False, f"{runs} inputs", where)
    return Outcome(True, f"{runs} inputs in {len(names)} fuzzers")


# ---- Random histories ----------------------------------------------------------------------------


def repeated(command_for, seconds, log, count, noun, failure):
    """Runs pieces until the time is up. Pieces grow or shrink so that each takes a tenth of the time."""
    begin, total, first = time.monotonic(), 0, random.SystemRandom().randrange(1, 10**9)
    while True:
        left = seconds - (time.monotonic() - begin)
        if left <= 0 and total > 0:
            return Outcome(True, f"{total} {noun}")
        command, environment = command_for(first + total, count)
        piece = time.monotonic()
        code, output = run(command, log, environment=environment)
        if code != 0:
            return Outcome(False, f"{total + count} {noun}", failure(output, code))
        total += count
        took = max(time.monotonic() - piece, 0.01)
        count = max(1, int(count * min(4.0, min(seconds / 10, max(left - took, 0.01)) / took)))


def failing_seed(pattern, again):
    def find(output, code):
        found = re.search(pattern, output)
        return again.format(found.group(1)) if found else f"ended with {code}"
    return find


def simulate(seconds, log):
    return repeated(lambda seed, count: (["build/release/tests/sim/sim", "--seed", str(seed), "--seeds", str(count)], {}),
                    seconds, log, 50, "histories",
                    failing_seed(r"replay with (\./dev sim --seed \d+)", "{}"))


def compare(program):
    def prove(seconds, log):
        path = f"build/release/tests/random/{program}"
        return repeated(lambda seed, count: ([path], {"MILLRACE_SEED": str(seed), "MILLRACE_SEEDS": str(count)}),
                        seconds, log, 20, "sequences for each store",
                        failing_seed(r"replay with --seed=(\d+)", path + " --seed={}"))
    return prove


def crash(seconds, log):
    return repeated(lambda _, count: (["build/release/tests/crash/crash_test", f"--kills={count}"], {}),
                    seconds, log, 4, "kills each",
                    failing_seed(r"\[  FAILED  \] (\S+)", "{}; the lives are told in build/prove/crash.log"))


def soak(seconds, log):
    script = os.path.join(ROOT, "tests", "prove", "soak.py")
    code, output = run([sys.executable, script, "build/release/millrace", str(int(seconds))], log)
    ran = re.search(r"^(\d+ tasks put.*)$", output, re.M)
    wrong = re.search(r"^WRONG: (.*)$", output, re.M)
    return Outcome(code == 0, ran.group(1) if ran else "nothing",
                   "" if code == 0 else wrong.group(1) if wrong else f"ended with {code}")


PROOFS = [
    Proof("asan", "tests, address and undefined-behaviour sanitizers", 22, ("asan",), tests("asan")),
    Proof("tsan", "tests, thread sanitizer", 24, ("tsan",), tests("tsan")),
    Proof("fuzz", "random input to everything that parses", 14, ("fuzz",), fuzz),
    Proof("sim", "random histories with crashes, torn writes and full disks", 10, ("release",), simulate),
    Proof("crash", "a process under load, killed again and again", 8, ("release",), crash),
    Proof("random", "random calls, stores in memory and on disk against each other", 6, ("release",),
          compare("random_test")),
    Proof("postgres", "random calls, PostgreSQL against memory", 6, ("release",), compare("random_postgres_test")),
    Proof("soak", "a server under load with a ledger; memory and files", 10, ("release",), soak),
]


# ---- One after the other -------------------------------------------------------------------------


@dataclasses.dataclass
class Row:
    proof: Proof
    outcome: Outcome = None  # None: it was not run
    took: float = 0


def build(preset, log):
    code, _ = run(["./dev", "build", preset], log)
    return code == 0


def prove_all(rows, seconds, building=build):
    """Fills in the rows; an interrupt leaves the rest as they are."""
    built = {}
    for at, row in enumerate(rows):
        proof = row.proof
        print(f"==> {proof.name}: {proof.about}", flush=True)
        with open(os.path.join(LOGS, proof.name + ".log"), "w+") as log:
            for preset in proof.presets:
                if preset not in built:
                    built[preset] = building(preset, log)
            if not all(built[preset] for preset in proof.presets):
                row.outcome = Outcome(False, "nothing", f"it does not build; see {os.path.relpath(log.name, ROOT)}")
                continue
            used = sum(each.took for each in rows)
            shares = sum(each.proof.share for each in rows[at:])
            begin = time.monotonic()
            try:
                row.outcome = proof.run(max(1.0, (seconds - used) * proof.share / shares), log)
            finally:
                row.took = time.monotonic() - begin
        result = "passed" if row.outcome.good else f"FAILED: {row.outcome.failure}"
        print(f"    {row.outcome.ran}, {result}", flush=True)


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
    if arguments and re.fullmatch(r"[0-9.]+", arguments[0]):
        minutes = float(arguments.pop(0))
    known = {proof.name: proof for proof in PROOFS}
    for name in arguments:
        if name not in known:
            raise SystemExit(f"there is no proof '{name}'; there are: {' '.join(known)}")
    return minutes, [proof for proof in PROOFS if not arguments or proof.name in arguments]


def interrupt(*_):
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
