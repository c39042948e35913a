#!/usr/bin/env python3
"""Works the tasks of a Millrace queue with nothing but Python's standard library.

    python3 worker.py emails                     works until interrupted
    python3 worker.py emails --until-empty       ends when there is nothing left

MILLRACE_URL is the server (http://127.0.0.1:7070), MILLRACE_KEY its key, if it needs one.
"""

import json
import os
import sys
import urllib.error
import urllib.request

SERVER = os.environ.get("MILLRACE_URL", "http://127.0.0.1:7070")
KEY = os.environ.get("MILLRACE_KEY")
WORKER = f"python-{os.getpid()}"


def call(path, body, patience=90):
    """POSTs JSON and returns the answer; an error of the server becomes an exception with its words."""
    request = urllib.request.Request(
        SERVER + path,
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    if KEY:
        request.add_header("Authorization", f"Bearer {KEY}")
    try:
        with urllib.request.urlopen(request, timeout=patience) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        problem = json.load(error)
        raise RuntimeError(problem.get("detail", problem)) from error


def handle(task):
    """The work itself. What it returns is the task's result; an exception is a failure."""
    to = task["payload"]["to"]
    if "@" not in to:
        raise ValueError(f"{to} is not an address")
    return {"sent": to, "attempt": task.get("counters", {}).get("attempts", 0) + 1}


def settle(task):
    """Runs one task and says how it ended, with the token that proves the lease is ours."""
    end = {"id": task["id"], "token": task["token"]}
    try:
        return end | {"outcome": "done", "result": handle(task)}
    except ValueError as error:  # trying again cannot help
        return end | {"outcome": "failed", "error": {"message": str(error)}, "retryable": False}
    except Exception as error:
        return end | {"outcome": "failed", "error": {"message": str(error)}}


def main():
    queue = sys.argv[1]
    until_empty = "--until-empty" in sys.argv
    wait = 100 if until_empty else 30_000
    tasks = call("/v1/take", {"worker": WORKER, "queue": queue, "most": 10, "wait_ms": wait})["tasks"]
    while tasks or not until_empty:
        # One round trip settles what is finished and takes what comes next.
        ends = [settle(task) for task in tasks]
        take = {"queue": queue, "most": 10, "wait_ms": wait}
        answer = call("/v1/work", {"worker": WORKER, "settle": ends, "take": take})
        for end, settled in zip(ends, answer.get("settled", [])):
            print(end["id"], settled.get("state") or settled["error"]["message"], flush=True)
        tasks = answer["tasks"]
        if not tasks and not until_empty:  # nothing at once: wait for the next
            tasks = call("/v1/take", {"worker": WORKER, **take})["tasks"]


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
