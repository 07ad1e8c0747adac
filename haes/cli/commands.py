"""The table of commands: what each is called, what it does in a few words, and which module knows it.

A module is loaded only when its command is used, so that help and every other command do not pay for it.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """A command: `haes.cli.MODULE` builds its parser and runs it; the summary stands in the help.

    `alone` is the word that stands in where nothing but the command is given: what there is, or how it is used.
    """

    module: str
    summary: str
    alone: str | None = None


# By what one wants, in the order in which one comes to want it.
GROUPS: dict[str, dict[str, Command]] = {
    "see how it is and what happens": {
        "status": Command("status", "show how the cluster is right now"),
        "logs": Command("logs", "show what a service prints, wherever it runs"),
        "events": Command("events", "show the events of the stream"),
        "web": Command("web", "show the cluster as it is and as it was, in a browser"),
        "rebalance": Command("rebalance", "the balancer: status, advice, retrying what failed", alone="status"),
    },
    "change what runs, and where": {
        "add": Command("operate", "add a resource"),
        "set": Command("operate", "change a resource's configuration"),
        "remove": Command("operate", "take a resource out of the cluster; a process is stopped"),
        "start": Command("operate", "ask for a resource to run"),
        "stop": Command("operate", "ask for a resource to be stopped"),
        "retry": Command("operate", "let a service that failed begin anew"),
        "migrate": Command("operate", "move a resource while it runs"),
        "relocate": Command("operate", "stop a resource and start it elsewhere"),
        "maintenance": Command("operate", "empty a node, or put it back into service"),
        "node": Command("operate", "add or remove a node of the cluster; vouch that one is off"),
        "disarm": Command("operate", "take HA out of action"),
        "arm": Command("operate", "put HA back into action"),
        "commands": Command("waiting", "what waits for a leader, what was refused; take a request back", alone="list"),
        "settings": Command("settings", "show or change the cluster's settings", alone="show"),
        "rules": Command("rules", "show, check or replace the affinity rules", alone="show"),
    },
    "find out why": {
        "explain": Command("explain", "why a resource is where it is, and why the balancer did what it did"),
        "replay": Command("replay", "show the state that the stream leads to, play its journal, or walk through it"),
        "diff": Command("diff", "what changed between two points, or what two logs differ in"),
        "bisect": Command("bisect", "find the first event after which a condition holds"),
        "whatif": Command("whatif", "what other settings would have done"),
        "plan": Command("plan", "the best motions for a snapshot of a cluster"),
    },
    "prove and keep the record": {
        "verify": Command("verify", "check a stream: numbers, transitions, epochs, causes, decisions"),
        "audit": Command("audit", "reports for auditors; seals that prove that the record is whole", alone="--help"),
        "archive": Command("archive", "keep old events in files and trim the stream", alone="--help"),
        "readers": Command("readers", "who keeps events in the stream until they are read"),
        "parked": Command("parked", "subjects whose events could not be applied", alone="list"),
        "log": Command("log", "the log itself: what it is; accept it after a loss", alone="show"),
    },
    "set up and try out": {
        "demo": Command("demo", "watch a cluster live through a failing migration"),
        "up": Command("up", "run a whole cluster in this terminal"),
        "config": Command("config", "check a cluster's file", alone="--help"),
        "import": Command("importing", "make a cluster's file of a folder that describes a cluster"),
        "manager": Command("manager", "run a manager: it leads the cluster, or stands by"),
        "agent": Command("agent", "run the agent of a node: it starts, stops and moves services"),
        "acl": Command("acl", "print the rules of the server's ACL for a kind of user"),
        "fence": Command("fence", "check a file of fence devices", alone="--help"),
        "simulate": Command("simulate", "run simulated clusters on a virtual clock"),
    },
}
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}
