"""Journal lines as people read them: with a date where a real clock runs, as the simulations always had them."""

from haes.journal import Line, render_line
from replay.moments import REAL_TIME, say_time


def told(line: Line) -> str:
    """Returns a line: level, time, source, text."""
    if line.at < REAL_TIME:
        return render_line(line)
    return f"{line.level[:4]:<5} {say_time(line.at)} {line.by:>12}: {line.text}"
