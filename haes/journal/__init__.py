"""The journal: events rendered as a log for people. A projection; nothing is printed that is not backed by an event."""

from haes.journal.render import Line, journal_lines, render_line

__all__ = ["Line", "journal_lines", "render_line"]
