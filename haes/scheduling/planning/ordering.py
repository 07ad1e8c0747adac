"""In which order changes of place can be made, every one of them allowed at its time; knows no way of finding them."""

from collections.abc import Sequence

from haes.scheduling.planning.problem import Motion, Problem, Standing

# Changes put in order at most: orders are searched by subset, of which there are two to the power of this.
MOST_CHANGES = 14


def in_order(problem: Problem, changes: Sequence[Motion]) -> list[Motion] | None:
    """Returns changes in an order in which each is allowed when it is made, or None when there is none.

    Args:
        problem: the cluster.
        changes: units and where they end up, each unit once.
    """
    if len(changes) > MOST_CHANGES:
        return _first_come(problem, changes)
    return _with_stops(problem, [(change,) for change in changes])


def with_stop(problem: Problem, changes: Sequence[Motion]) -> list[Motion] | None:
    """Returns a way to make changes with one motion more: a unit stops on another node; None when there is none."""
    if len(changes) >= MOST_CHANGES:
        return None
    for place, change in enumerate(changes):
        rest = [(other,) for other in (*changes[:place], *changes[place + 1 :])]
        for stop in _stops(problem, change):
            found = _with_stops(problem, [*rest, (stop, change)])
            if found is not None:
                return found
    return None


def with_two_stops(problem: Problem, changes: Sequence[Motion]) -> list[Motion] | None:
    """Returns a way to make changes with two motions more, or None when there is none.

    Two units stop on their ways, one stops twice, or a bystander makes room and comes back.
    """
    if len(changes) >= MOST_CHANGES:
        return None
    ways = [[(change,), *((stop, change) for stop in _stops(problem, change))] for change in changes]
    for first in range(len(changes)):
        direct = [way[0] for way in ways]
        for one in ways[first][1:]:
            for second in range(first + 1, len(changes)):
                for two in ways[second][1:]:
                    direct[first], direct[second] = one, two
                    found = _with_stops(problem, direct)
                    if found is not None:
                        return found
                direct[second] = ways[second][0]
            for stop in _stops(problem, changes[first]):
                direct[first] = (one[0], stop, changes[first])
                found = None if stop == one[0] else _with_stops(problem, direct)
                if found is not None:
                    return found
    return _with_bystander(problem, changes)


def _with_bystander(problem: Problem, changes: Sequence[Motion]) -> list[Motion] | None:
    changed, crowded = {change.unit for change in changes}, {change.target for change in changes}
    for unit in range(len(problem.names)):
        home = int(problem.source[unit])
        # A bystander helps only by leaving a node that somebody wants to enter.
        if unit in changed or home not in crowded or not problem.may_be(unit, home):
            continue
        back = Motion(unit, home)
        for stop in _stops(problem, back):
            found = _with_stops(problem, [*((change,) for change in changes), (stop, back)])
            if found is not None:
                return found
    return None


def _stops(problem: Problem, change: Motion) -> list[Motion]:
    """Returns the motions to nodes that are neither where a unit is nor where it ends up."""
    ends = {int(problem.source[change.unit]), change.target}
    return [
        Motion(change.unit, node)
        for node in range(len(problem.nodes))
        if node not in ends and problem.may_be(change.unit, node)
    ]


def _first_come(problem: Problem, changes: Sequence[Motion]) -> list[Motion] | None:
    """Makes whatever is allowed until nothing is left; good for many changes, and blind to some orders."""
    standing, left, made = Standing(problem), list(changes), list[Motion]()
    while left:
        possible = [change for change in left if standing.admits(change)]
        if not possible:
            return None
        for change in possible:
            if standing.admits(change):
                standing.move(change)
                made.append(change)
                left.remove(change)
    return made


def _with_stops(problem: Problem, ways: Sequence[tuple[Motion, ...]]) -> list[Motion] | None:
    """Interleaves the ways of several units; each way is made from its first motion to its last."""
    standing = Standing(problem)
    progress = [0] * len(ways)
    hopeless: set[tuple[int, ...]] = set()
    made: list[Motion] = []

    def go_on() -> bool:
        if all(done == len(way) for done, way in zip(progress, ways, strict=True)):
            return True
        key = tuple(progress)
        if key in hopeless:
            return False
        for number, way in enumerate(ways):
            if progress[number] == len(way):
                continue
            motion = way[progress[number]]
            if not standing.admits(motion):
                continue
            before = [
                (node, standing.cpu[node], standing.mem[node]) for node in (standing.place[motion.unit], motion.target)
            ]
            source = standing.move(motion)
            progress[number] += 1
            made.append(motion)
            if go_on():
                return True
            made.pop()
            progress[number] -= 1
            standing.place[motion.unit] = source
            for node, cpu, mem in before:
                standing.cpu[node], standing.mem[node] = cpu, mem
        hopeless.add(key)
        return False

    return made if go_on() else None
