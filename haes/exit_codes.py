"""How a job on a resource ended, as a number; an interface between drivers, agents and the leader."""

SUCCESS = 0  # as expected
ERROR = 1  # it failed
TRY_AGAIN = 2  # it failed and is tried again on the same node; never reported
WRONG_NODE = 3  # the resource is not on the node
UNKNOWN_KIND = 4  # no driver knows the kind of resource
UNKNOWN_COMMAND = 5  # no job belongs to the state
INVALID_PARAMETER = 6
UNKNOWN_RESOURCE = 7  # the resource has no configuration
IGNORED = 8  # nothing was done, for a good reason
CRASHED = -1  # it ended without a result
