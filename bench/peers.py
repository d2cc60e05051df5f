#!/usr/bin/env python3
"""Checkrein as one more peer of a benchmark that drives agent harnesses against a model server on loopback.

usage: peers.py BENCH PEER N [--calls one|par3] [--runs R] [--strace FILE]

BENCH is the folder of the benchmark: its `run.py` has the other peers, starts one and prints a line of JSON for each run. Here
only what it does not know is added: how `checkrein` is started. Its journal is flushed and its programs are confined, as always;
`checkrein-unconfined` leaves the second out. CHECKREIN names the binary (default: the release build of this repository).
"""
import argparse
import importlib.util
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BINARY = os.environ.get("CHECKREIN", os.path.join(HERE, "..", "target", "release", "checkrein"))
# Nothing is asked about: what is measured is the harness, not a person.
POLICY = """version = 1
[[rule]]
id = "commands-of-the-benchmark"
decision = "allow"
reason = "they print a word and wait"
effect = "run"
program = ["echo", "sleep"]
"""
LIMITS = [part for limit in ("steps=1000", "calls=3000", "tokens=1000000000") for part in ("--budget", limit)]


def load(folder):
    """The benchmark's own driver, as a module."""
    spec = importlib.util.spec_from_file_location("run", os.path.join(folder, "run.py"))
    run = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(run)
    return run


def checkrein(home, base, extra):
    policy = os.path.join(home, "policy.toml")
    with open(policy, "w", encoding="utf-8") as file:
        file.write(POLICY)
    model = f"compatible:{base}/v1#mock"
    argv = [os.path.abspath(BINARY), "run", "--model", model, "--policy", policy, "--unattended", *LIMITS, *extra, "Echo."]
    return argv, {"CHECKREIN_HOME": os.path.join(home, "state")}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("bench")
    arguments.add_argument("peer")
    arguments.add_argument("n", type=int)
    arguments.add_argument("--calls", default="one")
    arguments.add_argument("--runs", type=int, default=1)
    arguments.add_argument("--strace")
    given = arguments.parse_args()
    run = load(given.bench)
    run.P["checkrein"] = (checkrein, run.BASH, run.TEXT, [])
    run.P["checkrein-unconfined"] = (checkrein, run.BASH, run.TEXT, ["--unconfined"])
    if given.peer not in run.P:
        sys.exit(f"no peer `{given.peer}`: one of {', '.join(run.P)}")
    os.makedirs(os.path.join(run.PEERS, "logs"), exist_ok=True)
    for _ in range(given.runs):
        print(json.dumps(run.once(given.peer, given.n, given.calls, given.strace, True)), flush=True)


if __name__ == "__main__":
    main()
