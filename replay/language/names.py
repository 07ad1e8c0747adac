"""The names that conditions may use, with their types and what they stand for; the language's only view of a state."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from haes import settings
from haes.balancer.memory import Failure
from haes.state.records import AgentRecord, ResourceConfiguration, ResourceRecord
from replay.language.moment import Moment

NUMBER, TEXT, BOOLEAN, NONE = "a number", "a text", "true or false", "none"
NUMBERS, TEXTS, NOTHING = "a list of numbers", "a list of texts", "an empty list"


@dataclass(frozen=True, slots=True)
class Value:
    """A name that stands for a value: its type, what it is, and how to get it. Every value may be none."""

    type: str
    meaning: str
    get: Callable[[Moment, Any], Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of thing with attributes: `resource.state`."""

    name: str
    attributes: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Things:
    """All things of a kind, for counting."""

    kind: Kind
    meaning: str
    keys: Callable[[Moment], Collection[Any]]


def _record(get: Callable[[ResourceRecord], Any]) -> Callable[[Moment, Any], Any]:
    def found(moment: Moment, key: Any) -> Any:
        record = moment.state.resources.get(key)
        return None if record is None else get(record)

    return found


def _configuration(get: Callable[[ResourceConfiguration], Any]) -> Callable[[Moment, Any], Any]:
    def found(moment: Moment, key: Any) -> Any:
        configuration = moment.state.configurations.get(key)
        return None if configuration is None else get(configuration)

    return found


def _agent(get: Callable[[AgentRecord], str]) -> Callable[[Moment, Any], Any]:
    def found(moment: Moment, key: Any) -> Any:
        agent = moment.state.agents.get(key)
        return None if agent is None else get(agent)

    return found


def _failure(get: Callable[[Failure], Any]) -> Callable[[Moment, Any], Any]:
    def found(moment: Moment, key: Any) -> Any:
        failure = moment.state.balance.failures.get(key)
        return None if failure is None else get(failure)

    return found


def _place(moment: Moment, key: Any) -> str | None:
    record, configuration = moment.state.resources.get(key), moment.state.configurations.get(key)
    return record.node if record is not None else configuration.node if configuration is not None else None


def _rests(moment: Moment, key: Any) -> bool:
    until = moment.state.balance.cooldowns.get(key)
    return until is not None and moment.state.at < until


def _attempts(moment: Moment, key: Any) -> int:
    failures = moment.state.balance.failures
    return max((failure.attempts for pair, failure in failures.items() if pair[0] == key), default=0)


RESOURCE = Kind(
    "resource",
    {
        "name": Value(TEXT, "its id", lambda _moment, key: key),
        "exists": Value(
            BOOLEAN,
            "whether it is configured or looked after",
            lambda moment, key: key in moment.state.resources or key in moment.state.configurations,
        ),
        "state": Value(TEXT, "state of its machine", _record(lambda record: record.state)),
        "node": Value(TEXT, "where it is", _place),
        "target": Value(TEXT, "where it is going", _record(lambda record: record.target)),
        "running": Value(BOOLEAN, "whether its agent confirmed that it runs", _record(lambda record: record.running)),
        "queued": Value(BOOLEAN, "whether a motion or stop waits", _record(lambda record: record.request is not None)),
        "origin": Value(TEXT, "what asked for its motion or stop", _record(lambda record: record.origin)),
        "failed_nodes": Value(TEXTS, "where its start failed", _record(lambda record: record.failed_nodes or [])),
        "requested": Value(TEXT, "the state people ask for", _configuration(lambda item: item.state)),
        "group": Value(TEXT, "its old-style group", _configuration(lambda item: item.group)),
        "lock": Value(TEXT, "why it may not be touched", _configuration(lambda item: item.lock)),
        "auto_rebalance": Value(
            BOOLEAN, "whether the balancer may move it", _configuration(lambda item: item.auto_rebalance)
        ),
        "rests": Value(BOOLEAN, "whether it rests after a motion of the balancer", _rests),
        "attempts": Value(NUMBER, "most failed motions to one node since the last success", _attempts),
        "parked": Value(
            BOOLEAN, "whether an event about it could not be applied", lambda moment, key: key in moment.state.parked
        ),
    },
)
NODE = Kind(
    "node",
    {
        "name": Value(TEXT, "its name", lambda _moment, key: key),
        "exists": Value(BOOLEAN, "whether it belongs to the cluster", lambda moment, key: key in moment.state.members),
        "state": Value(TEXT, "state of its machine", lambda moment, key: moment.state.nodes.get(key)),
        "manager": Value(TEXT, "state of its manager", lambda moment, key: moment.state.managers.get(key)),
        "agent": Value(TEXT, "state of its agent", _agent(lambda agent: agent.state)),
        "mode": Value(TEXT, "mode of its agent", _agent(lambda agent: agent.mode)),
        "maintenance": Value(
            BOOLEAN, "whether maintenance was asked for", lambda moment, key: key in moment.state.maintenance
        ),
        "resources": Value(
            NUMBER,
            "resources that are on it",
            lambda moment, key: sum(record.node == key for record in moment.state.resources.values()),
        ),
    },
)
FAILURE = Kind(
    "failure",
    {
        "resource": Value(TEXT, "what failed to move", lambda _moment, key: key[0]),
        "target": Value(TEXT, "where to", lambda _moment, key: key[1]),
        "attempts": Value(NUMBER, "failures since the last success", _failure(lambda failure: failure.attempts)),
        "until": Value(NUMBER, "end of the back-off, seconds", _failure(lambda failure: failure.until)),
        "first_series": Value(
            NUMBER, "first series that may try again", _failure(lambda failure: failure.first_series)
        ),
        "reason": Value(TEXT, "what was reported", _failure(lambda failure: failure.reason)),
    },
)


