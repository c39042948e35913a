"""A stranger's path: the README, a worker in another language, TLS, handlers, a webhook.

    stranger_test.py BUILD COMPILER [-k PART_OF_A_NAME]

Installs what was built into an empty folder, and takes commands and code from the pages themselves.
"""

import argparse
import subprocess
import sys
import tempfile

from parallel_cases import all_pass, cases_of
from stranger_console import QueueNames
from stranger_handlers import Handlers
from stranger_home import Stranger
from stranger_readme import Readme
from stranger_tls import PrivateAuthority

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("compiler")
    parser.add_argument("-k", default="")
    given = parser.parse_args()
    cases = cases_of((Readme, QueueNames, PrivateAuthority, Handlers), given.k)
    if not cases:
        parser.error(f"no test has {given.k} in its name")
    with tempfile.TemporaryDirectory(prefix="millrace-stranger-") as prefix:
        subprocess.run(["cmake", "--install", given.build, "--prefix", prefix], check=True,
                       stdout=subprocess.DEVNULL)
        Stranger.prefix, Stranger.compiler = prefix, given.compiler
        passed = all_pass(cases)
    sys.exit(0 if passed else 1)
