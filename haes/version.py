"""Which program this is, and which version of its decisions: stands on the record with whoever decided."""

from importlib.metadata import version

PROGRAM_VERSION = version("haes")
# Rises whenever the same state and the same inputs lead to another event: by a round's steps, the balancer's choice,
# rules, scores, or what stands in an event. A test keeps it so: recorded streams of this version come out again.
POLICY_VERSION = 2
