"""How long choosing the best motion takes, and how it grows: both methods, seconds and peak memory.

Run it with `python benchmarks/scheduling.py`; `--json` prints one JSON object, `--write` renews the table and the plot
in docs/benchmarks.md.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from haes.scheduling.arrays import CandidateArrays, NodeArrays
from haes.scheduling.usage import METHODS

# (nodes, resources, classes of equal nodes, part of the resources that rules restrict)
SIZES = (
    (3, 100, 1, 0.0),
    (16, 1_000, 1, 0.0),
    (100, 10_000, 1, 0.0),
    (100, 10_000, 5, 0.0),
    (100, 10_000, 5, 0.1),
    (1_000, 100_000, 5, 0.0),
    (1_000, 100_000, 5, 0.1),
    (1_000, 1_000_000, 5, 0.0),
)
# Pairs beyond which topsis is left out: its figures are promised up to here.
LARGEST_TOPSIS = 100_000
# Runs of each size; the fastest counts, since everything else on the machine can only slow it down.
RUNS = 5
GIBIBYTE = 1024**3
DOCUMENT = Path(__file__).parent.parent / "docs" / "benchmarks.md"
PLOT = DOCUMENT.parent / "plots" / "scheduling.svg"
BEGIN, END = "<!-- scheduling: begin -->", "<!-- scheduling: end -->"


def build(nodes: int, resources: int, classes: int, restricted: float) -> tuple[NodeArrays, CandidateArrays]:
    """Returns a random cluster as arrays, the same for the same arguments."""
    random = np.random.default_rng(nodes * 7 + resources * 3 + classes)
    source = random.integers(0, nodes, resources)
    cpu, mem = random.uniform(0.05, 2.0, resources), random.uniform(0.1, 4.0, resources) * GIBIBYTE
    class_of = np.arange(nodes) % classes
    per_node = 2.5 * resources / nodes
    arrays = NodeArrays(
        tuple(f"node{number:04d}" for number in range(nodes)),
        np.floor((2.0 + class_of) * per_node + 8),
        np.floor((4.0 + 2.0 * class_of) * per_node * GIBIBYTE + 8 * GIBIBYTE),
        np.bincount(source, cpu, nodes),
        np.bincount(source, mem, nodes),
    )
    count = int(resources * restricted)
    rows = np.sort(random.choice(resources, count, replace=False))
    allowed = random.random((count, nodes)) < 0.2
    allowed[np.arange(count), source[rows]] = False
    names = [f"vm:{number:07d}" for number in range(resources)]
    return arrays, CandidateArrays(names, source, cpu, mem, rows, allowed)


def measure_one(method: str, size: tuple[int, int, int, float]) -> dict[str, float]:
    """Returns the figures of one method and size; meant for a process of its own, because of the memory's peak."""
    nodes, candidates = build(*size)
    seconds = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        METHODS[method](nodes, candidates, 1)
        seconds.append(time.perf_counter() - begin)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": min(seconds), "peak_bytes": peak}


def measure_all() -> list[dict[str, object]]:
    """Measures every method and size, each in a process of its own."""
    rows: list[dict[str, object]] = []
    for size in SIZES:
        for method in METHODS:
            if method == "topsis" and size[1] > LARGEST_TOPSIS:
                continue
            arguments = [sys.executable, __file__, "--one", method, json.dumps(size)]
            done = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=300)  # noqa: S603
            figures = json.loads(done.stdout)
            rows.append(
                {"method": method, "nodes": size[0], "resources": size[1], "classes": size[2], "restricted": size[3]}
                | figures
            )
    return rows


def table(rows: list[dict[str, object]]) -> str:
    """Returns the figures as a Markdown table."""
    lines = [
        "| method | nodes | resources | node classes | restricted by rules | ms | peak memory |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['method']} | {row['nodes']:,} | {row['resources']:,} | {row['classes']} | {row['restricted']:.0%} |"
        f" {row['seconds'] * 1000:.2f} | {row['peak_bytes'] / 2**20:.0f} MiB |"  # type: ignore[operator]
        for row in rows
    ]
    return "\n".join(lines)


def plot(rows: list[dict[str, object]]) -> str:
    """Returns the growth as an SVG picture: seconds over resources, both on a logarithmic scale."""
    colours = {"bruteforce": "#1f77b4", "topsis": "#d62728"}
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 400" font-family="sans-serif" font-size="12">',
        '<rect width="640" height="400" fill="white"/>',
        '<text x="320" y="20" text-anchor="middle" font-size="14">Seconds to choose the best motion</text>',
    ]

    def place(count: float, seconds: float) -> tuple[float, float]:
        return 80 + (np.log10(count) - 2) * 130, 350 - (np.log10(seconds) + 4.5) * 60

    for power in range(2, 7):
        x, _ = place(10.0**power, 1)
        parts.append(f'<line x1="{x}" y1="40" x2="{x}" y2="350" stroke="#eee"/>')
        parts.append(f'<text x="{x}" y="370" text-anchor="middle">{10**power:,}</text>')
    for power in range(-4, 1):
        _, y = place(100, 10.0**power)
        parts.append(f'<line x1="80" y1="{y}" x2="600" y2="{y}" stroke="#eee"/>')
        parts.append(f'<text x="72" y="{y + 4}" text-anchor="end">{10.0**power:g} s</text>')
    parts.append('<text x="340" y="390" text-anchor="middle">resources</text>')
    for place_in_list, (method, colour) in enumerate(colours.items()):
        chosen = [row for row in rows if row["method"] == method and row["restricted"] == 0 and row["classes"] != 1]
        chosen = [row for row in rows if row["method"] == method and row["resources"] < 10_000] + chosen  # type: ignore[operator]
        points = [place(float(row["resources"]), float(row["seconds"])) for row in chosen]  # type: ignore[arg-type]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        parts.append(f'<text x="100" y="{60 + 18 * place_in_list}" fill="{colour}">{method}</text>')
    return "\n".join([*parts, "</svg>\n"])


def write(rows: list[dict[str, object]]) -> None:
    """Renews the section in the document, and the plot."""
    PLOT.parent.mkdir(parents=True, exist_ok=True)
    PLOT.write_text(plot(rows), encoding="utf-8")
    text = DOCUMENT.read_text(encoding="utf-8")
    machine = (
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}"
    )
    section = (
        f"{BEGIN}\nMeasured on {datetime.now(UTC):%Y-%m-%d}: {machine}; fastest of {RUNS} runs.\n\n{table(rows)}\n{END}"
    )
    before, _, rest = text.partition(BEGIN)
    DOCUMENT.write_text(before + section + rest.partition(END)[2], encoding="utf-8")


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description="seconds and memory for choosing the best motion")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--write", action="store_true", help="renew docs/benchmarks.md")
    parser.add_argument("--one", nargs=2, metavar=("METHOD", "SIZE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        size = json.loads(options.one[1])
        print(json.dumps(measure_one(options.one[0], tuple(size))))
        return
    rows = measure_all()
    if options.write:
        write(rows)
    print(json.dumps({"scheduling": rows}) if options.json else table(rows))


if __name__ == "__main__":
    main()
