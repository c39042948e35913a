"""docs/settings.md says what a server does: its fields, types, defaults and limits are compared with a running one.

    settings_test.py PROGRAM ROOT
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

PROGRAM, ROOT = sys.argv[1:3]
PAGE = "docs/settings.md"
COLUMNS = 5  # field, type, default, limits, what it does
MINIMAL_SCHEDULE = {"rule": {"every_ms": 3600000}, "task": {"queue": "probe"}, "paused": True}


class Server:
    """The real program, with nothing kept, on a free port."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        address, log = (os.path.join(self.folder.name, name) for name in ("address", "log"))
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MILLRACE_")}
        with open(log, "w") as out:
            self.process = subprocess.Popen(
                [PROGRAM, "serve", "--store", "memory:", "--listen", "127.0.0.1:0", "--address-file", address],
                cwd=self.folder.name, env=environment, stdout=out, stderr=out)
        try:
            self.url = self.wait_for(address)
        except Exception as error:
            self.stop()
            with open(log) as text:
                raise RuntimeError(f"{error}\n{text.read()}") from error

    def wait_for(self, address):
        end = time.monotonic() + 30
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with open(address) as file:
                    url = file.read().strip()
                url = url if url.startswith("http") else f"http://{url}"
                with urllib.request.urlopen(url + "/ready"):
                    return url
            except (OSError, ValueError):  # not there yet, or not ready
                time.sleep(0.02)
        raise RuntimeError("the server did not become ready")

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        self.folder.cleanup()

    def call(self, method, path, body=None):
        """The status and the answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)


class Row:
    def __init__(self, cells):
        plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell.strip()) for cell in cells]
        self.field = plain[0].strip("`")
        self.type, self.default, self.limits = plain[1:4]


def tables_of(text):
    """The rows of the page by the schema that the comment above their table names."""
    tables = {}
    found = re.findall(r"<!-- fields: (\w+) -->\n\|.*\n\|[-|]+\n((?:\|.*\n)+)", text)
    assert len(found) == text.count("<!-- fields:"), "a comment has no table below it"
    for name, rows in found:
        for line in rows.splitlines():
            cells = line.strip("|").split("|")
            assert len(cells) == COLUMNS, f"{len(cells)} columns instead of {COLUMNS}: {line}"
            tables.setdefault(name, []).append(Row(cells))
    return tables


KINDS = {"Moment": "moment", "CountOrUnlimited": "integer or `unlimited`", "Uuid": "UUID", "TaskId": "UUID", "Name": "name",
         "QueueRef": "queue", "Priority": "priority", "AfterGiven": "object or list"}
WORDS = {"array": "list", "integer": "integer", "number": "number", "string": "string", "boolean": "boolean", "object": "object"}


def given(schema):
    """A schema without the null that means left out."""
    return schema["anyOf"][0] if {"type": "null"} in schema.get("anyOf", []) else schema


def kind_of(schema, schemas):
    """The word of the page for a type of the OpenAPI document."""
    schema = given(schema)
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return KINDS.get(name) or kind_of(schemas[name], schemas)
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "anyOf" in schema:
        return KINDS["CountOrUnlimited"]
    return WORDS[schema["type"]] if "type" in schema else "any JSON"


def numbers_of(schema, schemas):
    """The part of a schema that has the limits."""
    schema = given(schema)
    if "$ref" in schema:
        return numbers_of(schemas[schema["$ref"].rsplit("/", 1)[1]], schemas)
    for choice in schema.get("anyOf", []):
        if choice.get("type") == "integer":
            return choice
    return schema


def default_of(cell):
    """The JSON in backticks, if the cell is nothing else."""
    found = re.fullmatch(r"`(.*)`", cell)
    try:
        return (json.loads(found[1]),) if found else None
    except json.JSONDecodeError:
        return None


def allowed_and_not(row):
    """Values just inside and just outside the limits of a row."""
    if found := re.match(r"at most (\d+) bytes", row.limits):
        return ["x" * int(found[1])], ["x" * (int(found[1]) + 1)]
    if found := re.match(r"1 to (\d+) bytes", row.limits):
        return ["x", "x" * int(found[1])], ["", "x" * (int(found[1]) + 1)]
    if found := re.match(r"at most (\d+)", row.limits):
        return [int(found[1])], [int(found[1]) + 1]  # of a list: its length
    if found := re.match(r"(\d+) to (\d+)", row.limits):
        return [int(found[1]), int(found[2])], [int(found[1]) - 1, int(found[2]) + 1]
    if found := re.match(r"(\d+) and up", row.limits):
        return [int(found[1])], [int(found[1]) - 1]
    return None


def queue(name):
    """A request that sets one field of a part of a queue."""
    return lambda part: ("PUT", "/v1/queues/probe", {name: part} if name else part)


def task(part):
    return "POST", "/v1/queues/probe/tasks", part


def schedule(part):
    return "PUT", "/v1/schedules/probe", MINIMAL_SCHEDULE | part


def url_like(text):
    """A URL of the same length."""
    return ("https://a/" + text)[:len(text)]


# What a field of a unique key needs beside it.
BESIDE = {"window_ms": {"scope": "window"}, "max_delay_ms": {"on_conflict": "postpone"}}

# How to send one field of a schema: the request for (field, value).
SEND = {
    "QueueSettings": lambda f, v: ("POST", "/v1/queues", {"name": v}) if f == "name" else queue(None)({f: v}),
    "Rate": lambda f, v: queue("put_rate")({"max": 1, "per_ms": 1000} | {f: v}),
    "Keep": lambda f, v: queue("keep_dead")({f: v}),
    "GroupRules": lambda f, v: queue("groups")({f: v}),
    "TypePolicy": lambda f, v: queue("types")([{"type": "t"} | {f: v}]),
    "RetryRules": lambda f, v: queue("retry")({f: v}),
    "NewTask": lambda f, v: task({f: v}),
    "UniqueKey": lambda f, v: task({"delay_ms": 1, "unique": {"key": "k"} | BESIDE.get(f, {}) | {f: v}}),
    "Callback": lambda f, v: task({"callback": {"url": "https://a"} | {f: url_like(v) if f == "url" else v}}),
    "NewSchedule": lambda f, v: ("POST", "/v1/schedules", MINIMAL_SCHEDULE | {"name": v}) if f == "name" else schedule({f: v}),
    "TickRule": lambda f, v: schedule({"rule": {"every_ms": v} if f == "every_ms" else {"cron": "0 3 * * *"} | {f: v}}),
}
# Texts of any length that are refused for what they say.
NOT_SENT = {("TickRule", "cron"), ("TickRule", "zone")}
# Defaults that a server does not show.
LEFT_OUT = {("QueueSettings", "rate_of"), ("NewTask", "cost")}
LISTS = {"tags": lambda n: [str(i) for i in range(n)], "types": lambda n: [{"type": str(i)} for i in range(n)]}


def milliseconds(text):
    units = {"ms": 1, "s": 1000, "m": 60000, "h": 3600000, "d": 86400000}
    return sum(int(number) * units[unit] for number, unit in re.findall(r"(\d+)(ms|[smhd])", text))


class SettingsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(ROOT, PAGE), encoding="utf-8") as file:
            cls.tables = tables_of(file.read())
        cls.server = Server()
        cls.addClassCleanup(cls.server.stop)
        cls.schemas = cls.server.call("GET", "/openapi.json")[1]["components"]["schemas"]

    def test_the_page_has_every_field_of_the_api_and_no_other(self):
        self.assertEqual(set(self.tables), set(SEND), f"{PAGE} has tables for other schemas")
        for name, rows in self.tables.items():
            on_page = sorted(row.field for row in rows)
            self.assertEqual(on_page, sorted(self.schemas[name]["properties"]), f"the fields of {name} in {PAGE}")

    def test_the_task_of_a_schedule_has_the_fields_of_a_task_but_those_of_one_moment(self):
        of_one_moment = {"id", "start", "start_by", "after"}
        self.assertEqual(set(self.schemas["ScheduledTask"]["properties"]),
                         {row.field for row in self.tables["NewTask"]} - of_one_moment)
        for field in of_one_moment:
            an_id = "01890a5d-ac96-774b-bcce-b302099a8057"
            value = {"id": an_id, "after": [an_id]}.get(field, "2030-01-01T00:00:00Z")
            status, _ = self.server.call(*schedule({"task": {"queue": "probe", field: value}}))
            self.assertEqual(status, 422, field)

    def test_types_are_those_of_the_api(self):
        for name, rows in self.tables.items():
            for row in rows:
                with self.subTest(schema=name, field=row.field):
                    schema = self.schemas[name]["properties"][row.field]
                    self.assertEqual(row.type, kind_of(schema, self.schemas))

    def test_limits_are_those_of_the_api(self):
        for name, rows in self.tables.items():
            for row in rows:
                said = numbers_of(self.schemas[name]["properties"][row.field], self.schemas)
                with self.subTest(schema=name, field=row.field):
                    if found := re.match(r"(?:(\d+) to|at most) (\d+) bytes", row.limits):
                        self.assertEqual(int(found[2]), said.get("x-max-bytes", 100))  # names have a pattern
                    elif found := re.match(r"(\d+) to (\d+)", row.limits):
                        if row.type != "priority":  # its scale decides
                            self.assertEqual([int(found[1]), int(found[2])], [said.get("minimum"), said.get("maximum")])
                    elif found := re.match(r"(\d+) and up", row.limits):
                        self.assertEqual(int(found[1]), said.get("minimum"))

    def test_an_unknown_member_is_refused_where_the_document_says_so(self):
        for name in self.tables:
            self.assertIs(self.schemas[name].get("additionalProperties"), False, name)
            status, answer = self.server.call(*SEND[name]("no_such_member", 1))
            self.assertEqual((status, answer["field"].rsplit(".", 1)[-1]), (422, "no_such_member"), name)

    def test_required_fields_are_those_of_the_api(self):
        for name, rows in self.tables.items():
            on_page = {row.field for row in rows if row.default == "required"}
            self.assertEqual(on_page, set(self.schemas[name].get("required", [])), name)

    def stored(self):
        """By schema: what the server adds to an object that has only what it must have."""
        _, made_queue = self.server.call("PUT", "/v1/queues/defaults", {})
        given = {"unique": {"key": "defaults"}, "callback": {"url": "https://a"}}
        _, put = self.server.call("POST", "/v1/queues/defaults/tasks", given)
        _, made_task = self.server.call("GET", f"/v1/tasks/{put['id']}")
        yearly = {"rule": {"cron": "0 3 1 1 *"}, "task": {"queue": "defaults"}}
        _, made_schedule = self.server.call("PUT", "/v1/schedules/defaults", yearly)
        for name in given:
            given[name] = made_task.pop(name)
        del made_schedule["rule"]["cron"]
        return {"QueueSettings": made_queue, "NewTask": made_task, "UniqueKey": given["unique"],
                "Callback": given["callback"], "NewSchedule": made_schedule, "TickRule": made_schedule["rule"],
                "RetryRules": self.server_policy()}

    def server_policy(self):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MILLRACE_")}
        shown = subprocess.run([PROGRAM, "config"], cwd=self.server.folder.name, env=environment, check=True,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        policy = {}
        for name, value in re.findall(r"^retry\.(\w+) +(\S+)", shown, re.MULTILINE):
            if name in ("base", "cap"):
                policy[name + "_ms"] = milliseconds(value)
            elif name != "preset":
                try:
                    policy[name] = json.loads(value)
                except json.JSONDecodeError:
                    policy[name] = value
        return policy

    def test_defaults_are_what_the_server_stores(self):
        for name, made in self.stored().items():
            for row in self.tables[name]:
                default = default_of(row.default)
                with self.subTest(schema=name, field=row.field):
                    if default is None:
                        shown = row.field in made and row.default == "–"
                        self.assertFalse(shown, f"the page gives no default, the server {made.get(row.field)}")
                    elif row.field in made:
                        self.assertEqual(default[0], made[row.field])
                    elif (name, row.field) not in LEFT_OUT:
                        self.assertFalse(default[0], "the server stores nothing for it")

    def test_limits_are_where_the_server_refuses(self):
        checked = 0
        for name, rows in self.tables.items():
            for row in rows:
                limits = allowed_and_not(row)
                if limits is None or (name, row.field) in NOT_SENT:
                    continue
                checked += 1
                for values, refused in zip(limits, (False, True)):
                    for value in values:
                        value = LISTS[row.field](value) if row.field in LISTS else value
                        method, path, body = SEND[name](row.field, value)
                        status, answer = self.server.call(method, path, body)
                        with self.subTest(schema=name, field=row.field, value=str(value)[:40]):
                            self.assertEqual(status in (413, 422), refused, f"{row.limits}: {status} {answer}")
        self.assertGreater(checked, 40)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
