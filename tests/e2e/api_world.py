"""A server with things that a confined key may see, things that it may not, and internal ones; and raw requests to it."""

import contextlib
import dataclasses
import http.client
import itertools
import json
import re
import socket
import urllib.parse
import uuid

from server_process import Server, until
from operations import (BULK, KEY, LEASED, LEASE_TOKEN, NEW, NOTHING, OWN, QUEUE, QUEUE_NAME, QUEUE_REF, REF, SCHEDULE,
                        SIGN_IN, TASK, TASK_ID, TOKEN, WORKER)

ADMIN = "k" * 40
OWN_QUEUE, HIDDEN_QUEUE = "a.own", "b.hidden"  # every text about hidden things has the word in it
INTERNAL = ("$bulk", "$webhooks", "$alerts")
SCOPES = ("put", "work", "read")
YEARS = 9_000_000_000  # milliseconds: a schedule that does not tick during the test


@dataclasses.dataclass(frozen=True)
class Answer:
    status: int
    headers: str
    body: str

    def json(self):
        return json.loads(self.body)


@dataclasses.dataclass(frozen=True)
class Thing:
    """Something that a request can name; `number` is None for things that have none."""
    name: str
    number: int = None
    token: str = "0000010000000001"

    def forms(self, kind):
        """How a place of this kind can name it, by the name of the form."""
        if kind in (TASK, TASK_ID):
            forms = {"id": self.name, "task- and id": "task-" + self.name}
            if kind == TASK and self.number is not None:
                forms["number"] = str(self.number)
            return forms
        return {"name": self.name}


@dataclasses.dataclass(frozen=True)
class Queue(Thing):
    uuid: str = ""

    def forms(self, kind):
        number = {} if self.number is None else {"number": self.number if kind == QUEUE_REF else str(self.number)}
        if kind == QUEUE_NAME:
            return {"name": self.name}
        return {"name": self.name, **number, "UUID": {"id": self.uuid} if kind == QUEUE_REF else self.uuid}


def absent(kind, like):
    """A thing of this kind that is not there, with a name that is as forbidden as that of the other."""
    if kind in (QUEUE, QUEUE_REF, QUEUE_NAME):
        return Queue("$absent" if like.name.startswith("$") else "b.absent", 987654, uuid=str(uuid.uuid4()))
    if kind in (SCHEDULE, WORKER):
        return Thing(f"absent-{uuid.uuid4().hex[:8]}")
    return Thing(f"{uuid.uuid4().hex[:16]}" if kind == KEY else str(uuid.uuid4()), 987654)


