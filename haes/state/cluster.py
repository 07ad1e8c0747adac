"""The cluster's state: the fold of every event so far. Holds and copies; what events do to it is in the fold modules.

A leader decides on a working copy, which copies a record only when it changes, so that a round over ten thousand
resources costs no more than what it changes.
"""

from collections.abc import Collection
from typing import Any

from haes.balancer.memory import BalanceMemory
from haes.settings import Settings
from haes.state.records import AgentRecord, Command, Disarm, Parked, ResourceConfiguration, ResourceRecord
from haes.state.restarts import ServiceMemory


class ClusterState:
    """Everything that a replay leads to.

    Attributes:
        n: sequence number of the last event applied.
        at: domain time of that event, seconds.
        epoch: highest epoch seen.
        name: the cluster's name.
        members: nodes that belong to the cluster.
        nodes: node -> state of its machine, for nodes that a leader has seen.
        present: nodes that the present leader saw in its last round that changed something about it.
        last_online: node -> when it was last seen online, for the fencing delay; known to the present leader only.
        maintenance: nodes that operators took out of service.
        accepted_log: id of the log that an operator accepted although others knew another one, or None.
        lost_events: events that the log is known to have lost and no operator has accepted to be lost.
        fence_confirmed: nodes of which an operator said that they run nothing any more, until they are back.
        disarm: set while HA is being taken, or is, out of action.
        leader: the node whose manager leads, or None.
        program: version of the program that decides as leader, None where that was not recorded.
        policy_version: version of its decisions, see `haes/version.py`; None where that was not recorded.
        scheduler: the scheduler mode in use by the present leader, or None.
        settings: what is set, by section.
        rules_text: affinity rules as written.
        groups_text: old-style groups as written.
        rules_applied: digest of what the present leader took into use, or None.
        rules_nodes: the nodes that these rules were compiled for.
        groups_rounds_left: rounds until groups are turned into rules, or None.
        configurations: resource -> configuration.
        resources: resource -> record.
        leftovers: resource -> nodes on which it may run although it is not to, until each is known to be clear of it.
        agents: node -> what its agent reported.
        managers: node -> state of its manager's machine.
        announced: lease of a manager or agent -> event type -> the version that its program understands.
        commands: what operators asked for and nobody looked at yet, by id.
        command_count: commands ever received.
        requests: user -> the last entry of his own stream that was taken over.
        request_keys: `USER/KEY` -> the first command that bore that key; of the last ones only.
        balance: the balancer's memory.
        services: resource -> what is remembered of its deaths.
        archived: file of an archived segment -> its SHA-256, once it was read back and compared.
        versions: subject -> number of events about it, for guarded appends.
        parked: subject -> why its events are no longer applied.
    """

    __slots__ = (
        "_own",
        "accepted_log",
        "agents",
        "announced",
        "archived",
        "at",
        "balance",
        "command_count",
        "commands",
        "configurations",
        "disarm",
        "epoch",
        "fence_confirmed",
        "groups_rounds_left",
        "groups_text",
        "last_online",
        "leader",
        "leftovers",
        "lost_events",
        "maintenance",
        "managers",
        "members",
        "n",
        "name",
        "nodes",
        "parked",
        "policy_version",
        "present",
        "program",
        "request_keys",
        "requests",
        "resources",
        "rules_applied",
        "rules_nodes",
        "rules_text",
        "scheduler",
        "services",
        "settings",
        "versions",
    )

    def __init__(self) -> None:
        self.n = 0
        self.at: float = 0
        self.epoch = 0
        self.name = ""
        self.members: set[str] = set()
        self.nodes: dict[str, str] = {}
        self.present: set[str] = set()
        self.last_online: dict[str, float] = {}
        self.maintenance: set[str] = set()
        self.fence_confirmed: set[str] = set()
        self.accepted_log: str | None = None
        self.lost_events = 0
        self.disarm: Disarm | None = None
        self.leader: str | None = None
        self.program: str | None = None
        self.policy_version: int | None = None
        self.scheduler: str | None = None
        self.settings: Settings = {}
        self.rules_text = ""
        self.groups_text = ""
        self.rules_applied: str | None = None
        self.rules_nodes: list[str] = []
        self.groups_rounds_left: int | None = None
        self.configurations: dict[str, ResourceConfiguration] = {}
        self.resources: dict[str, ResourceRecord] = {}
        self.leftovers: dict[str, frozenset[str]] = {}
        self.agents: dict[str, AgentRecord] = {}
        self.managers: dict[str, str] = {}
        self.announced: dict[str, dict[str, int]] = {}
        self.commands: dict[int, Command] = {}
        self.command_count = 0
        self.requests: dict[str, str] = {}
        self.request_keys: dict[str, int] = {}
        self.balance = BalanceMemory()
        self.services: dict[str, ServiceMemory] = {}
        self.archived: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.parked: dict[str, Parked] = {}
        # None: every record belongs to this state. A set: names of the records that this copy has made its own.
        self._own: set[tuple[str, str]] | None = None

    def working_copy(self) -> "ClusterState":
        """Returns a copy that can be changed without changing this state; records are copied when they change."""
        copy = ClusterState()
        for name in ("n", "at", "epoch", "name", "disarm", "leader", "program", "policy_version", "scheduler"):
            setattr(copy, name, getattr(self, name))
        copy.rules_text = self.rules_text
        copy.groups_text = self.groups_text
        copy.rules_applied = self.rules_applied
        copy.rules_nodes = self.rules_nodes  # replaced as a whole, never changed in place
        copy.groups_rounds_left = self.groups_rounds_left
        copy.command_count = self.command_count
        copy.members = set(self.members)
        copy.nodes = dict(self.nodes)
        copy.present = set(self.present)
        copy.last_online = dict(self.last_online)
        copy.maintenance = set(self.maintenance)
        copy.fence_confirmed = set(self.fence_confirmed)
        copy.accepted_log = self.accepted_log
        copy.lost_events = self.lost_events
        copy.settings = self.settings  # replaced as a whole, never changed in place
        copy.configurations = dict(self.configurations)
        copy.resources = dict(self.resources)
        copy.leftovers = dict(self.leftovers)
        copy.agents = dict(self.agents)
        copy.managers = dict(self.managers)
        copy.announced = dict(self.announced)
        copy.commands = dict(self.commands)
        copy.requests = dict(self.requests)
        copy.request_keys = dict(self.request_keys)
        copy.balance = self.balance.copy()
        copy.services = dict(self.services)
        copy.archived = dict(self.archived)
        copy.versions = dict(self.versions)
        copy.parked = dict(self.parked)
        copy._own = set()
        return copy

    def record(self, resource: str) -> ResourceRecord:
        """Returns the resource's record for changing.

        Raises:
            KeyError: the leader does not look after the resource.
        """
        record = self.resources[resource]
        if self._own is not None and ("record", resource) not in self._own:
            record = self.resources[resource] = record.copy()
            self._own.add(("record", resource))
        return record

    def configuration(self, resource: str) -> ResourceConfiguration:
        """Returns the resource's configuration for changing.

        Raises:
            KeyError: the resource has no configuration.
        """
        configuration = self.configurations[resource]
        if self._own is not None and ("configuration", resource) not in self._own:
            configuration = self.configurations[resource] = configuration.copy()
            self._own.add(("configuration", resource))
        return configuration

    def may_run(self, resource: str, *nodes: str | None) -> None:
        """Keeps in mind that a resource may run on nodes where it is not to."""
        known = self.leftovers.get(resource, frozenset())
        self.leftovers[resource] = known | {node for node in nodes if node is not None}

    def is_clear(self, node: str, *, of: str | None = None, but: Collection[str] = ()) -> None:
        """Keeps in mind that nothing is left on a node of one resource, or of any but some."""
        for resource in [of] if of is not None else list(self.leftovers):
            left = self.leftovers.get(resource, frozenset()) - {node}
            if resource in but:
                continue
            if left:
                self.leftovers[resource] = left
            else:
                self.leftovers.pop(resource, None)

    def online_nodes(self) -> list[str]:
        """Returns the nodes that can take resources, by name."""
        return sorted(node for node, state in self.nodes.items() if state == "online")

    def node_state(self, node: str) -> str:
        """Returns the state of a node's machine; nodes that no leader has seen are unknown."""
        return self.nodes.get(node, "unknown")

    def to_data(self) -> dict[str, Any]:
        """Returns the whole state as plain data, in a fixed order, for comparing and showing."""
        from haes.state.describe import describe  # noqa: PLC0415 - describing is not part of holding

        return describe(self)
