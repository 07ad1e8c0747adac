"""Measures how long every command takes to start, beside importing what any client of a log needs.

python benchmarks/start.py [--runs N] [--json] [COMMAND ...]

Processor time of `haes COMMAND --help`, the smallest of several runs, in turns with the reference so that a busy
machine slows both; compiled modules are cached, as after an installation.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from haes.cli.commands import COMMANDS

REFERENCE = "import asyncio, argparse, redis.asyncio, msgpack"
RUNS = 5
# Seconds for one start, on a very busy machine.
LIMIT = 60
# Times the reference that help, the version and every command that only reads may take.
GOAL = 2.0
# What decides or runs a cluster needs more than a client does.
DECIDING = frozenset({"up", "manager", "agent", "simulate", "plan", "demo"})


def measure(rows: dict[str, Sequence[str]], runs: int) -> dict[str, float]:
    """Returns the seconds of processor time of each command line of Python."""
    taken = dict.fromkeys(rows, float("inf"))
    with tempfile.TemporaryDirectory() as cache:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = cache
        # The first run fills the cache.
        for run in range(runs + 1):
            for name, words in rows.items():
                seconds = _seconds(words, environment)
                if run:
                    taken[name] = min(taken[name], seconds)
    return taken


def _seconds(words: Sequence[str], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, *words]
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, timeout=LIMIT, check=True)  # noqa: S603 - our own
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Runs and prints the measurement; status 1 when a command that only reads misses the goal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help="default: all")
    parser.add_argument("--runs", type=int, default=RUNS, metavar="N")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    haes = ["-m", "haes.cli.main"]
    rows: dict[str, Sequence[str]] = {"": ["-c", REFERENCE]}
    rows |= {option: [*haes, option] for option in ("--help", "--version")}
    rows |= {name: [*haes, name, "--help"] for name in options.commands or COMMANDS}
    taken = measure(rows, options.runs)
    reference = taken.pop("")
    ratios = {name: seconds / reference for name, seconds in taken.items()}
    if options.json:
        print(json.dumps({"reference_ms": round(reference * 1000), "ratios": ratios}, indent=2))
    else:
        print(f"python -c '{REFERENCE}': {reference * 1000:.0f} ms")
        print("| haes ... | ms | times the reference |", "|---|---|---|", sep="\n")
        for name, ratio in ratios.items():
            print(f"| {name} | {taken[name] * 1000:.0f} | {ratio:.2f} |")
    return 1 if any(ratio > GOAL for name, ratio in ratios.items() if name not in DECIDING) else 0


if __name__ == "__main__":
    sys.exit(main())
