"""How a running cluster is right now: what the stream leads to, who holds which lease, what waits; as plain data.

Reads only. What the stream alone says comes from `haes replay`; here is what only a live cluster has.
"""

from typing import Any

from events.log.port import EventLog, LeaseInfo
from haes.live.failing import failing_services, how_it_fails
from haes.live.presence import ARCHIVE_TROUBLE, LEADER_LEASE, agent_lease, held_by_agent, is_over
from haes.live.requests import pending_requests, read_set_aside
from haes.live.telemetry import LoadWindow
from haes.state.cluster import ClusterState
from haes.state.restore import restore_state

# Seconds over which loads are averaged for the eye.
WINDOW = 60.0


async def read_status(log: EventLog) -> tuple[ClusterState, dict[str, Any]]:
    """Returns the state, and beside it what only leases, requests and samples tell."""
    state = await restore_state(log, lenient=True)
    head, leases, now = await log.head(), await log.leases(), await log.now()
    window = LoadWindow()
    await window.read(log.side, WINDOW)
    loads = window.loads(state)
    live = {
        "now": now,
        "log": {
            "id": head.log_id,
            "generation": head.generation,
            "n": head.n,
            "last_event_at": state.at,
            "snapshots": await log.snapshot_numbers(),
            "warnings": list(log.warnings),
        },
        "leader": _holder(leases.get(LEADER_LEASE)),
        "agents": {node: _agent(leases.get(agent_lease(node)), node) for node in sorted(state.members)},
        "loads": {
            node: {
                "cpu": stats.cpu,
                "maxcpu": stats.maxcpu,
                "mem": stats.mem,
                "maxmem": stats.maxmem,
                "load": stats.load(),
            }
            for node, stats in sorted(loads.node_loads.items())
        },
        "sample": loads.sample,
        "requests": [
            {"user": request.user, "verb": request.verb, "arguments": list(request.arguments)}
            for request in await pending_requests(log.side, state)
        ],
        "set_aside": await read_set_aside(log.side),
        "trouble": [*trouble(state, leases, now), *log.warnings],
        "failing": {
            name: how_it_fails(memory, now) for name, memory in sorted(state.services.items()) if memory.series
        },
    }
    return state, live


def trouble(state: ClusterState, leases: dict[str, LeaseInfo], now: float | None = None) -> list[str]:
    """Returns what somebody should look at, worst first; empty when all is well.

    Args:
        state: the cluster's state.
        leases: who holds which.
        now: domain time, None for that of the state.
    """
    found = []
    leader = leases.get(LEADER_LEASE)
    if leader is None or is_over(leader):
        found.append("no manager leads: nothing is decided until one is started")
    elif ARCHIVE_TROUBLE in leader.note:
        found.append(f"archiving does not work, so the stream grows: {leader.note[ARCHIVE_TROUBLE]}")
    if state.lost_events:
        found.append(
            f"the log lost {state.lost_events} events: look at 'haes events --type log.regressed', "
            "then say 'haes log accept-regression'"
        )
    found += [
        f"node {node} is {node_state}"
        for node, node_state in sorted(state.nodes.items())
        if node_state in {"unknown", "fence", "gone"}
    ]
    found += failing_services(state, state.at if now is None else now)
    found += [
        f"{resource} waits for a node that can take it"
        for resource, record in sorted(state.resources.items())
        if record.state == "recovery"
    ]
    found += [
        f"{subject} is parked since event {parked.n}: {parked.reason}"
        for subject, parked in sorted(state.parked.items())
    ]
    found += [
        f"{resource} may still run on {node}: start its agent, or say 'haes node confirm-fenced {node}' if it cannot"
        for resource, nodes in sorted(state.leftovers.items())
        for node in sorted(nodes)
        if state.node_state(node) not in {"online", "maintenance"}
    ]
    if state.disarm is not None:
        found.append(f"HA is {state.disarm.state} ({state.disarm.mode})")
    return found


def _holder(lease: LeaseInfo | None) -> dict[str, Any] | None:
    if lease is None:
        return None
    return {"owner": lease.owner, "epoch": lease.epoch, "expires_in": lease.expires_in}


def _agent(lease: LeaseInfo | None, node: str) -> dict[str, Any] | None:
    if lease is None or not held_by_agent(lease, node):
        return None
    return _holder(lease)
