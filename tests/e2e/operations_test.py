"""What a key may not do: every operation of the HTTP API, with keys that are confined to queues and with wrong credentials.

    operations_test.py MILLRACE [NAME_OF_A_TEST...]

operations.py is the table of all operations. An operation or a place in a request that it lacks makes the first test fail.
"""

import base64
import re
import sys
import tempfile
import time
import unittest
import uuid

import api_world
from api_world import ADMIN, OWN_QUEUE, absent
from operations import BY_NAME, FREE, HARMLESS, NOTHING, OPERATIONS, SCOPE, TAKEN, TASK

STATUS = {"forbidden": 403, "not_found": 404, "conflict": 409, "invalid": 422}
WORLD = None  # the server of all tests


def setUpModule():
    global WORLD
    folder = tempfile.TemporaryDirectory(prefix="millrace-operations-")
    unittest.addModuleCleanup(folder.cleanup)
    WORLD = unittest.enterModuleContext(api_world.a_world(PROGRAM, folder.name))
    unittest.addModuleCleanup(lambda: print(f"{WORLD.sent} requests"))


# ---- What the document has -----------------------------------------------------------------------


def references(schema, place):
    """The places of a body that name something: what is a task id or refers to a queue, by its schema or by its name."""
    target = schema.get("$ref", "").rpartition("/")[2]
    is_text = target == "Name" or schema.get("type") == "string"
    if target in ("TaskId", "QueueRef") or place.endswith(("queue", "queues[]")) and is_text:
        yield place
        return
    if target:
        schema = WORLD.document["components"]["schemas"][target]
    for key in ("oneOf", "anyOf", "allOf"):
        for each in schema.get(key, []):
            yield from references(each, place)
    if "items" in schema:
        yield from references(schema["items"], place + "[]")
    for name, each in schema.get("properties", {}).items():
        yield from references(each, f"{place}{'' if place.endswith(' ') else '.'}{name}")


def places_of(name):
    _, _, operation, shared = WORLD.methods[name]
    for parameter in [*shared, *operation.get("parameters", [])]:
        if "$ref" in parameter:
            parameter = WORLD.document["components"]["parameters"][parameter["$ref"].rpartition("/")[2]]
        if parameter["in"] == "path" or parameter["name"] not in HARMLESS:
            yield f"{parameter['in']} {parameter['name']}"
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        yield from references(content["schema"], "lines " if media == "application/x-ndjson" else "body ")


class Table(unittest.TestCase):
    def test_the_table_has_every_operation_of_the_document_and_no_other(self):
        self.assertEqual(sorted(OPERATIONS), sorted(WORLD.methods))

    def test_the_table_has_every_place_that_names_something(self):
        for name, operation in OPERATIONS.items():
            told = set(places_of(name))
            if operation.scope == "admin":
                told = {place for place in told if place.startswith("path")}
            had = {at.place for at in operation.places if at.kind != NOTHING}
            self.assertEqual(sorted(had), sorted(told), name)


# ---- Keys that are confined to queues ------------------------------------------------------------


def texts_of(ref):
    """The texts in which an answer may repeat what the request named."""
    text = ref["id"] if isinstance(ref, dict) else str(ref)
    return [text, text.removeprefix("task-")]


def without(text, ref):
    for each in texts_of(ref) if ref is not None else ():
        text = re.sub(rf"\b{re.escape(each)}\b" if each[0].isalnum() else re.escape(each), "REF", text)
    return text


def shape_of(answer, ref):
    """What may not differ: everything, but in answers to what was done the ids, numbers and moments of new things."""
    text = without(answer.body, ref)
    if answer.status < 300:
        text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9-]+T[0-9:.]+Z|[0-9a-f]+-[0-9]+|\d+", "N", text)
    return answer.status, text


def keyed():
    return [(name, operation) for name, operation in OPERATIONS.items() if operation.scope]


class Request:
    """A request of the table that is ready to be sent."""

    def __init__(self, name, at, thing, form, lease=None):
        self.form = form
        self.at, self.ref = at, thing.forms(at.kind)[form] if at.kind != NOTHING else None
        self.names_queue = isinstance(thing, api_world.Queue) and form == "name"
        self.parts = WORLD.request(name, OPERATIONS[name], at, self.ref, thing.token, lease)
        self.label = f"{name}, {at.place or 'nothing named'} as {form} of {thing.name} ({at.answer})"

    def sent(self, headers):
        method, target, more, body = self.parts
        return WORLD.send(method, target, [*headers, *more], body)

    def by(self, key):
        return self.sent([b"Authorization: Bearer " + key.encode(), b"X-Requested-By: a test"])


