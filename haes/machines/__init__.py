"""The state machines of resource, node, agent and manager: which states exist and which changes are legal."""

from haes.machines.agent import AGENT
from haes.machines.manager import MANAGER
from haes.machines.node import NODE
from haes.machines.resource import RESOURCE
from haes.machines.table import IllegalTransition, StateMachine

__all__ = ["AGENT", "MANAGER", "NODE", "RESOURCE", "IllegalTransition", "StateMachine"]
