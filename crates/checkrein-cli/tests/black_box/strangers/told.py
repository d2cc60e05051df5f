"""What a program of a vendor's client tells the test: one JSON object, a field a case. No program waits: what it would wait
for is noted."""

import json
import os
import sys
import time

BASE = os.environ["SERVED"]
TOOLS = {
    "look": {"type": "object", "properties": {"path": {"type": "string"}, "depth": {"type": "integer"}}},
    "count": {"type": "object", "properties": {}},
}
FIRST = {"look": json.dumps({"note": "three files", "files": 3}, separators=(",", ":")), "count": "12"}
SECOND = {"look": json.dumps({"note": "four files", "files": 4}, separators=(",", ":")), "count": "13"}

told = {}
waits = []
time.sleep = waits.append


def case(name, act):
    try:
        told[name] = act()
    except Exception as error:
        told[name] = {"raised": type(error).__name__, "status": getattr(error, "status_code", getattr(error, "code", None))}


def calls(found):
    return [[name, args] for name, args in found]


def end():
    told["waits"] = waits
    json.dump(told, sys.stdout)
