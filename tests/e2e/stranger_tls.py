"""A server with a certificate of a private authority, and clients in three languages with a key."""

import os
import re
import signal
import subprocess
import sys

from server_process import MORTAL, clean_environment, until
from stranger_home import ROOT, Stranger, page

ADMIN_KEY = "a" * 40
TASK = '{"to":"ann@example.com"}'


def ways_to_trust(client):
    """The code spans of the row of docs/operating.md for a client, with `ca.pem` as the file."""
    [row] = re.findall(rf"^\| {client} \| (.*) \|$", page("docs/operating.md"), re.M)
    return re.findall(r"`([^`]+)`", row)


class PrivateAuthority(Stranger):
    def setUp(self):
        super().setUp()
        self.make_authority("ca")
        self.make_authority("wrong")
        self.make_certificate()
        self.server = self.serve("--tls-certificate", self.path("server.pem"),
                                 "--tls-key", self.path("server.key"),
                                 key=ADMIN_KEY, ca_file=self.path("ca.pem"))
        ca = ("--ca-file", self.path("ca.pem"))
        key = self.millrace("keys", "create", "--name", "mail", "--scope", "put,work,read",
                            "--queue", "emails", *ca, environment=self.variables(key=ADMIN_KEY))
        self.key = re.search(r"^mr_\S+$", key, re.M).group()

    def openssl(self, *words):
        self.run_command("openssl", *words)

    def make_authority(self, name):
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                     "-nodes", "-days", "2", "-subj", f"/CN=Authority {name}",
                     "-addext", "basicConstraints=critical,CA:TRUE",
                     "-keyout", f"{name}.key", "-out", f"{name}.pem")

    def make_certificate(self):
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                     "-subj", "/CN=127.0.0.1", "-keyout", "server.key", "-out", "server.csr")
        self.write("names", "subjectAltName=IP:127.0.0.1\n")
        self.openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                     "-CAcreateserial", "-days", "2", "-extfile", "names", "-out", "server.pem")

    def variables(self, key=None, **more):
        return clean_environment(MILLRACE_URL=self.server.url, MILLRACE_KEY=key or self.key, **more)

    def put(self):
        return self.server.ask("/v1/queues/emails/tasks", {"payload": {"to": "a@b.c"}})["id"]

    def assert_completed(self, task):
        self.assertEqual(self.server.ask(f"/v1/tasks/{task}?wait=20s")["state"], "completed")

    # ---- The console ----

    def test_the_console_trusts_it_in_every_documented_way(self):
        ways = ways_to_trust("every command of the console, `millrace work`")
        self.assertEqual(ways, ["--ca-file ca.pem", "MILLRACE_CA_FILE", "SSL_CERT_FILE"])
        self.millrace("put", "emails", TASK, *ways[0].split(), environment=self.variables())
        for variable in ways[1:]:
            trusting = self.variables(**{variable: self.path("ca.pem")})
            self.millrace("put", "emails", TASK, environment=trusting)
        self.assertEqual(self.server.ask("/v1/queues/emails")["counts"]["ready"], 3)
        self.write("mail.key", self.key)
        said = self.millrace("work", "emails", "--until-empty", "-v", "--ca-file", "ca.pem",
                             "--key-file", "mail.key", "--", "cat",
                             environment=clean_environment(MILLRACE_URL=self.server.url))
        self.assertEqual(len(re.findall(r"(?m)^done +emails", said)), 3, said)

    def test_an_authority_that_is_wrong_or_missing_gives_the_hint(self):
        trusts = ({"MILLRACE_CA_FILE": self.path("wrong.pem")}, {})
        for trust in trusts:
            for words in (["put", "emails", TASK], ["queues"]):
                said = self.millrace(*words, environment=self.variables(**trust), code=6)
                self.assertIn("cannot be trusted", said)
                for way in ("--ca-file", "MILLRACE_CA_FILE"):
                    self.assertIn(way, said)
        self.assertEqual(self.server.ask("/v1/queues")["queues"], [])

    def test_an_authority_without_a_key_is_not_enough(self):
        trusting = clean_environment(MILLRACE_URL=self.server.url)
        said = self.millrace("put", "emails", TASK, "--ca-file", "ca.pem", code=7,
                             environment=trusting)
        self.assertIn("MILLRACE_KEY", said)

    def test_the_steps_that_the_server_prints_work(self):
        steps = self.server.said().split("Or with this program:\n")[1].split("Or watch it")[0]
        self.assertEqual(steps.count("millrace "), 2, steps)
        script = self.write("steps.sh", f"set -e\nCA=ca.pem KEY={self.key}\n{steps}")
        found = clean_environment(PATH=f"{self.prefix}/bin:/usr/bin:/bin")
        self.assertRegex(self.run_command("bash", "--norc", script, environment=found),
                         r"(?m)^emails +1 ")

    # ---- curl and the example workers ----

    def test_other_clients_trust_it_in_the_documented_ways(self):
        curl, python, node = ways_to_trust("curl, Python, Node")
        answer = self.run_command(*curl.split(), "-sS", f"{self.server.url}/v1/queues", "-H",
                                  f"Authorization: Bearer {self.key}")
        self.assertIn('"queues":', answer)
        for way, worker in ((python, self.python_worker), (node, self.node_worker)):
            task = self.put()
            variable, file = way.split("=")
            self.run_command(*worker(), "emails", "--until-empty",
                             environment=self.variables(**{variable: self.path(file)}))
            self.assert_completed(task)

    def test_the_example_workers_name_the_certificate_that_they_do_not_trust(self):
        for worker in (self.python_worker, self.node_worker):
            errors = self.path("errors")
            with open(errors, "w") as file:
                process = subprocess.Popen([*MORTAL, *worker(), "emails"], stderr=file,
                                           env=self.variables(SSL_CERT_FILE=self.path("wrong.pem")))
            self.addCleanup(process.kill)
            until("a word about the certificate", lambda: "certificate" in self.read("errors"))
            self.assertIn("the server is away", self.read("errors"))
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(20), 0)

    def python_worker(self):
        return [sys.executable, os.path.join(ROOT, "examples/python/worker.py")]

    def node_worker(self):
        return ["node", os.path.join(ROOT, "examples/node/worker.mjs")]