def own_requests(name):
    """For each place a request that names something new in a queue that the confined key may touch."""
    for at in OPERATIONS[name].places:
        thing = WORLD.make(at.kind, state=at.state)
        for number, form in enumerate(thing.forms(at.kind) if at.kind != NOTHING else ["-"]):
            yield Request(name, at, thing if number == 0 else WORLD.make(at.kind, state=at.state), form)


def first_request(name):
    return next(own_requests(name))


class Confined(unittest.TestCase):
    """With a key for a.*, and with one for * where even that covers nothing: internal queues."""

    def leaks_nothing(self, answer, request):
        told = without(answer.headers + answer.body, request.ref)
        self.assertNotRegex(told, r"hidden|\$", request.label)

    def test_what_is_its_own_can_be_used(self):
        for name, operation in keyed():
            for request in own_requests(name):
                with self.subTest(request.label):
                    answer = request.by(WORLD.keys["own"])
                    self.leaks_nothing(answer, request)
                    self.own(request, answer, operation.scope == "admin" or request.at.answer == SCOPE)

    def own(self, request, answer, for_admins):
        if for_admins or not request.at.confined:
            return self.assertEqual(answer.status, 403, answer)
        self.assertIn(answer.status, request.at.works, answer)
        works = request.at.answer != BY_NAME or request.names_queue
        self.assertEqual(request.at.item and '"error"' in answer.body, not works, answer)

    def test_what_it_may_not_see_is_as_if_it_were_not_there(self):
        lease = WORLD.make(TASK, state="processing")  # for requests that will not end it
        for name, operation in keyed():
            cases = [case for at in operation.places for case in self.cases(name, at, lease)]
            puts = any(at.answer in (FREE, TAKEN) for at in operation.places)
            before = self.snapshot(puts)
            for key, request, twin in cases:
                with self.subTest(request.label):
                    self.check(operation, key, request, twin)
            self.assertEqual(before, self.snapshot(puts), f"{name} has changed something")

    def cases(self, name, at, lease):
        foreign, internal = WORLD.hidden_things(at.kind, at.state)
        shared = None if at.answer in (FREE, TAKEN) else lease
        for key, things in (("own", foreign + internal), ("star", internal)):
            for thing in things:
                for form in thing.forms(at.kind):
                    twin = Request(name, at, absent(at.kind, thing), form, shared)
                    yield WORLD.keys[key], Request(name, at, thing, form, shared), twin

    def snapshot(self, puts):
        """If what is not there may be put, then into the key's own queue, which is left out."""
        own = rf'"{OWN_QUEUE}"|"name": "absent' if puts else "(?!)"
        return [line for line in WORLD.snapshot() if not re.search(own, line)]

    def check(self, operation, key, request, twin):
        answer, missing = request.by(key), twin.by(key)
        words = (request.label, answer, missing)
        at = request.at
        self.leaks_nothing(answer, request)
        if at.answer == TAKEN and operation.scope != "admin":
            self.refused(answer, "conflict", at.item, words)
            self.assertNotIn("number", answer.body, words)
            self.assertIn(missing.status, at.works, words)
            return
        self.assertEqual(shape_of(answer, request.ref), shape_of(missing, twin.ref), words)
        if at.answer == FREE:
            self.assertIn(answer.status, at.works, words)
        elif at.answer == SCOPE or operation.scope == "admin":
            code = "invalid" if request.ref in at.invalid else "forbidden"  # of a body that is wrong for every key
            self.refused(answer, code, False, words)
        else:
            forbidden = request.names_queue or at.answer == BY_NAME
            self.refused(answer, "forbidden" if forbidden else "not_found", at.item, words)

    def refused(self, answer, code, item, words):
        self.assertEqual(answer.status, 200 if item else STATUS[code], words)
        self.assertIn(f'"code":"{code}"', answer.body, words)

    def test_lists_show_what_is_its_own(self):
        """And leaks_nothing() has shown that they show nothing else."""
        for kind in ("schedule", "bulk operation", "queue", "task"):
            WORLD.make(kind), WORLD.make(kind, hidden=True)
        for target in ("/v1/queues", "/v1/stats", "/v1/schedules", "/v1/bulk", "/v1/workers", f"/v1/tasks?queue={OWN_QUEUE}"):
            answer = WORLD.ask("GET", target, key=WORLD.keys["own"])
            self.assertIn(OWN_QUEUE, answer.body, target)
            self.assertNotRegex(answer.body, r"hidden|\$", target)

    def test_events_are_of_its_own_queues(self):
        begin = re.search(r"id: (\S+)", WORLD.ask("GET", "/v1/events").body).group(1)
        WORLD.make(TASK, hidden=True), WORLD.make(TASK)  # so the event of its own comes last
        for key, seen in ((ADMIN, {"a.own", "b.hidden"}), (WORLD.keys["own"], {"a.own"})):
            told = WORLD.stream(f"/v1/events?after={begin}", key, until='"queue":"a.own"')
            self.assertEqual(set(re.findall(r'"queue":"([^"]*)"', told)), seen)


