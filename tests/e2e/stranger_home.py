"""What a stranger has: the installed program, the pages, an empty folder."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

from server_process import MORTAL, Server, clean_environment

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))


def page(path):
    with open(os.path.join(ROOT, path)) as file:
        return file.read()


def blocks(text, language):
    """The fenced blocks of a page in this language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def block_with(path, language, words):
    """The only block of the page that has these words."""
    [found] = [block for block in blocks(page(path), language) if words in block]
    return found


class Stranger(unittest.TestCase):
    """Each test has an empty folder, and finds the program in `prefix`/bin."""

    prefix = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="millrace-stranger-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.program = os.path.join(self.prefix, "bin", "millrace")

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text, mode=0o600):
        with open(self.path(name), "w") as file:
            file.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def read(self, name):
        with open(self.path(name)) as file:
            return file.read()

    def serve(self, *flags, **more):
        os.makedirs(self.path("server"))
        server = Server(self.program, self.path("server"), flags=flags, **more)
        self.addCleanup(server.end)
        return server

    def run_command(self, *command, environment=None, code=0, seconds=30):
        """What it prints, standard error included."""
        ran = subprocess.run([*MORTAL, *command], cwd=self.folder, timeout=seconds, text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, env=environment or clean_environment())
        self.assertEqual(ran.returncode, code, f"{command}\n{ran.stdout}")
        return ran.stdout

    def millrace(self, *words, **more):
        return self.run_command(self.program, *words, **more)
