"""Every operation of the HTTP API: the scope it needs, and each place of a request that names something.

operations_test.py compares this table with the OpenAPI document that the server serves: an operation that is missing here, or a new
place where a request can name a task, a queue, a schedule, a worker or a bulk operation, makes it fail.

Operations with the scope admin have only the places of their path: keys with that scope cannot be confined to queues.
"""

import dataclasses

# What a place names. Each kind has several forms (api_world.py): a task its id and its number, a queue its name, number and UUID.
TASK, TASK_ID = "task", "task id"  # in a path also its number
QUEUE, QUEUE_REF, QUEUE_NAME = "queue", "queue in JSON", "queue name"
SCHEDULE, WORKER, BULK, KEY, NOTHING = "schedule", "worker", "bulk operation", "key", "nothing"
GROUP = "group"  # any text; each queue has its own

# What stands in a request for something that the test makes for it.
REF = "<the thing that the place names>"
TOKEN = "<the token of its lease>"
OWN = "<a queue that the key may touch>"
LEASED, LEASE_TOKEN = "<a task of that queue under a lease>", "<its token>"
NEW = "<a name that is not used yet>"
SIGN_IN = "<the text of an API key>"

# How a thing that the key may not see is answered.
HIDDEN = "as if it were not there: 404; a queue by its name: 403"
FREE = "any value is accepted, and nothing is said of the thing"
TAKEN = "409, which docs/http-api.md describes: ids and the names of workers are there once"
SCOPE = "403: this needs the scope admin"
BY_NAME = "403 unless the queue is named by its name: lines do not wait until a queue was looked up"


@dataclasses.dataclass(frozen=True)
class At:
    """One place of a request that names something: `path id`, `query queue`, `body settle[].id`, `lines parent`."""
    place: str
    kind: str
    body: object = None
    query: dict = dataclasses.field(default_factory=dict)
    state: str = "held"  # of the task
    answer: str = HIDDEN
    item: bool = False  # that answer is the error of one item, and the status is 200
    works: tuple = (200, 201, 202, 204)  # for a key that may
    invalid: tuple = ()  # names that no key may write here
    confined: bool = True  # keys that are confined to queues may ask it, too; otherwise: 403


@dataclasses.dataclass(frozen=True)
class Operation:
    scope: str  # "": no key is needed
    places: tuple
    path: dict = dataclasses.field(default_factory=dict)  # where the place is not in the path


def plain(body=None, **more):
    """A request that names nothing."""
    return At("", NOTHING, body, **more)


def on(kind, body=None, **more):
    """A request that names the thing in its path."""
    names = {TASK: "id", QUEUE: "queue", SCHEDULE: "name", WORKER: "name", BULK: "id", KEY: "id"}
    return At(f"path {names[kind]}", kind, body, **more)


def puts(front, wrap, own_result=False):
    """The places of a new task; it may have a result of its own in the answer."""
    return (At(f"{front}queue", QUEUE_REF, wrap({"queue": REF})),
            At(f"{front}parent", TASK_ID, wrap({"queue": OWN, "parent": REF}), answer=FREE),
            At(f"{front}id", TASK_ID, wrap({"queue": OWN, "id": REF}), answer=TAKEN, item=own_result))


def puts_that_wait(front, wrap, own_result=False):
    """The same of a task that may wait for others."""
    return (*puts(front, wrap, own_result),
            At(f"{front}after.tasks[]", TASK_ID, wrap({"queue": OWN, "after": {"tasks": [REF]}}), item=own_result),
            At(f"{front}after[]", TASK_ID, wrap({"queue": OWN, "after": [REF]}), item=own_result))


LINES = (At("lines queue", QUEUE_REF, {"queue": REF}, answer=BY_NAME, item=True),
         *puts_that_wait("lines ", lambda task: task, own_result=True)[1:])
ATOMIC = puts("body tasks[].", lambda task: {"atomic": True, "tasks": [task]})
ALL_PUTS = (*puts_that_wait("body ", lambda task: task), *puts_that_wait("body [].", lambda task: [task], own_result=True),
            *ATOMIC, *LINES)

DONE = {"outcome": "done"}
SETTLED = {"token": LEASE_TOKEN, **DONE}
FOLLOW_UPS = puts("body follow_ups[].", lambda task: {**SETTLED, "follow_ups": [task]})
FOLLOW_UPS_OF_WORK = puts("body settle[].follow_ups[].", lambda task: {
    "settle": [{"id": LEASED, **SETTLED, "follow_ups": [task]}]}, own_result=True)

ONE_GROUP = {"queue": OWN, "group": "a / group"}