# ---- Wrong credentials ---------------------------------------------------------------------------


def bearer(text):
    return b"Authorization: Bearer " + (text if isinstance(text, bytes) else text.encode())


def basic(user, password):
    return b"Authorization: Basic " + base64.b64encode(f"{user}:{password}".encode())


def but(scope):
    """A key with every scope but this one."""
    return WORLD.key_with(*(each for each in api_world.SCOPES if each != scope))


def changed(text, at=-1):
    """The key with another letter there."""
    letters = list(text)
    letters[at] = "A" if letters[at] != "A" else "B"
    return "".join(letters)


class Credentials(unittest.TestCase):
    """Each operation, with a request that works for a key with its scope, and with nothing else."""

    @classmethod
    def setUpClass(cls):
        cls.good = WORLD.key_with("admin")
        cls.revoked = WORLD.make_key(["admin"])
        cls.revoked_cookie = WORLD.sign_in(cls.revoked)
        WORLD.must("DELETE", "/v1/keys/" + cls.revoked.split("_")[1])
        soon = time.time() + 0.5
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(soon)) + f".{int(soon % 1 * 1000):03}Z"
        cls.expired = WORLD.make_key(["admin"], expires=moment)
        cls.expired_cookie = WORLD.sign_in(cls.expired)
        time.sleep(max(0.0, soon - time.time()) + 0.05)

    def unknown(self):
        """Headers that are all answered in the same words: the server tells a revoked key from no key of its own by nothing."""
        good = self.good
        return {
            "random key": [bearer(f"mr_{uuid.uuid4().hex[:16]}_{'x' * 43}")],
            "text that is not a key": [bearer("letmein")],
            "truncated key": [bearer(good[:-1])],
            "id of a key": [bearer(good.rpartition("_")[0])],
            "longer key": [bearer(good + "A")],
            "changed last letter": [bearer(changed(good))],
            "changed letter of the id": [bearer(changed(good, 4))],
            "upper-case key": [bearer(good.upper())],
            "truncated key of the settings": [bearer(ADMIN[:-1])],
            "revoked key": [bearer(self.revoked)],
            "changed last letter of a revoked key": [bearer(changed(self.revoked))],
            "changed last letter of an expired key": [bearer(changed(self.expired))],
            "space within the key": [bearer(good[:30] + " " + good[30:])],
            "two keys in one header": [bearer(f"{good}, {good}")],
            "key in quotes": [bearer(f'"{good}"')],
            "bytes that are not ASCII": [bearer(good.encode() + bytes([0xC3, 0xA9, 0xFF]))],
            "folded header": [bearer(good[:20] + "\r\n " + good[20:])],
            "very long key": [bearer(good + "x" * 5000)],
        }

    def none(self):
        """Headers without a key that is understood: 401."""
        name = "millrace_session_" + str(WORLD.port)
        return {
            "no header": [],
            "empty header": [b"Authorization:"],
            "no key": [b"Authorization: Bearer"],
            "blank key": [b"Authorization: Bearer    "],
            "key without a scheme": [b"Authorization: " + self.good.encode()],
            "another scheme": [b"Authorization: Token " + self.good.encode()],
            "longer scheme": [b"Authorization: Bearers " + self.good.encode()],
            "tab after the scheme": [b"Authorization: Bearer\t" + self.good.encode()],
            "Basic, as the password": [basic("admin", self.good)],
            "Basic, as the user": [basic(self.good, "")],
            "header of another API": [b"X-Api-Key: " + self.good.encode()],
            "header of a proxy": [b"Proxy-Authorization: Bearer " + self.good.encode()],
            "expired key": [bearer(self.expired)],
            "key as a cookie": [f"Cookie: {name}={self.good}".encode()],
            "made-up session": [f"Cookie: {name}=ms_{'0' * 16}_{'x' * 43}".encode(), b"X-Requested-By: x"],
            "session of a revoked key": [self.revoked_cookie, b"X-Requested-By: x"],
            "session of an expired key": [self.expired_cookie, b"X-Requested-By: x"],
        }

    def broken(self):
        """Headers that are not HTTP, or ambiguous: refused before the operation is known."""
        return {
            "two headers": ([bearer(self.good)] * 2, 400),
            "NUL in the key": ([bearer(self.good[:-1].encode() + b"\0" + self.good[-1:].encode())], 400),
            "line feed in the key": ([bearer(self.good[:20] + "\n" + self.good[20:])], 400),
            "key longer than a head may be": ([bearer("x" * 200_000)], 431),
        }

    def too_little(self, scope):
        """Keys that are known and lack the scope: 403. So these ways to send a key are understood."""
        key = but(scope)
        return {
            "key without the scope": [bearer(key)],
            "small letters": [b"authorization: bearer " + key.encode()],
            "capital letters": [b"AUTHORIZATION: BEARER " + key.encode()],
            "spaces around the key": [b"Authorization: Bearer   " + key.encode() + b"  "],
            "session without the scope": [WORLD.cookie(key), b"X-Requested-By: x"],
            "a key without the scope beside a session with it": [bearer(key), WORLD.cookie(self.good), b"X-Requested-By: x"],
        }

    def refused(self, request, name, label, headers, status, code):
        answer = request.sent(headers)
        words = (name, label, answer)
        self.assertEqual(answer.status, status, words)
        self.assertIn(f'"code":"{code}"', answer.body, words)
        responses = WORLD.methods[name][2]["responses"]
        self.assertIn(str(status), responses if status < 430 else {"431"}, words)
        return answer

    def test_the_scope_is_enough_and_needed(self):
        for name, operation in OPERATIONS.items():
            for request in own_requests(name):
                if request.at.answer == SCOPE:
                    continue
                answer = request.by(WORLD.key_with(operation.scope) if operation.scope else "none")
                self.assertIn(answer.status, request.at.works, (request.label, answer))

    def test_no_operation_takes_wrong_credentials(self):
        requests = {name: first_request(name) for name, _ in keyed()}
        little = {scope: self.too_little(scope) for scope in (*api_world.SCOPES, "admin")}
        before = WORLD.snapshot()
        for name, operation in keyed():
            with self.subTest(name):
                for label, headers in self.none().items():
                    self.refused(requests[name], name, label, headers, 401, "unauthorized")
                answers = {self.refused(requests[name], name, label, headers, 401, "unauthorized").body
                           for label, headers in self.unknown().items()}
                self.assertEqual(len(answers), 1, answers)
                for label, headers in little[operation.scope].items():
                    self.refused(requests[name], name, label, headers, 403, "forbidden")
                for label, (headers, status) in self.broken().items():
                    self.refused(requests[name], name, label, headers, status, "malformed")
        self.assertEqual(before, WORLD.snapshot(), "something has changed")

    def test_a_key_in_the_query_is_none(self):
        for name, _ in keyed():
            method, target, more, body = first_request(name).parts
            for word in ("key", "api_key", "access_token", "token"):
                answer = WORLD.send(method, f"{target}{'&' if '?' in target else '?'}{word}={self.good}", more, body)
                self.assertEqual(answer.status, 401, (name, word, answer))

    def test_a_session_changes_nothing_without_the_header(self):
        requests = {name: first_request(name) for name, _ in keyed() if WORLD.methods[name][0] != "GET"}
        cookie = WORLD.cookie(self.good)
        before = WORLD.snapshot()
        for name, request in requests.items():
            self.refused(request, name, "no X-Requested-By", [cookie], 403, "forbidden")
        self.assertEqual(before, WORLD.snapshot(), "something has changed")

    def test_what_there_is_does_not_show_without_a_key_or_scope(self):
        for name, operation in keyed():
            request = first_request(name)
            twin = Request(name, request.at, absent(request.at.kind, api_world.Thing("x")), request.form)
            for headers in ([], [bearer(self.revoked)], [bearer(but(operation.scope))]):
                one, other = request.sent(headers), twin.sent(headers)
                self.assertEqual((one.status, one.body), (other.status, other.body), request.label)

    def test_public_operations_answer_all_the_same(self):
        public = [name for name, operation in OPERATIONS.items() if not operation.scope]
        self.assertEqual(sorted(public), ["closeSession", "getHealth", "getOpenApi", "getReady", "getSession", "openSession"])
        for name in public:
            self.assertEqual(WORLD.methods[name][2].get("security"), [], name)
            for label, headers in {**self.none(), **self.unknown()}.items():
                request = first_request(name)
                answer = request.sent([*headers, b"X-Requested-By: x"])
                self.assertIn(answer.status, (200, 204), (name, label, answer))
                if name == "getSession":
                    self.assertEqual((answer.json()["signed_in"], answer.json()["scopes"]), (False, []), label)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
