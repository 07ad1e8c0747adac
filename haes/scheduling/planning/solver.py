"""The fewest motions by a constraint solver, where it is installed (`pip install haes[planning]`).

The solver is given a problem that is a little too easy: evenness is told to it plane by plane, and rounding is always
in its favour. So what it rules out is ruled out, and what it finds is checked and, if wrong, forbidden. One worker, a
fixed seed and a limit that counts its work make the same question have the same answer.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from haes.scheduling.planning.cuts import plane
from haes.scheduling.planning.exact import Found
from haes.scheduling.planning.ordering import in_order
from haes.scheduling.planning.problem import Motion, Problem, Standing

# Shares and distances become whole numbers by this factor; each is off by less than one.
SCALE = 10_000_000
# Units of the solver's own count of work, about seconds, for one question and for all of a plan.
WORK_FOR_A_QUESTION = 2.0
MOST_WORK = 5.0
# Answers looked at, planes and forbidden sets together.
MOST_ANSWERS = 300


def is_installed() -> bool:
    """Returns whether the solver can be used."""
    return find_spec("ortools") is not None


def solve(problem: Problem, begin: int, most: int) -> Found:
    """Returns the shortest sequence that brings a cluster to rest in which each unit moves at most once.

    Args:
        problem: the cluster, not at rest.
        begin: no sequence with fewer motions exists, as the caller knows.
        most: longer ones are not wanted.
    """
    return _Question(problem, begin, most).ask()


class _Question:
    def __init__(self, problem: Problem, begin: int, most: int) -> None:
        self.problem, self.begin, self.most = problem, begin, most
        # Imported here: it takes longer than most commands.
        self.cp: Any = import_module("ortools.sat.python.cp_model")
        self.model = self.cp.CpModel()
        nodes, units = problem.nodes, range(len(problem.names))
        allowed = problem.allowed()
        self.goes: dict[tuple[int, int], Any] = {
            (unit, node): self.model.new_bool_var("")
            for unit in units
            for node in range(len(nodes))
            if allowed[unit, node] and node != problem.source[unit]
        }
        for unit in units:
            ways = [self.goes[unit, node] for node in range(len(nodes)) if (unit, node) in self.goes]
            if not allowed[unit, problem.source[unit]]:
                self.model.add_exactly_one(ways)
            elif ways:
                self.model.add_at_most_one(ways)
        self._keep_under_ceiling()
        self._keep_apart()
        self.count = sum(self.goes.values())
        self.model.add(self.count >= begin)
        self.model.add(self.count <= most)
        self.model.minimize(self.count)

    def _keep_under_ceiling(self) -> None:
        problem = self.problem
        if not np.isfinite(problem.ceiling):
            return
        for used, sizes, most in (
            (problem.nodes.cpu, problem.cpu, problem.most_cpu()),
            (problem.nodes.mem, problem.mem, problem.most_mem()),
        ):
            for node in range(len(problem.nodes)):
                share = sizes / most[node] * SCALE
                change = sum(
                    (int(share[unit]) if target == node else -int(share[unit]) - 1) * variable
                    for (unit, target), variable in self.goes.items()
                    if node in {target, int(problem.source[unit])}
                )
                self.model.add(change <= int((1.0 - used[node] / most[node]) * SCALE) + 1)

    def _keep_apart(self) -> None:
        def on(unit: int, node: int) -> Any:
            if node != self.problem.source[unit]:
                return self.goes.get((unit, node), 0)
            return 1 - sum(variable for (other, _), variable in self.goes.items() if other == unit)

        for unit, others in self.problem.apart.items():
            for other in others:
                for node in range(len(self.problem.nodes)) if unit < other else ():
                    self.model.add(on(unit, node) + on(other, node) <= 1)

    def ask(self) -> Found:
        """Asks until an answer stands, or the work is done."""
        found, work = Found(bound=self.begin), 0.0
        # The size of the smallest set that no order reaches directly: with a stop on the way, one motion more does it.
        forbidden = np.inf
        self._add_plane(self.problem.nodes.cpu, self.problem.nodes.mem)
        for _ in range(MOST_ANSWERS):
            solver = self.cp.CpSolver()
            solver.parameters.num_workers = 1
            solver.parameters.random_seed = 1
            solver.parameters.max_deterministic_time = WORK_FOR_A_QUESTION
            status = solver.solve(self.model)
            work += float(solver.response_proto.deterministic_time)
            if status == self.cp.INFEASIBLE:
                # Nothing up to `most` is at rest; what was forbidden may still be reached with stops.
                found.bound = int(min(self.most + 1, max(self.begin, forbidden + 1)))
                return found
            if status != self.cp.OPTIMAL or work > MOST_WORK:
                return found
            changes = [Motion(*key) for key, variable in self.goes.items() if solver.boolean_value(variable)]
            found.bound = int(max(self.begin, min(len(changes), forbidden + 1)))
            standing = Standing(self.problem)
            for change in changes:
                standing.move(change)
            if standing.imbalance() > self.problem.threshold:
                self._add_plane(np.array(standing.cpu), np.array(standing.mem))
                continue
            motions = in_order(self.problem, changes) if standing.unrest().at_rest() else None
            if motions is not None:
                found.motions, found.imbalance = motions, standing.imbalance()
                return found
            forbidden = min(forbidden, len(changes))
            chosen = {(change.unit, change.target) for change in changes}
            self.model.add(sum(1 - variable if key in chosen else variable for key, variable in self.goes.items()) >= 1)
        return found

    def _add_plane(self, cpu: Any, mem: Any) -> None:
        """Tells the plane between a state and evenness, as what all motions together must gain from the beginning."""
        problem, nodes = self.problem, self.problem.nodes
        slopes, _ = plane((cpu / nodes.maxcpu + mem / nodes.maxmem)[None, :] / 2.0, problem.threshold)
        slope = slopes[0]
        per_cpu, per_mem = 0.5 * slope / nodes.maxcpu, 0.5 * slope / nodes.maxmem
        gains = []
        for (unit, target), variable in self.goes.items():
            source = int(problem.source[unit])
            gain = problem.cpu[unit] * (per_cpu[source] - per_cpu[target])
            gain += problem.mem[unit] * (per_mem[source] - per_mem[target])
            gains.append((int(np.floor(gain * SCALE)) + 1) * variable)
        distance = float((slope * nodes.loads()).sum())
        self.model.add(sum(gains) >= int(np.floor(distance * SCALE)))