def _of_event(name: str) -> Callable[[Moment, Any], Any]:
    return lambda moment, _key: None if moment.event is None else getattr(moment.event, name)


EVENT = Kind(
    "event",
    {
        "type": Value(TEXT, "what happened", _of_event("type")),
        "subject": Value(TEXT, "whom it happened to", _of_event("subject")),
        "by": Value(TEXT, "its author", _of_event("by")),
        "about": Value(TEXT, "its short phrase", _of_event("about")),
        "late": Value(BOOLEAN, "whether its author was cut off", _of_event("late")),
    },
)


def _paused(moment: Moment, _key: Any) -> bool:
    until = moment.state.balance.paused_until
    return until is not None and moment.state.at < until


def _refusal(moment: Moment, _key: Any) -> str | None:
    refusal = moment.state.balance.refusal
    return None if refusal is None else refusal[0]


VALUES: dict[str, Value] = {
    "n": Value(NUMBER, "number of the last event", lambda moment, _key: moment.state.n),
    "at": Value(NUMBER, "domain time, seconds", lambda moment, _key: moment.state.at),
    "epoch": Value(NUMBER, "highest epoch seen", lambda moment, _key: moment.state.epoch),
    "leader": Value(TEXT, "node whose manager leads", lambda moment, _key: moment.state.leader),
    "scheduler": Value(TEXT, "scheduler mode in use", lambda moment, _key: moment.state.scheduler),
    "disarm": Value(
        TEXT,
        "disarming or disarmed while HA is out of action",
        lambda moment, _key: None if moment.state.disarm is None else moment.state.disarm.state,
    ),
    "imbalance": Value(NUMBER, "last one put on record, percent", lambda moment, _key: moment.imbalance),
    "series": Value(NUMBER, "the balancer's series", lambda moment, _key: moment.state.balance.series),
    "motions": Value(NUMBER, "motions that it ever issued", lambda moment, _key: moment.state.balance.motions),
    "failed_in_a_row": Value(
        NUMBER, "its failed motions in a row", lambda moment, _key: moment.state.balance.failed_in_a_row
    ),
    "paused": Value(BOOLEAN, "whether it pauses", _paused),
    "refusal": Value(TEXT, "why it last did nothing", _refusal),
}
THINGS: dict[str, Things] = {
    "resources": Things(
        RESOURCE,
        "every resource",
        lambda moment: moment.state.resources.keys() | moment.state.configurations.keys(),
    ),
    "nodes": Things(NODE, "every node", lambda moment: moment.state.members | moment.state.nodes.keys()),
    "failures": Things(FAILURE, "every pair that failed", lambda moment: moment.state.balance.failures.keys()),
}
# Functions that look one thing up by its name.
LOOK_UPS: dict[str, Kind] = {"resource": RESOURCE, "node": NODE}
# Functions over all things of a kind: the type of what they return, and how they make it of single answers.
OVER_ALL: dict[str, tuple[str, Callable[[list[bool]], Any]]] = {
    "count": (NUMBER, sum),
    "any": (BOOLEAN, any),
    "all": (BOOLEAN, all),
}
SETTING = "setting"
# Names that a snapshot does not hold: they come from single events.
FROM_EVENTS = frozenset({"imbalance", "event"})


def setting(name: str) -> Value | None:
    """Returns what `setting("KEY")` stands for, None for a key that does not exist."""
    key = settings.CRS_KEYS.get(name)
    if key is None:
        return None
    return Value(TEXT if key.choices else NUMBER, name, lambda moment, _key: settings.crs(moment.state.settings, name))