OPERATIONS = {
    # ---- Put ----
    "putTasks": Operation("put", ALL_PUTS),
    "putQueueTasks": Operation("put", (on(QUEUE, {"payload": 1}), *ALL_PUTS), path={"queue": OWN}),

    # ---- Work ----
    "work": Operation("work", (
        At("body settle[].id", TASK_ID, {"settle": [{"id": REF, "token": TOKEN, **DONE}]}, state="processing", item=True),
        At("body extend[].id", TASK_ID, {"extend": [{"id": REF, "token": TOKEN}]}, state="processing", item=True),
        At("body take.queue", QUEUE_REF, {"take": {"queue": REF}}),
        At("body take.queues[].queue", QUEUE_REF, {"take": {"queues": [{"queue": OWN}, {"queue": REF}]}}),
        *FOLLOW_UPS_OF_WORK)),
    "take": Operation("work", (
        At("body queue", QUEUE_REF, {"queue": REF}),
        At("body queues[].queue", QUEUE_REF, {"queues": [{"queue": OWN}, {"queue": REF}]}))),
    "settleTask": Operation("work", (
        on(TASK, {"token": TOKEN, **DONE}, state="processing"),
        At("body id", TASK_ID, {"id": REF, **SETTLED}, answer=FREE, works=(422,)),  # it differs from that in the path
        *FOLLOW_UPS), path={"id": LEASED}),
    "extendTask": Operation("work", (on(TASK, {"token": TOKEN, "lease_ms": 120000}, state="processing"),)),
    "reportProgress": Operation("work", (on(TASK, {"token": TOKEN, "progress": 50}, state="processing"),)),
    "addLogLines": Operation("work", (on(TASK, {"token": TOKEN, "lines": ["x"]}, state="processing"),)),
    "beat": Operation("work", (
        on(WORKER, {"processors": 1}, answer=TAKEN),
        At("body queues[].queue", QUEUE_NAME, {"processors": 1, "queues": [{"queue": REF}]})), path={"name": "own-worker"}),

    # ---- Tasks ----
    "listTasks": Operation("read", (
        At("query queue", QUEUE), At("query parent", TASK_ID, query={"queue": "a.empty", "parent": REF}, answer=FREE),
        At("query waits_for", TASK_ID, query={"queue": "a.empty", "waits_for": REF}, answer=FREE),
        plain(confined=False))),
    "getTask": Operation("read", (on(TASK, state="completed"), on(TASK, state="failed"), on(TASK, state="processing"))),
    "getResult": Operation("read", (on(TASK, state="completed"),)),
    "explainTask": Operation("read", (on(TASK),)),
    "getHistory": Operation("read", (on(TASK, state="failed"),)),
    "getLog": Operation("read", (on(TASK, state="completed"),)),
    "getFamily": Operation("read", (on(TASK, state="completed"),)),
    "getParents": Operation("read", (on(TASK, state="completed"),)),
    "getGraph": Operation("read", (on(TASK, state="completed"),)),
    "actOnTasks": Operation("put", (
        At("body ids[]", TASK_ID, {"action": "cancel", "ids": [REF]}, item=True),
        At("body ids[]", TASK_ID, {"action": "retry", "ids": [REF]}, state="failed", answer=SCOPE),
        At("body ids[]", TASK_ID, {"action": "remove", "ids": [REF]}, answer=SCOPE),
        At("body ids[]", TASK_ID, {"action": "priority", "priority": 7, "ids": [REF]}, item=True),
        At("body to", QUEUE_REF, {"action": "move", "ids": [LEASED], "to": REF}, answer=SCOPE,
           invalid=("$bulk", "$webhooks", "$alerts")))),
    "cancelTask": Operation("put", (on(TASK), on(TASK, {"reason": "x"}, state="processing"))),
    "releaseTask": Operation("put", (on(TASK),)),
    "changeTask": Operation("put", (
        on(TASK, {"priority": 7}), on(TASK, {"delay_ms": 1}),
        At("body queue", QUEUE_REF, {"queue": REF}, answer=SCOPE)), path={"id": LEASED}),
    "retryTask": Operation("admin", (on(TASK, state="failed"),)),
    "redeliverWebhook": Operation("admin", (on(TASK, state="called back"),)),
    "removeTask": Operation("admin", (on(TASK),)),

    # ---- Dead letters and bulk operations ----
    "listDead": Operation("read", (At("query queue", QUEUE), plain(confined=False))),
    "groupDead": Operation("read", (At("query queue", QUEUE), plain(confined=False))),
    "retryDead": Operation("admin", (plain({"all": True, "queue": OWN}),)),
    "removeDead": Operation("admin", (plain({"all": True, "queue": OWN, "type": "none"}),)),
    "listBulk": Operation("read", (plain(),)),
    "startBulk": Operation("admin", (plain({"action": "cancel", "filter": {"queue": OWN, "type": "none"}}),)),
    "getBulk": Operation("read", (on(BULK),)),
    "cancelBulk": Operation("admin", (on(BULK, works=(409,)),)),  # it has ended

    # ---- Queues ----
    "listQueues": Operation("read", (plain(),)),
    "createQueue": Operation("admin", (plain({"name": NEW}),)),
    "getQueue": Operation("read", (on(QUEUE),)),
    "replaceQueue": Operation("admin", (on(QUEUE, {"max_depth": 1000}),)),
    "changeQueue": Operation("admin", (on(QUEUE, {"max_depth": 1000}),)),
    "removeQueue": Operation("admin", (on(QUEUE),)),
    "pauseQueue": Operation("admin", (on(QUEUE),)),
    "resumeQueue": Operation("admin", (on(QUEUE),)),
    "drainQueue": Operation("admin", (on(QUEUE),)),
    "clearQueue": Operation("admin", (on(QUEUE),)),
    "getQueueStats": Operation("read", (on(QUEUE),)),
    "getQueueTypes": Operation("read", (on(QUEUE),)),
    "listGroups": Operation("read", (on(QUEUE),)),
    "getGroup": Operation("read", (on(QUEUE), At("path group", GROUP, answer=FREE)), path=ONE_GROUP),
    "changeGroup": Operation("admin", (on(QUEUE, {"paused": False}), At("path group", GROUP, {"paused": False})),
                             path=ONE_GROUP),
    "resetGroup": Operation("admin", (on(QUEUE), At("path group", GROUP)), path=ONE_GROUP),
    "getStats": Operation("read", (plain(),)),

    # ---- Schedules ----
    "listSchedules": Operation("read", (At("query queue", QUEUE), plain())),
    "createSchedule": Operation("admin", (plain({"name": NEW, "rule": {"every_ms": 9000000000}, "task": {"queue": OWN}}),)),
    "getSchedule": Operation("read", (on(SCHEDULE),)),
    "replaceSchedule": Operation("admin", (on(SCHEDULE, {"rule": {"every_ms": 9000000000}, "task": {"queue": OWN}}),)),
    "changeSchedule": Operation("admin", (on(SCHEDULE, {"jitter_ms": 5}),)),
    "removeSchedule": Operation("admin", (on(SCHEDULE),)),
    "pauseSchedule": Operation("admin", (on(SCHEDULE),)),
    "resumeSchedule": Operation("admin", (on(SCHEDULE),)),
    "runSchedule": Operation("admin", (on(SCHEDULE),)),
    "getNextTicks": Operation("read", (on(SCHEDULE),)),

    # ---- The server ----
    "listWorkers": Operation("read", (plain(),)),
    "getWorker": Operation("read", (on(WORKER),)),
    "listKeys": Operation("admin", (plain(),)),
    "createKey": Operation("admin", (plain({"name": NEW, "scopes": ["read"]}),)),
    "revokeKey": Operation("admin", (on(KEY),)),
    "listActions": Operation("read", (plain(confined=False),)),
    "getServer": Operation("read", (plain(),)),
    "exportLines": Operation("admin", (plain(),)),
    "importLines": Operation("admin", (At("lines ", NOTHING, {"memo": {"key": NEW, "value": "v"}}),)),
    "getEvents": Operation("read", (At("query queue", QUEUE), At("query id", TASK_ID, answer=FREE), plain())),
    "getPast": Operation("read", (At("query queue", QUEUE), plain(query={"by": "queue"}))),
    "getAlerts": Operation("read", (plain(),)),
    "getMetrics": Operation("read", (plain(confined=False),)),

    # ---- For every caller ----
    "getSession": Operation("", (plain(),)),
    "openSession": Operation("", (plain({"key": SIGN_IN}),)),
    "closeSession": Operation("", (plain(),)),
    "getHealth": Operation("", (plain(),)),
    "getReady": Operation("", (plain(),)),
    "getOpenApi": Operation("", (plain(),)),
}

# Parameters that name nothing that could be hidden: filters on tasks that are seen, pages, times, and how to answer.
HARMLESS = {
    "state", "type", "client_id", "group", "tag", "priority", "created_from", "created_until", "parked", "text", "error_code", "error_group",
    "name", "limit", "cursor", "full", "preview", "wait", "for", "count", "by", "step", "from", "until", "after", "most", "event", "force",
    "Idempotency-Key", "X-Request-Id", "X-Requested-By", "Last-Event-ID",
}
