"""Handlers of the settings and a webhook, as docs/workers.md and docs/callbacks.md show them."""

import base64
import hashlib
import http.server
import json
import os
import queue
import subprocess
import threading

from server_process import MORTAL
from stranger_home import Stranger, block_with

THUMBNAIL = {"file": "cat.png"}
EMAIL = {"to": "ann@example.org"}


def secret(name):
    """As `echo whsec_$(openssl rand -base64 32)` makes one."""
    return "whsec_" + base64.b64encode(hashlib.sha256(name.encode()).digest()).decode()


class Receiver:
    """Keeps the requests it gets, and answers 200 with `{"sent":true}`."""

    def __init__(self):
        requests = self.requests = queue.Queue()

        class Keep(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                requests.put((self.path, self.headers, body))
                self.send_response(200)
                self.send_header("Content-Length", "13")
                self.end_headers()
                self.wfile.write(b'{"sent":true}')

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Keep)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def next(self):
        return self.requests.get(timeout=20)

    def end(self):
        self.server.shutdown()
        self.server.server_close()


class Handlers(Stranger):
    def setUp(self):
        super().setUp()
        self.receiver = Receiver()
        self.addCleanup(self.receiver.end)

    def serve_settings(self, text):
        return self.serve("--config", self.write("millrace.toml", text), "--processes", "1")

    def documented_handlers(self):
        """The settings of docs/workers.md, with addresses and folders of this machine."""
        text = block_with("docs/workers.md", "toml", "[handlers.thumbnails]")
        for there, here in (("/srv/thumbnails", self.folder), ("/etc/millrace", self.folder),
                            ("https://mail.example.com", self.receiver.url),
                            ("10.1.0.0/16", "127.0.0.0/8")):
            self.assertIn(there, text)
            text = text.replace(there, here)
        return text

    def finished(self, server, task):
        return server.ask(f"/v1/tasks/{task}?wait=20s")

    def put(self, server, queue_name, payload, **more):
        return server.ask("/v1/tasks", {"queue": queue_name, "payload": payload, **more})["id"]

    # ---- Signatures, with the code of the docs ----

    def verify_in_python(self, key, headers, body):
        names = {}
        exec(block_with("docs/callbacks.md", "python", "def verify"), names)
        return names["verify"](key, headers, body)

    def verify_in_node(self, key, headers, body):
        self.write("verify.mjs", block_with("docs/callbacks.md", "js", "function verify"))
        self.write("run.mjs", """
            import { readFileSync } from 'node:fs';
            import { verify } from './verify.mjs';
            const { key, headers } = JSON.parse(process.argv[2]);
            console.log(verify(key, headers, readFileSync(0)));
        """)
        lower = {name.lower(): value for name, value in headers.items()}  # as Node has them
        given = json.dumps({"key": key, "headers": lower})
        ran = subprocess.run([*MORTAL, "node", "run.mjs", given], cwd=self.folder, input=body,
                             capture_output=True, timeout=20)
        self.assertEqual((ran.returncode, ran.stderr), (0, b""))
        return ran.stdout == b"true\n"

    def assert_signed(self, key, headers, body):
        for verify in (self.verify_in_python, self.verify_in_node):
            self.assertTrue(verify(key, headers, body))
            self.assertFalse(verify(key, headers, body + b" "))
            self.assertFalse(verify(secret("another"), headers, body))

    # ---- What strangers do ----

    def test_the_handlers_of_the_docs(self):
        self.write("thumbnail.py", block_with("docs/workers.md", "python", '"resizing"'))
        self.write("emails.secret", secret("emails") + "\n")
        self.write("emails.token", "Bearer t0ken\n")
        server = self.serve_settings(self.documented_handlers())
        thumbnail = self.finished(server, self.put(server, "thumbnails", THUMBNAIL))
        self.assertEqual((thumbnail["state"], thumbnail.get("result")),
                         ("completed", {"width": 200}), thumbnail)
        self.assertEqual(thumbnail["progress"], 50)
        log = server.ask(f"/v1/tasks/{thumbnail['id']}/log")
        self.assertEqual([line["text"] for line in log["log"]], ["resizing cat.png"])

        email = self.finished(server, self.put(server, "shop.emails", EMAIL, type="welcome"))
        self.assertEqual((email["state"], email.get("result")), ("completed", {"sent": True}))
        path, headers, body = self.receiver.next()
        self.assertEqual((path, json.loads(body)), ("/send", EMAIL))
        self.assertEqual((headers["Authorization"], headers["X-Team"]), ("Bearer t0ken", "mail"))
        self.assertEqual((headers["X-Task-ID"], headers["X-Task-Type"]), (email["id"], "welcome"))
        self.assertEqual(headers["webhook-id"], email["id"])
        self.assert_signed(secret("emails"), headers, body)

    def test_a_webhook_is_received_and_verified(self):
        server = self.serve_settings(f"""
            [webhooks]
            secret = "{secret("hooks")}"
            allow_private = "127.0.0.0/8"
            [handlers.emails]
            exec = ["sh", "-c", "echo '{{\\"sent\\":true}}'"]
        """)
        documented = block_with("docs/callbacks.md", "sh", '"callback":')
        given = json.loads(documented[documented.index("-d '") + 4:documented.rindex("'")])
        given["callback"]["url"] = f"{self.receiver.url}/hook"
        task = self.finished(server, server.ask("/v1/tasks", given)["id"])
        path, headers, body = self.receiver.next()
        self.assertEqual(path, "/hook")
        self.assertEqual(json.loads(body), {"status": "completed", "taskId": task["id"],
                                            "result": {"sent": True}})
        self.assertEqual((headers["X-Task-ID"], headers["X-Task-State"]), (task["id"], "completed"))
        self.assert_signed(secret("hooks"), headers, body)

    def test_a_handler_whose_folder_is_missing_is_reported_at_the_start(self):
        settings = self.documented_handlers().replace(self.folder, os.path.join(self.folder, "no"))
        file = self.write("millrace.toml", settings)
        said = self.millrace("serve", "--listen", "127.0.0.1:0", "--config", file, code=2)
        for part in (f"{file}:2: handlers.thumbnails: ", "handlers.shop.emails: ", "emails.token"):
            self.assertIn(part, said)
