"""What a sequence of motions means for the nodes of a snapshot: why it is made, what it costs, how it looks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from haes.scheduling.motions import Scored
from haes.scheduling.plan import Movable
from haes.scheduling.planning.planner import Planned
from haes.scheduling.stats import NodeStats

PERCENT = 100
GIBIBYTE = 2**30
# Characters of a full bar; two of them, names and numbers fit 80 columns.
BAR = 20
# Nodes drawn at most: more do not fit a screen. Those that motions touch come first.
MOST_DRAWN = 24

Shares = dict[str, tuple[float, float]]


@dataclass(slots=True)
class Walk:
    """A sequence of motions on the nodes.

    Attributes:
        shares: node -> (cpu share, memory share), before the first motion and after each one.
        bytes_moved: memory of everything that moves.
        fullest: the largest share that a motion brings its target to.
    """

    shares: list[Shares]
    bytes_moved: float
    fullest: float


def walk(nodes: Mapping[str, NodeStats], units: Sequence[Movable], motions: Sequence[Scored]) -> Walk:
    """Makes motions one by one."""
    by_leader = {unit.members[0]: unit for unit in units}
    used = {name: [stats.cpu, stats.mem] for name, stats in nodes.items()}

    def shares() -> Shares:
        return {
            name: (cpu / int(nodes[name].maxcpu), mem / int(nodes[name].maxmem)) for name, (cpu, mem) in used.items()
        }

    result = Walk([shares()], 0.0, 0.0)
    for motion in motions:
        unit = by_leader[motion.resource]
        for kind, moved in enumerate((unit.cpu, unit.mem)):
            used[motion.source][kind] = max(0.0, used[motion.source][kind] - moved)
            used[motion.target][kind] += moved
        result.shares.append(shares())
        result.bytes_moved += unit.mem
        result.fullest = max(result.fullest, *result.shares[-1][motion.target])
    return result


def compare(ways: Mapping[str, tuple[Walk, float]], ceiling: float | None) -> list[str]:
    """Returns ways side by side as a table.

    Args:
        ways: name -> what happens on the way, and the imbalance at its end.
        ceiling: the share that no node is to exceed, if there is one.
    """
    lines = [f"{'':12}{'motions':>9}{'GiB moved':>11}{'fullest target':>16}{'imbalance after':>17}{'over ceiling':>14}"]
    for name, (made, imbalance) in ways.items():
        over = "-" if ceiling is None else str(sum(max(pair) > ceiling for pair in made.shares[-1].values()))
        lines.append(
            f"{name:12}{len(made.shares) - 1:>9}{made.bytes_moved / GIBIBYTE:>11.1f}{made.fullest * PERCENT:>15.1f}%"
            f"{imbalance * PERCENT:>16.1f}%{over:>14}"
        )
    return lines


def why(planned: Planned, made: Walk, units: Sequence[Movable], ceiling: float | None) -> list[str]:
    """Says what a plan is for, what each motion does to its two nodes, and why there is no shorter one."""
    members = {unit.members[0]: unit.members for unit in units}
    reasons = []
    if planned.before.misplaced:
        reasons.append(f"{planned.before.misplaced} against a rule")
    if ceiling is not None:
        over = sorted(name for name, pair in made.shares[0].items() if max(pair) > ceiling)
        reasons += [f"over the ceiling of {ceiling * PERCENT:g}%: {', '.join(over)}"] if over else []
    if planned.before.over_threshold:
        reasons.append(f"an imbalance of {planned.before.over_threshold * PERCENT:.1f}%")
    lines = [f"why: {'; '.join(reasons) or 'nothing to do'}"]
    for number, motion in enumerate(planned.motions, start=1):
        before, after = made.shares[number - 1], made.shares[number]
        bundle = members[motion.resource]
        company = "" if len(bundle) == 1 else f" (with {', '.join(bundle[1:])})"
        lines.append(f"{number}. {motion.resource}{company}: {motion.source} to {motion.target}")
        for node in (motion.source, motion.target):
            cpu, memory = (_change(before[node][kind], after[node][kind]) for kind in (0, 1))
            lines.append(f"     {node}: cpu {cpu}, memory {memory}")
    if planned.is_shortest and len(planned.motions) > 1:
        count = len(planned.motions) - 1
        lines.append(
            f"no set of {count} or fewer motions ends under threshold and ceiling: all that could were looked at"
        )
    elif planned.after.at_rest() and not planned.is_shortest:
        lines.append(f"fewer than {planned.bound} motions cannot do it; between, not everything was looked at")
    if planned.is_best and planned.motions:
        lines.append("no other plan as short ends more evenly")
    return lines


def _change(before: float, after: float) -> str:
    return f"{before * PERCENT:.0f}% to {after * PERCENT:.0f}%"


def draw(motions: Sequence[Scored], made: Walk) -> list[str]:
    """Draws the nodes before, each step, and the nodes after: bars of cpu and memory."""
    touched = {node for motion in motions for node in (motion.source, motion.target)}
    shown = sorted(made.shares[0], key=lambda name: (name not in touched, name))[:MOST_DRAWN]
    width = max((len(name) for name in shown), default=0)
    lines = ["before", *_bars(made.shares[0], shown, width)]
    for motion, shares in zip(motions, made.shares[1:], strict=True):
        lines.append(f"{motion.resource}: {motion.source} to {motion.target}")
        lines += _bars(shares, [motion.source, motion.target], width)
    if motions:
        lines += ["after", *_bars(made.shares[-1], shown, width)]
    if len(shown) < len(made.shares[0]):
        lines.append(f"and {len(made.shares[0]) - len(shown)} nodes more")
    return lines


def _bars(shares: Shares, names: Sequence[str], width: int) -> list[str]:
    return [f"  {name:{width}} cpu {_bar(shares[name][0])} memory {_bar(shares[name][1])}" for name in names]


def _bar(share: float) -> str:
    full = min(BAR, round(share * BAR))
    return f"{'█' * full}{'·' * (BAR - full)} {share * PERCENT:3.0f}%"
