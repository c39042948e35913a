"""The server keeps what its OpenAPI document says: random requests, good and bad ones, with all checks of schemathesis.

    contract.py PROGRAM SECONDS [SEED]

schemathesis is installed into build/prove, once. contract_hooks.py says what the document cannot say in schemas, and
contract_accepted.tsv lists the findings that are accepted, each with its reason; any other finding is a failure.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True  # nothing made by a program is left among the sources
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
from server_process import Server

VERSION = "4.32.5"
TOOL = os.path.join(ROOT, "build", "prove", f"schemathesis-{VERSION}")
KEY = "k" * 40
ANSWER_SECONDS = 20  # then a request hangs


def install():
    """Once; fails with the words of pip."""
    if os.path.exists(TOOL):
        return
    fresh = TOOL + "-new"  # an install that was interrupted is not taken for a whole one
    shutil.rmtree(fresh, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", fresh], check=True)
    subprocess.run([os.path.join(fresh, "bin", "pip"), "install", "--quiet", f"schemathesis=={VERSION}"], check=True)
    os.rename(fresh, TOOL)


def command(address, seconds, seed, report):
    url = f"http://{address}"
    # By its module: the scripts in a moved environment name the folder that they were made in.
    return [os.path.join(TOOL, "bin", "python"), "-m", "schemathesis.cli", "run", f"{url}/openapi.json", "--url", url,
            "--header", f"Authorization: Bearer {KEY}", "--checks", "all", "--max-time", str(max(1, int(seconds))),
            "--seed", str(seed), "--continue-on-failure", "--no-color", "--output-truncate", "false",
            "--generation-database", "none", "--suppress-health-check", "all", "--warnings", "off",
            "--request-timeout", str(ANSWER_SECONDS), "--report", "json", "--report-json-path", report]


def verdict(report, code):
    """(what ran, what was wrong or "")"""
    cases, operations = report["test_cases"]["generated"], report["operations"] or {}
    ran = f"{cases} requests to {operations.get('tested', 0)} of {operations.get('total', 0)} operations"
    wrong = [f"{each['title']}: {', '.join(each['operations'])}" for each in report["failures"]]
    wrong += [f"{each['title']} ({each['count']})" for each in report["errors"]]
    if not operations.get("tested"):
        wrong.append("nothing was tried")
    if code != 0 and not wrong:
        wrong.append(f"schemathesis ended with {code}")
    return ran, "; ".join(wrong)


def prove(program, seconds, seed, folder):
    install()
    server = Server(program, folder, key=KEY, flags=("--log-level", "error"))
    report = os.path.join(folder, "report.json")
    try:
        environment = dict(os.environ, SCHEMATHESIS_HOOKS=os.path.join(HERE, "contract_hooks.py"), PYTHONDONTWRITEBYTECODE="1")
        code = subprocess.run(command(server.address, seconds, seed, report), env=environment, cwd=folder).returncode
        if server.process.poll() is not None:
            print(f"WRONG: the server has ended with {server.process.returncode}; seed {seed}")
            return 1
    finally:
        server.end()
    with open(report) as file:
        ran, wrong = verdict(json.load(file), code)
    print(ran)
    if wrong:
        print(f"WRONG: {wrong}; seed {seed}")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    its_seed = int(sys.argv[3]) if len(sys.argv) == 4 else random.SystemRandom().randrange(1, 10**9)
    with tempfile.TemporaryDirectory(prefix="millrace-contract-") as its_folder:
        sys.exit(prove(sys.argv[1], float(sys.argv[2]), its_seed, its_folder))
