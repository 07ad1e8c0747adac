"""Events about the log itself."""

from events.schema import declare

declare(
    "log.regressed",
    "known_n found_n generation lost",
    meaning="the log lost its tail: it had known_n events and has found_n; lost: [n, type, subject] of those known",
)
declare("log.accepted", "n log_id", meaning="an operator accepts the log as it is, whatever it lost")
declare(
    "log.restored",
    "log_id generation n known_n sources lost discarded",
    meaning="an operator put a log together anew, up to event n of known_n; lost: [n, type, subject] of those known; "
    "discarded: type -> number of events of another log that lay there",
)
declare(
    "log.unreadable",
    "type newer reason",
    meaning="stands in, when read, for an event that this program cannot understand; never written",
)
declare("log.foreign", "reason", meaning="stands in, when read, for an entry that is no event; never written")
declare(
    "subject.parked",
    "reason",
    meaning="the leader cannot decide about the subject and leaves it alone until an operator lets it go on",
)
declare(
    "subject.unparked", "n reason", meaning="an operator lets a parked subject go on without what could not be applied"
)
