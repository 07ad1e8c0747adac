"""The envelope: what every event carries, whatever happened; knows no event type.

An event is a fact. Before it is appended it has no sequence number (`n == 0`) and no stream id; the log stamps both.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Event:
    """One fact, as decided (n == 0) or as read from a log (n >= 1).

    Attributes:
        type: what happened, for example `resource.migrate`.
        subject: whom it happened to: a resource (`vm:101`), a node (`node1`), or a part such as `cluster`.
        by: the author, `node/part`, for example `node1/crm`.
        at: domain time in seconds; virtual in a simulation, the server's clock otherwise.
        payload: the data of this event type, msgpack values only, keyed by field name.
        version: schema version of the payload.
        epoch: fencing number of the author's lease, 0 for authors without one.
        about: one short phrase for people who read the raw stream; nothing folds it.
        cause: reference of what directly led to this event (`command/17`, `motion/4`, `job/vm:101/3`), or None.
        correlation: reference of what started the whole chain, or None.
        late: a local fact of an author that was cut off when it happened; it never changes folded cluster state.
        n: contiguous sequence number in its log, from 1; 0 before the append.
        id: stream id of the entry (`1764572323123-0`); empty before the append.
    """

    type: str
    subject: str
    by: str
    at: float
    payload: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1
    epoch: int = 0
    about: str = ""
    cause: str | None = None
    correlation: str | None = None
    late: bool = False
    n: int = 0
    id: str = ""
