"""The journal's texts, all of them: event type -> lines as (level, text).

Tools and people match on these texts, so they are an interface and stay as they are to the byte.
"""

from collections.abc import Callable, Sequence

from events.envelope import Event
from haes.journal.agent_texts import AGENT_TEXTS, JOB_TEXTS
from haes.journal.cluster_texts import CLUSTER_TEXTS
from haes.journal.command_texts import COMMAND_TEXTS
from haes.journal.resource_texts import BALANCE_TEXTS, RESOURCE_TEXTS

Texts = Sequence[tuple[str, str]]

TABLE: dict[str, Callable[[Event], Texts]] = {
    **CLUSTER_TEXTS,
    **COMMAND_TEXTS,
    **RESOURCE_TEXTS,
    **BALANCE_TEXTS,
    **AGENT_TEXTS,
    **JOB_TEXTS,
}
