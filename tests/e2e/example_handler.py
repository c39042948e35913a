"""examples/python/worker.py with a handler that does what its task says and writes it down.

    example_handler.py EXAMPLE RECORD QUEUE…    what comes after RECORD is for the example
"""

import importlib.util
import json
import sys
import time

sys.dont_write_bytecode = True
example, record = sys.argv[1:3]
del sys.argv[1:3]
found = importlib.util.spec_from_file_location("worker", example)
worker = importlib.util.module_from_spec(found)
found.loader.exec_module(worker)


def note(what, task):
    line = {"what": what, "id": task["id"], "token": task["token"], "at": time.time()}
    with open(record, "a") as file:  # one short write, so lines of several threads do not mix
        file.write(json.dumps(line) + "\n")


def handle(task, stop):
    note("began", task)
    orders = task["payload"]
    if orders.get("show_steps"):
        return {name: task.get(name) for name in ("checkpoint", "answer", "checkpoint_text")}
    if "fail" in orders:
        raise RuntimeError(orders["fail"])
    if "hopeless" in orders:
        raise worker.CannotSucceed(orders["hopeless"])
    if orders.get("deaf"):
        time.sleep(orders["seconds"])
    elif stop.wait(orders["seconds"]):
        note("stopped", task)
        raise RuntimeError("it was told to stop")
    note("ended", task)
    return "x" * orders.get("result_bytes", 1)


worker.main(handle)
