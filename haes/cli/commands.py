"""The table of commands: what each is called, what it does in a few words, and which module knows it.

A module is loaded only when its command is used, so that help and every other command do not pay for it.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """A command: `haes.cli.MODULE` builds its parser and runs it; the summary stands in the help."""

    module: str
    summary: str


COMMANDS = {
    "up": Command("up", "run a whole cluster in this terminal"),
    "manager": Command("manager", "run a manager: it leads the cluster, or stands by"),
    "agent": Command("agent", "run the agent of a node: it starts, stops and moves services"),
    "status": Command("status", "show how the cluster is right now"),
    "events": Command("events", "show the events of the stream"),
    "web": Command("web", "show the cluster as it is and as it was, in a browser"),
    "readers": Command("readers", "who keeps events in the stream until they are read"),
    "add": Command("operate", "add a resource"),
    "set": Command("operate", "change a resource's configuration"),
    "remove": Command("operate", "take a resource out of the cluster; a process is stopped"),
    "migrate": Command("operate", "move a resource while it runs"),
    "relocate": Command("operate", "stop a resource and start it elsewhere"),
    "start": Command("operate", "ask for a resource to run"),
    "stop": Command("operate", "ask for a resource to be stopped"),
    "retry": Command("operate", "let a service that failed begin anew"),
    "maintenance": Command("operate", "empty a node, or put it back into service"),
    "disarm": Command("operate", "take HA out of action"),
    "arm": Command("operate", "put HA back into action"),
    "node": Command("operate", "add or remove a node of the cluster; vouch that one is off"),
    "settings": Command("settings", "show or change the cluster's settings"),
    "parked": Command("parked", "subjects whose events could not be applied"),
    "config": Command("config", "check a cluster's file"),
    "import": Command("importing", "make a cluster's file of a folder that describes a cluster"),
    "simulate": Command("simulate", "run simulated clusters on a virtual clock"),
    "replay": Command("replay", "show the state that the stream leads to, play its journal, or walk through it"),
    "diff": Command("diff", "what changed between two points, or what two logs differ in"),
    "bisect": Command("bisect", "find the first event after which a condition holds"),
    "explain": Command("explain", "why a resource is where it is, and why the balancer did what it did"),
    "whatif": Command("whatif", "what other settings would have done"),
    "verify": Command("verify", "check a stream: numbers, transitions, epochs, causes, decisions"),
    "rules": Command("rules", "affinity rules"),
    "fence": Command("fence", "fence devices"),
    "rebalance": Command("rebalance", "the balancer: status, advice, retrying what failed"),
    "plan": Command("plan", "the best motions for a snapshot of a cluster"),
    "demo": Command("demo", "watch a cluster live through a failing migration"),
    "archive": Command("archive", "keep old events in files and trim the stream"),
    "audit": Command("audit", "reports for auditors; seals that prove that the record is whole"),
    "log": Command("log", "the log itself: what it is; accept it after a loss"),
    "acl": Command("acl", "print the rules of the server's ACL for a kind of user"),
}