class World:
    def __init__(self, program, folder):
        self.server = Server(program, folder, key=ADMIN)
        self.host, _, port = self.server.address.partition(":")
        self.port, self.connection = int(port), None
        self.count, self.sent = itertools.count(1), 0
        self.document = self.ask("GET", "/openapi.json").json()
        self.methods = {operation["operationId"]: (method.upper(), path, operation, item.get("parameters", []))
                        for path, item in self.document["paths"].items()
                        for method, operation in item.items() if method != "parameters"}
        self.hidden, self.keys, self.cookies = {}, {}, {}
        self.fill()

    # ---- Requests ----

    def send(self, method, target, headers, body=b""):
        """Headers are lines of bytes as they go out; so they may be wrong."""
        if self.connection is None:
            self.connection = socket.create_connection((self.host, self.port), timeout=20)
        head = [f"{method} {target} HTTP/1.1".encode(), b"Host: " + self.server.address.encode(), b"X-Request-Id: r", *headers]
        if body or method not in ("GET", "HEAD", "DELETE"):
            head.append(b"Content-Length: %d" % len(body))
        self.connection.sendall(b"\r\n".join(head) + b"\r\n\r\n" + body)
        self.sent += 1
        return self.receive(method)

    def receive(self, method):
        response = http.client.HTTPResponse(self.connection, method=method)
        response.begin()
        endless = response.headers.get_content_type() == "text/event-stream"
        text = response.read1(4096) if endless else response.read()
        answer = Answer(response.status, str(response.headers), text.decode(errors="replace"))
        if endless or response.will_close:
            self.hang_up()
        response.close()
        return answer

    def stream(self, target, key, until):
        """What a stream of events says until this is among it, which must be within 20 s."""
        self.hang_up()
        self.connection = socket.create_connection((self.host, self.port), timeout=20)
        self.connection.sendall(f"GET {target} HTTP/1.1\r\nHost: {self.server.address}\r\n"
                                f"Authorization: Bearer {key}\r\n\r\n".encode())
        told = b""
        while until.encode() not in told and (piece := self.connection.recv(65536)):
            told += piece
        self.hang_up()
        return told.decode()

    def hang_up(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def ask(self, method, target, body=None, key=ADMIN, lines=False):
        headers = [f"Authorization: Bearer {key}".encode()]
        return self.send(method, target, headers + content_type(body, lines), encoded(body))

    def must(self, method, target, body=None, **more):
        answer = self.ask(method, target, body, **more)
        assert answer.status < 300, (method, target, body, answer)
        return answer.json() if answer.body else None

    def request(self, name, operation, at, ref, token, lease=None):
        """(method, target, header lines, body) of an operation, where the place names `ref`."""
        method, path, _, _ = self.methods[name]
        values = Values(self, ref, token, lease)
        where, _, what = at.place.partition(" ")
        given = {**operation.path, **({what: REF} if where == "path" else {})}
        for parameter, value in given.items():
            path = path.replace("{%s}" % parameter, urllib.parse.quote(str(values.fill(value)), safe=""))
        query = values.fill(at.query or ({what: REF} if where == "query" else {}))
        if query:
            path += "?" + urllib.parse.urlencode(query)
        body = values.fill(at.body)
        return method, path, content_type(body, where == "lines"), encoded(body)

    # ---- What there is ----

    def fill(self):
        self.must("POST", "/v1/queues", {"name": OWN_QUEUE, "number": 11})
        self.must("POST", "/v1/queues", {"name": "a.empty"})
        self.must("POST", "/v1/queues", {"name": HIDDEN_QUEUE, "number": 12, "description": "hidden"})
        for name, scopes, queues in (("own", SCOPES, ["a.*"]), ("star", SCOPES, ["*"]), ("neighbour", SCOPES, ["b.*"])):
            self.keys[name] = self.make_key(scopes, queues)
        for number, queue in enumerate(("$webhooks", "$alerts"), 13):
            self.must("PATCH", f"/v1/queues/{queue}", {"number": number})
        self.import_internal()
        self.must("POST", "/v1/workers/hidden-worker/beat", {"processors": 1, "queues": [{"queue": HIDDEN_QUEUE}]},
                  key=self.keys["neighbour"])
        for queue, worker in ((OWN_QUEUE, "own-worker"), (HIDDEN_QUEUE, "hidden-worker")):
            key = self.keys["own" if queue == OWN_QUEUE else "neighbour"]
            self.must("POST", "/v1/take", {"queue": queue, "worker": worker}, key=key)
        both = {"worker": "shared-worker", "queues": [{"queue": OWN_QUEUE}, {"queue": HIDDEN_QUEUE}]}
        self.must("POST", "/v1/take", both)

    def make_key(self, scopes, queues=(), **more):
        return self.must("POST", "/v1/keys", {"name": "test", "scopes": list(scopes), "queues": list(queues), **more})["secret"]

    def key_with(self, *scopes):
        """One for every queue; the same each time."""
        if scopes not in self.keys:
            self.keys[scopes] = self.make_key(scopes)
        return self.keys[scopes]

    def sign_in(self, key):
        """The line of a header with a session that stands for the key."""
        answer = self.send("POST", "/v1/session", [b"Content-Type: application/json", b"X-Requested-By: a test"],
                           encoded({"key": key}))
        return b"Cookie: " + re.search(r"^Set-Cookie: ([^;]*)", answer.headers, re.M).group(1).encode()

    def cookie(self, key):
        """The same each time."""
        if key not in self.cookies:
            self.cookies[key] = self.sign_in(key)
        return self.cookies[key]

    def import_internal(self):
        """Deliveries that wait for years; the operations that other things make are of $bulk."""
        moment = "2026-01-02T03:04:05.678Z"
        tasks = [{"id": str(uuid.uuid4()), "queue": queue, "number": 1, "version": 1, "state": "delayed", "priority": 5,
                  "created_at": moment, "updated_at": moment, "start": "2099-01-02T03:04:05.678Z"} for queue in INTERNAL[1:]]
        text = "".join(json.dumps({"task": task}) + "\n" for task in tasks)
        answer = self.send("POST", "/v1/import", [b"Authorization: Bearer " + ADMIN.encode(), *content_type("", True)],
                           text.encode())
        assert answer.json()["imported"]["added"]["tasks"] == len(tasks), answer
        self.internal_tasks = [self.task(task["id"]) for task in tasks] + [self.make(BULK, hidden=True)]

    def task(self, name, token=Thing.token):
        return Thing(name, self.must("GET", f"/v1/tasks/{name}")["number"], token)

    def queue(self, name):
        found = self.must("GET", "/v1/queues/" + name)
        return Queue(name, found.get("number"), uuid=found["id"])

    def make(self, kind, hidden=False, state="held"):
        """A new thing that only hidden things have to do with, or that the confined key may see."""
        word, queue = ("hidden", HIDDEN_QUEUE) if hidden else ("own", OWN_QUEUE)
        name = f"{queue}-{word}-{next(self.count)}"
        if kind in (TASK, TASK_ID):
            return self.make_task(queue, word, state)
        if kind in (QUEUE, QUEUE_REF, QUEUE_NAME):
            self.must("POST", "/v1/queues", {"name": name, "number": 1000 + next(self.count)})
            return self.queue(name)
        if kind == SCHEDULE:
            self.must("POST", "/v1/schedules", {"name": name, "rule": {"every_ms": YEARS}, "task": {"queue": queue, "type": word}})
        if kind == BULK:
            request = {"action": "cancel", "filter": {"queue": queue, "type": word + " nothing"}, "dry_run": True}
            name = self.must("POST", "/v1/bulk", request)["id"]
            self.must("GET", f"/v1/bulk/{name}?wait=10s")
            return self.task(name)
        if kind == KEY:
            self.make_key(["read"])
            name = self.must("GET", "/v1/keys")["keys"][-1]["id"]
        if kind == WORKER:
            name = f"{word}-worker"
        return Thing(name)

    def make_task(self, queue, word, state):
        task = {"queue": queue, "priority": 9, "held": state == "held", "max_retries": 0, "group": word, "tags": [word],
                "type": word, "payload": word, "client_id": word, "request_id": word, "metadata": {"of": word}}
        if state == "called back":
            task["callback"] = {"url": f"http://127.0.0.1:9/{word}"}
        name = self.must("POST", "/v1/tasks", task)["id"]
        if state == "held":
            return self.task(name)
        lease = {"id": None}
        while lease["id"] != name:  # a request may have left others there
            take = {"queue": queue, "worker": f"{word}-worker", "lease_ms": 43200000}  # the longest: none ends by itself
            [lease] = self.must("POST", "/v1/take", take)["tasks"]
        if state != "processing":
            self.must("POST", f"/v1/tasks/{name}/log", {"token": lease["token"], "lines": [word]})
            outcome = {"outcome": "failed", "error": {"code": word, "message": word}} if state == "failed" else {
                "outcome": "done", "result": word}
            self.must("POST", f"/v1/tasks/{name}/settle", {"token": lease["token"], **outcome})
        if state == "called back":  # the address is private: the delivery fails for good
            until("a delivery that has ended", lambda: "delivery" in self.must("GET", f"/v1/tasks/{name}"))
        return self.task(name, lease["token"])

    def hidden_things(self, kind, state):
        """What a key confined to a.* may not see, and what no confined key may see; the same each time."""
        if (kind, state) not in self.hidden:
            internal = {TASK: self.internal_tasks, TASK_ID: self.internal_tasks}.get(kind, [])
            if kind in (QUEUE, QUEUE_REF, QUEUE_NAME):
                internal = [self.queue(name) for name in INTERNAL]
                foreign = [self.queue(HIDDEN_QUEUE)]
            elif kind == BULK:  # tasks are no operations; nor may a key see what moves its tasks elsewhere
                move = {"action": "move", "filter": {"queue": OWN_QUEUE, "type": "none"}, "to": HIDDEN_QUEUE, "dry_run": True}
                moving = self.must("POST", "/v1/bulk", move)["id"]
                self.must("GET", f"/v1/bulk/{moving}?wait=10s")
                foreign = [self.make(BULK, hidden=True), Thing(moving), self.make(TASK, hidden=True), self.make(TASK)]
            else:
                foreign = [] if kind == NOTHING else [self.make(kind, hidden=True, state=state)]
            self.hidden[kind, state] = foreign, internal
        return self.hidden[kind, state]

    def snapshot(self):
        """Everything that a request could change, line by line, without what changes by itself."""
        export = self.ask("GET", "/v1/export").body.splitlines()
        moving = re.compile(r'^\{"(millrace_export|end)"|^\{"memo":\{"key":"\$(history|action)/')
        lines = [line for line in export if not moving.match(line)]
        workers = [worker for worker in self.must("GET", "/v1/workers")["workers"] if not worker["name"].startswith("$")]
        for worker in workers:
            worker.pop("assignments", None)  # the manager's, for a while
        return lines + [json.dumps(each) for each in self.must("GET", "/v1/bulk")["operations"] + workers]

    def end(self):
        self.hang_up()
        self.server.end()


class Values:
    """What stands for the words of the table in one request. A lease is made when one is needed and none is given."""

    def __init__(self, world, ref, token, lease):
        self.world, self.lease = world, lease
        self.words = {REF: ref, TOKEN: token, OWN: OWN_QUEUE}

    def fill(self, value):
        if isinstance(value, dict):
            return {key: self.fill(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.fill(each) for each in value]
        if value in (LEASED, LEASE_TOKEN):
            self.lease = self.lease or self.world.make(TASK, state="processing")
            return self.lease.name if value == LEASED else self.lease.token
        if value == NEW:
            return f"a.new-{next(self.world.count)}"
        if value == SIGN_IN:
            return self.world.keys["own"]
        return self.words.get(value, value) if isinstance(value, str) else value


def content_type(body, lines):
    if body is None:
        return []
    return [b"Content-Type: application/x-ndjson" if lines else b"Content-Type: application/json"]


def encoded(body):
    return b"" if body is None else json.dumps(body).encode() + b"\n"


@contextlib.contextmanager
def a_world(program, folder):
    world = World(program, folder)
    try:
        yield world
    finally:
        world.end()
