"""Searches for stories that end badly, or tells one again.

python -m tests.cluster_simulator search --hours 10     on all cores; failing seeds are kept in a file
python -m tests.cluster_simulator tell SEED PROFILE     one story, with its trace
"""

import argparse
import gc
import os
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from itertools import count, cycle, islice
from pathlib import Path

from tests.cluster_simulator.play import Result, play, shorten
from tests.cluster_simulator.story import PROFILES

# Where failing seeds are kept.
KEPT = Path("var/failing-seeds.txt")
LINES = 150


def main() -> int:
    """Runs the command and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    search = commands.add_parser("search", help="play stories for so many simulated hours")
    search.add_argument("--hours", type=float, default=1.0)
    search.add_argument("--from", dest="first", type=int, default=1, help="the first seed")
    search.add_argument("--profile", choices=sorted(PROFILES), action="append")
    search.add_argument("--jobs", type=int, default=os.cpu_count())
    tell = commands.add_parser("tell", help="tell one story")
    tell.add_argument("seed", type=int)
    tell.add_argument("profile", choices=sorted(PROFILES))
    tell.add_argument("--short", action="store_true", help="leave out faults as long as it still fails")
    tell.add_argument("--lines", type=int, default=LINES, help="of the trace, the last ones")
    options = parser.parse_args()
    if options.command == "tell":
        return _tell(options)
    return _search(options)


def _tell(options: argparse.Namespace) -> int:
    result = play(options.seed, options.profile)
    if options.short and result.violations:
        result = shorten(result)
    print("\n".join(result.trace[-options.lines :]))
    print(told(result))
    return 1 if result.violations else 0


def told(result: Result) -> str:
    """Returns a run in words."""
    lines = [f"seed {result.seed}, profile {result.profile}, {result.hours:.2f} hours, {result.events} events"]
    lines += [f"  {fault}" for fault in result.story]
    lines += [f"  WRONG: {text}" for text in result.violations[:10]] or ["  nothing was wrong"]
    return "\n".join(lines)


def _one(task: tuple[int, str]) -> tuple[int, str, list[str], float]:
    gc.freeze()
    result = play(*task)
    return result.seed, result.profile, result.violations, result.hours


def search(tasks: Iterable[tuple[int, str]], hours: float, jobs: int) -> tuple[float, list[tuple[int, str, list[str]]]]:
    """Plays stories until so many hours are simulated; returns the hours and what failed."""
    done, failed = 0.0, []
    todo = iter(tasks)
    with ProcessPoolExecutor(jobs) as pool:
        while done < hours and (part := list(islice(todo, 8 * jobs))):
            for seed, profile, violations, lasted in pool.map(_one, part):
                done += lasted
                if violations:
                    failed.append((seed, profile, violations))
                    print(f"FAILED seed {seed} {profile}: {violations[0][:160]}", flush=True)
    return done, failed


def _search(options: argparse.Namespace) -> int:
    profiles = options.profile or list(PROFILES)
    began = time.monotonic()
    tasks = zip(count(options.first), cycle(profiles))
    done, failed = search(tasks, options.hours, options.jobs)
    print(f"{done:.1f} simulated hours in {time.monotonic() - began:.0f} s, {len(failed)} seeds failed")
    if failed:
        KEPT.parent.mkdir(exist_ok=True)
        with KEPT.open("a") as file:
            file.writelines(f"{seed} {profile} {violations[0]}\n" for seed, profile, violations in failed)
        print(f"kept in {KEPT}; tell one: python -m tests.cluster_simulator tell SEED PROFILE --short")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
