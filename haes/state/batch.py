"""The events of one decision, applied to a working copy as they are made; the way from deciding to recording."""

from typing import Any

from events.envelope import Event
from events.schema import check_payload
from haes.machines import IllegalTransition
from haes.state.cluster import ClusterState
from haes.state.fold import apply_event


class Batch:
    """Collects events of one author at one moment.

    Args:
        state: the state that the events change at once; a working copy, or None for an author who only reports.
        by: the author, `node/part`.
        at: domain time, seconds.
        late: the author is cut off; its events are local facts that change no state.
    """

    def __init__(self, state: ClusterState | None, by: str, at: float, *, late: bool = False) -> None:
        self.state = state
        self.by = by
        self.at = at
        self.late = late
        self.events: list[Event] = []

    def emit(
        self,
        type_: str,
        subject: str,
        *,
        about: str = "",
        cause: str | None = None,
        correlation: str | None = None,
        by: str | None = None,
        **payload: Any,
    ) -> Event:
        """Makes an event, applies it to the working copy and keeps it.

        Raises:
            ValueError: the payload does not fit the type's schema.
            IllegalTransition: the event breaks the rules of its subject; nobody may record it.
        """
        event = Event(
            type=type_,
            subject=subject,
            by=self.by if by is None else by,
            at=self.at,
            payload=payload,
            version=check_payload(type_, payload),
            about=about,
            cause=cause,
            correlation=correlation,
            late=self.late,
        )
        self.events.append(event)
        if self.state is not None:
            parked = len(self.state.parked)
            apply_event(self.state, event)
            if len(self.state.parked) > parked and type_ != "subject.parked":
                raise IllegalTransition(f"{subject}: {self.state.parked[subject].reason}")
        return event

    def expected_versions(self, before: ClusterState) -> dict[str, int]:
        """Returns, for each subject that the batch is about, the version that the decision was made on."""
        return {event.subject: before.versions.get(event.subject, 0) for event in self.events}
