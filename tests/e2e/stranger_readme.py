"""README.md from the top, with its own commands, on a terminal."""

import errno
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
import urllib.request

from server_process import MORTAL, clean_environment
from stranger_home import Stranger, blocks, page

ADDRESS = "127.0.0.1:7070"
TASK_ID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"

# What the comments of README.md say, and how it looks.
CLAIMS = {
    "completed, with its result and its log line":
        [r"^state +completed$", r'^Result\n  "sent"$', r'^Log\n  \S+  \{"to":"ann@example.com"\}$'],
}
# What commands print that have no comment.
PRINTS = {
    "PATH=": [r"\A\Z"],
    "ID=": [r"\A\Z"],
    "millrace work ": [r'^\{"to":"ann@example.com"\}$', rf"^done +emails +{TASK_ID} +\d+ ms$"],
    "millrace queues": [r"^QUEUE +READY +RUNNING", r"^emails +0 +0 +0 +0 "],
    "/v1/queues/emails/tasks": [r'"state":"queued"'],
    "/v1/take": [r'^\{"tasks":\[.*"queue":"emails","payload":\{"to":"ann@example.com"\}'],
}


def commands_in(text):
    """(command, comment) of each line of the sh blocks."""
    lines = "".join(blocks(text, "sh")).splitlines()
    parts = [re.fullmatch(r"(.*?)(?:\s+# (.*))?", line).groups() for line in lines if line]
    return [(command, comment or "") for command, comment in parts]


def on_a_terminal(command, seconds, **more):
    """What a command prints on a terminal, and its exit code."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    process = subprocess.Popen([*MORTAL, *command], stdin=its, stdout=its, stderr=its, **more)
    os.close(its)
    printed, limit = b"", time.monotonic() + seconds
    try:
        while select.select([ours], [], [], max(0, limit - time.monotonic()))[0]:
            printed += os.read(ours, 65536)
    except OSError as error:
        if error.errno != errno.EIO:  # EIO: the command has closed the terminal
            raise
    finally:
        os.close(ours)
        if time.monotonic() > limit:
            process.kill()
    text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", printed.decode()).replace("\r\n", "\n")
    return text, process.wait(seconds)


class Readme(Stranger):
    def script_of(self, commands, server):
        """Each command as it stands, behind a line that counts."""
        lines = [f"export MILLRACE_URL={server.url}"]
        for number, (command, _) in enumerate(commands):
            lines += [f"echo @@@{number}", command.replace(f"http://{ADDRESS}", server.url), "echo"]
        return self.write("script.sh", "\n".join([*lines, "echo @@@end", ""]))

    def test_its_commands_do_what_it_says(self):
        commands = commands_in(page("README.md"))
        self.assertEqual([command for command, _ in commands[:2]], ["./dev run", "./dev test"])
        commands = commands[2:]
        self.assertGreaterEqual(len(commands), 7)
        server = self.serve()
        # "PATH=$PWD/build/release:$PATH" finds the installed program, and only that line does.
        os.makedirs(self.path("build"))
        os.symlink(os.path.join(self.prefix, "bin"), self.path("build", "release"))
        script = self.script_of(commands, server)
        environment = clean_environment(PATH="/usr/bin:/bin", HOME=self.folder, TERM="xterm")
        printed, code = on_a_terminal(["/bin/bash", "--norc", script], 30, cwd=self.folder,
                                      env=environment)
        self.assertEqual(code, 0, printed)
        self.assertIn("@@@end", printed)
        for number, (command, comment) in enumerate(commands):
            output = re.search(rf"^@@@{number}\n(.*?)^@@@", printed, re.M | re.S).group(1).strip()
            for pattern in self.patterns_of(command, comment):
                self.assertRegex(output, re.compile(pattern, re.M), f"{command}\n{printed}")

    def patterns_of(self, command, comment):
        if comment:
            self.assertIn(comment, CLAIMS, "a claim of README.md that this test cannot check")
            return CLAIMS[comment]
        known = [patterns for begin, patterns in PRINTS.items() if begin in command]
        self.assertEqual(len(known), 1, f"a command of README.md that is new here: {command}")
        return known[0]

    def test_the_server_is_what_it_says(self):
        [(command, comment), *_] = commands_in(page("README.md"))
        self.assertEqual((command, comment),
                         ("./dev run", "builds Millrace and serves ./data on "
                          f"{ADDRESS}; prints curl commands to paste"))
        settings = self.millrace("config")
        self.assertRegex(settings, rf"(?m)^listen +{ADDRESS} +default$")
        self.assertRegex(settings, r"(?m)^store +\./data +default$")
        server = self.serve()
        self.assertEqual(server.said().count("\n  curl -sS "), 4)
        browser = urllib.request.Request(server.url, headers={"Accept": "text/html"})
        with urllib.request.urlopen(browser) as answer:
            self.assertEqual(answer.headers.get_content_type(), "text/html")

    def test_its_flags_are_those_of_serve(self):
        [flags] = re.findall(r"`\./dev run (--[^`]+)`", page("README.md"))
        server = self.serve(*flags.split())
        self.assertEqual(server.ask("/v1/server")["store"]["name"], "memory")

    def test_work_shows_what_it_does_without_a_terminal_too(self):
        server = self.serve()
        environment = clean_environment(MILLRACE_URL=server.url)
        self.millrace("put", "emails", '{"to":"ann@example.com"}', environment=environment)
        said = self.millrace("work", "emails", "--until-empty", "-v", "--", "sh", "-c", "cat >&2",
                             environment=environment)
        self.assertIn('\n{"to":"ann@example.com"}\n', said)
        self.assertRegex(said, rf"(?m)^done +emails +{TASK_ID} +\d+ ms$")

    def test_its_program_compiles(self):
        [program] = blocks(page("README.md"), "cpp")
        before = ("#include <millrace/app.h>\n#include <iostream>\n"
                  "using namespace std::chrono_literals;\n"
                  "struct Email;\nvoid send(const Email&);\n")
        source = self.write("readme.cc", before + program)
        self.run_command(self.compiler, "-std=c++23", "-fsyntax-only", "-Wall", "-Wextra",
                         "-Werror", "-I", os.path.join(self.prefix, "include"), source)

    def test_the_changelog_begins_with_the_version(self):
        releases = re.findall(r"^## (\S+) – \d{4}-\d\d-\d\d$", page("CHANGELOG.md"), re.M)
        self.assertEqual(self.millrace("--version"), f"millrace {releases[0]}\n")

    def test_the_russian_page_has_the_same_commands(self):
        english, russian = ([command for command, _ in commands_in(page(name))]
                            for name in ("README.md", "README.ru.md"))
        self.assertEqual(english, russian)
        code = [re.sub(r" *//.*", "", blocks(page(name), "cpp")[0])
                for name in ("README.md", "README.ru.md")]
        self.assertEqual(*code)
