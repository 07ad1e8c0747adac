"""A state machine of the `transitions` package and the table that replay uses instead; knows no particular machine.

A trigger is named after the state that it enters, because that is what the events on the stream are named after. The
Machine is the definition and the guard when deciding; the table is derived from it once and only looked up when
applying, since a look-up costs a hundredth of a trigger. Models are never registered: `add_model` is quadratic.
"""

from collections.abc import Mapping

from transitions import Machine, MachineError

from events.errors import HaesError


class IllegalTransition(HaesError):
    """The state machine has no such change; the message names machine, state and trigger."""


class _Model:
    """The one thing that `transitions` needs: an object with a state."""

    __slots__ = ("state",)

    def __init__(self, state: str) -> None:
        self.state = state


class StateMachine:
    """One kind of state machine.

    Args:
        name: what the machine is about, for messages and diagrams.
        initial: the state that a new subject is in.
        changes: source state -> the states that may follow it.
    """

    def __init__(self, name: str, initial: str, changes: Mapping[str, tuple[str, ...]]) -> None:
        self.name = name
        self.initial = initial
        states = sorted({initial, *changes, *(dest for dests in changes.values() for dest in dests)})
        self.states = tuple(states)
        self.machine = Machine(
            model=None,
            states=states,
            initial=initial,
            auto_transitions=False,
            send_event=True,
            transitions=[
                {"trigger": dest, "source": source, "dest": dest} for source, dests in changes.items() for dest in dests
            ],
        )
        self.table = derive_table(self.machine)

    def decide(self, state: str, trigger: str) -> str:
        """Returns the state that a trigger leads to, asking the Machine itself.

        Raises:
            IllegalTransition: the Machine has no such transition.
        """
        model = _Model(state)
        event = self.machine.events.get(trigger)
        try:
            moved = event is not None and event.trigger(model)
        except MachineError:
            moved = False
        if not moved:
            raise self.illegal(state, trigger)
        return model.state

    def apply(self, state: str, trigger: str) -> str:
        """Returns the state that a recorded trigger led to, from the table.

        Raises:
            IllegalTransition: the table has no such pair, so the record breaks the rules.
        """
        dest = self.table.get((state, trigger))
        if dest is None:
            raise self.illegal(state, trigger)
        return dest

    def states_before(self, trigger: str) -> frozenset[str]:
        """Returns the states in which a trigger is allowed, for who applies the same trigger again and again."""
        return frozenset(state for state, allowed in self.table if allowed == trigger)

    def illegal(self, state: str, trigger: str) -> IllegalTransition:
        """Returns the error of a change that the machine does not have."""
        return IllegalTransition(f"{self.name} cannot go from '{state}' to '{trigger}'")


def derive_table(machine: Machine) -> dict[tuple[str, str], str]:
    """Returns `(state, trigger) -> state` for a Machine.

    Raises:
        ValueError: a transition is conditional or ambiguous, so that a table could not stand for it.
    """
    table: dict[tuple[str, str], str] = {}
    for trigger, event in machine.events.items():
        for source, transitions in event.transitions.items():
            if len(transitions) != 1 or transitions[0].conditions:
                raise ValueError(f"transition '{trigger}' from '{source}' is conditional or ambiguous")
            table[source, trigger] = str(transitions[0].dest)
    return table
