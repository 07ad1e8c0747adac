"""The table that replay looks up is what the state machine does, for every pair."""

from itertools import product

import pytest
from transitions import Machine, MachineError

import events.catalog  # noqa: F401 - declares the event types
from events.schema import SCHEMAS
from haes.machines import AGENT, MANAGER, NODE, RESOURCE, IllegalTransition, StateMachine
from haes.machines.table import derive_table

MACHINES = [RESOURCE, NODE, AGENT, MANAGER]
TRIGGERS = {machine.name: sorted({*machine.machine.events, *machine.states}) for machine in MACHINES}


class _Model:
    """A model as `transitions` wants it, made by its own means rather than by ours."""

    state: str


def _dispatched(machine: StateMachine, state: str, trigger: str) -> str | None:
    """Returns where the Machine itself goes, on a model registered with it, or None where it refuses."""
    model = _Model()
    machine.machine.add_model(model, initial=state)
    try:
        moved = getattr(model, trigger)() if trigger in machine.machine.events else False
        return str(model.state) if moved else None
    except MachineError:
        return None
    finally:
        machine.machine.remove_model(model)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_the_table_equals_the_machine_for_every_pair(machine: StateMachine) -> None:
    """For each trigger in each state, table, guard and a dispatched trigger agree on the outcome."""
    for state, trigger in product(machine.states, TRIGGERS[machine.name]):
        expected = _dispatched(machine, state, trigger)
        assert machine.table.get((state, trigger)) == expected
        for way in (machine.apply, machine.decide):
            if expected is None:
                with pytest.raises(IllegalTransition, match=f"{machine.name} .*'{state}' to '{trigger}'"):
                    way(state, trigger)
            else:
                assert way(state, trigger) == expected


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_every_state_can_be_reached(machine: StateMachine) -> None:
    """No machine has a state that nothing leads to; resources begin in either of two."""
    reached = {machine.initial, "request_start"} if machine is RESOURCE else {machine.initial}
    while more := {dest for (state, _), dest in machine.table.items() if state in reached} - reached:
        reached |= more
    assert reached == set(machine.states)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_every_state_that_can_be_entered_has_an_event(machine: StateMachine) -> None:
    """Events are named after the state entered, so each such state has its type on the stream."""
    entered = set(machine.table.values())
    assert {f"{machine.name}.{state}" for state in entered} <= SCHEMAS.keys()


def test_models_are_never_kept() -> None:
    """Deciding registers nothing with the Machine, which would cost more with every resource."""
    for machine in MACHINES:
        (state, trigger), _ = next(iter(machine.table.items()))
        machine.decide(state, trigger)
        assert machine.machine.models == []


def _machine(transitions: list[dict[str, object]]) -> Machine:
    return Machine(model=None, states=["a", "b", "c"], initial="a", auto_transitions=False, transitions=transitions)


@pytest.mark.parametrize("kind", ["conditions", "unless"])
def test_a_conditional_transition_is_refused(kind: str) -> None:
    """A table cannot stand for a transition that may or may not happen."""
    machine = _machine([{"trigger": "go", "source": "a", "dest": "b", kind: lambda: True}])
    with pytest.raises(ValueError, match="'go' from 'a' is conditional"):
        derive_table(machine)


def test_an_ambiguous_transition_is_refused() -> None:
    """A table cannot stand for a choice between two destinations."""
    machine = _machine([{"trigger": "go", "source": "a", "dest": "b"}, {"trigger": "go", "source": "a", "dest": "c"}])
    with pytest.raises(ValueError, match="ambiguous"):
        derive_table(machine)


def test_names_that_begin_alike_are_different_states() -> None:
    """`request_start` is not `request_start_balance`."""
    assert RESOURCE.table["request_start_balance", "started"] == "started"
    assert ("request_start_balance", "request_start_balance") not in RESOURCE.table
