"""A plan for a cluster of any size: proved where that can be afforded, else as short as a search finds."""

from dataclasses import dataclass, replace

from haes.scheduling.motions import Scored
from haes.scheduling.planning.cuts import least_motions
from haes.scheduling.planning.descent import Descent
from haes.scheduling.planning.exact import MOST_CELLS, Found, fewest, likely
from haes.scheduling.planning.problem import Motion, Problem, Standing, Unrest
from haes.scheduling.planning.solver import solve

# Units times nodes up to which all sets of changes are searched; beyond it one step alone would fill the time.
LARGEST_EXACT = 10_000
# Motions up to which a shortest plan is searched for; sets so large are counted in hours.
MOST_EXACT = 24
# Motions beyond one for each unit that are looked for: stops on the way.
MOST_STOPS = 2
# Partial sets followed at once when not all can be, and the part of the work that one size of plan may take then.
WIDTH = 400
PART_FOR_A_SIZE = 6
# Sizes tried when not all sets can be looked at.
MOST_TRIES = 4
# What a hundredth over the ceiling weighs beside a hundredth of squared imbalance: little, and ceilings are repaired on
# the way to evenness; much, and they are repaired before it. The shortest plan is taken, in large clusters the first
# that comes to rest.
URGENCIES = (0.01, 1.0, 1000.0)


@dataclass(slots=True, frozen=True)
class Planned:
    """A sequence of motions, and how good it is.

    Attributes:
        motions: in the order in which they are made, each with the imbalance after it.
        before: the cluster before the first motion.
        after: and after the last one.
        bound: no sequence with fewer motions brings the cluster to rest.
        is_best: whether it is proved that no other sequence with as few motions ends more evenly.
    """

    motions: tuple[Scored, ...]
    before: Unrest
    after: Unrest
    bound: int
    is_best: bool

    @property
    def is_shortest(self) -> bool:
        """Returns whether it is proved that no shorter sequence brings the cluster to rest."""
        return self.after.at_rest() and len(self.motions) <= self.bound


def plan(problem: Problem, *, margin: float = 0.0, cells: int = MOST_CELLS, solver: bool = False) -> Planned:
    """Returns the motions that bring a cluster to rest, or as near to it as a search gets.

    Args:
        problem: the cluster.
        margin: what a plan must take away of the imbalance, relative, 0..1, unless a ceiling or a rule is broken.
        cells: how much work proofs may take; the same problem and the same number give the same plan.
        solver: whether the constraint solver, which must be installed, looks for what remains open.
    """
    start = Standing(problem)
    before = start.unrest()
    if before.at_rest():
        return Planned((), before, before, 0, is_best=True)
    needs_repair = before.misplaced > 0 or before.excess > 0
    worth = start.imbalance() * (1.0 - margin)
    if not needs_repair:
        problem = replace(problem, threshold=min(problem.threshold, worth))
    found = Found(bound=1)
    is_large = len(problem.names) * len(problem.nodes) > LARGEST_EXACT
    if is_large:
        found.bound = least_motions(problem)
    elif len(problem.names):
        found = fewest(problem, min(MOST_EXACT, len(problem.names) + MOST_STOPS), cells=cells)
    if found.motions is None:
        found.motions = _search(problem, found.bound, cells // PART_FOR_A_SIZE) if len(problem.names) else []
        if solver and not is_large:
            _ask_solver(problem, found)
    after = _made(problem, found.motions)
    if not needs_repair and after.imbalance() > worth:
        found.motions = []
    standing = Standing(problem)
    scored = []
    for motion in found.motions:
        source = standing.move(motion)
        nodes = problem.nodes.names
        scored.append(Scored(problem.names[motion.unit], nodes[source], nodes[motion.target], standing.imbalance()))
    return Planned(tuple(scored), before, standing.unrest(), found.bound, found.is_best)


def _ask_solver(problem: Problem, found: Found) -> None:
    """Lets the solver look for something shorter than what was found, and prove more."""
    motions = found.motions or []
    is_at_rest = _made(problem, motions).unrest().at_rest()
    if is_at_rest and len(motions) <= found.bound:
        return
    most = len(motions) - 1 if is_at_rest else len(problem.names)
    if most < found.bound:
        return
    answer = solve(problem, found.bound, most)
    found.bound = max(found.bound, answer.bound)
    if answer.motions is not None:
        found.motions = answer.motions


def _made(problem: Problem, motions: list[Motion]) -> Standing:
    """Returns the cluster after motions."""
    standing = Standing(problem)
    for motion in motions:
        standing.move(motion)
    return standing


def _search(problem: Problem, bound: int, most: int) -> list[Motion]:
    """Returns the best that the ways without proof find."""
    best: tuple[Unrest, int, list[Motion]] | None = None
    is_large = len(problem.names) * len(problem.nodes) > LARGEST_EXACT
    # Where no node is over the ceiling, urgency makes no difference.
    for urgency in URGENCIES if Standing(problem).unrest().excess else URGENCIES[:1]:
        motions, unrest = _useful(problem, Descent(problem, urgency).run())
        if best is None or (unrest, len(motions)) < best[:2]:
            best = unrest, len(motions), motions
        if best[0].at_rest() and is_large:
            break
    assert best is not None  # noqa: S101 - there are urgencies
    if is_large:
        return best[2]
    cells, shortest = len(problem.names) * len(problem.nodes), best[2]
    if best[0].at_rest():
        # Longer sequences are easier to find, so from the known one down.
        sizes = range(len(shortest) - 1, max(bound, len(shortest) - 1 - MOST_TRIES) - 1, -1)
    else:
        sizes = range(bound, bound + MOST_TRIES)
    for size in sizes:
        found = likely(problem, size, max(1, min(WIDTH, most // (cells * size))), cells=most)
        if found.motions is not None:
            shortest = found.motions
        if (found.motions is None) == best[0].at_rest():
            break
    return shortest


def _useful(problem: Problem, motions: list[Motion]) -> tuple[list[Motion], Unrest]:
    """Returns motions up to the one after which the cluster is nearest to rest, and how near it is then."""
    standing = Standing(problem)
    best, count = standing.unrest(), 0
    for number, motion in enumerate(motions, start=1):
        standing.move(motion)
        now = standing.unrest()
        if now < best:
            best, count = now, number
    return motions[:count], best
