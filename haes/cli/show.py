"""How tables and journal lines look in a terminal: colour where there is one, plain text where there is none."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NoReturn

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table as RichTable
from rich.text import Text

from haes.cli.terminal import clean, one_line, raw_stream
from haes.journal import Line
from replay.report import Table
from replay.told import told

# Colours of the journal's levels; info stays as the terminal has it.
LEVEL_STYLES = {"err": "bold red", "warning": "yellow", "notice": "cyan", "email": "magenta"}
# What an operator looks for first.
HIGHLIGHTS = {"auto rebalance": "bold green"}


# Columns that nothing we print needs. A narrow window wraps lines by itself, and a pipe has no width at all; rich would
# shorten cells instead, and a reason cut off is a reason lost.
WIDTH = 10_000


class Output(Console):
    """Standard output in colour: what it shows is cleaned, what steers the terminal is its own.

    When its reader goes away, the command line decides what follows.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Returns what is shown, cleaned."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(clean(segment.text), segment.style)

    def on_broken_pipe(self) -> NoReturn:
        """Passes on what rich would turn into a failure."""
        raise BrokenPipeError


def make_console() -> Console:
    """Returns the console for standard output."""
    return Output(file=raw_stream(sys.stdout), highlight=False, markup=False, emoji=False, soft_wrap=True, width=WIDTH)


def show_tables(console: Console, tables: list[Table]) -> None:
    """Prints tables, or for an empty one what it says."""
    for shown in render_tables(tables):
        console.print(shown, soft_wrap=True, crop=False)


def render_tables(tables: list[Table]) -> Iterator[RenderableType]:
    """Returns tables as they look, or for an empty one what it says."""
    for table in tables:
        if not table.rows:
            yield Text(f"{table.title}: {table.empty}", style="bold")
            continue
        shown = RichTable(title=table.title, title_justify="left", title_style="bold", pad_edge=False, box=None)
        for column in table.columns:
            shown.add_column(column, style=None, header_style="dim", no_wrap=True)
        for row in table.rows:
            shown.add_row(*(Text(one_line(cell)) for cell in row))
        yield shown


def show_line(console: Console, line: Line) -> None:
    """Prints a journal line in the colour of its level."""
    style = LEVEL_STYLES.get(line.level.strip(), "")
    for words, highlight in HIGHLIGHTS.items():
        if line.text.startswith(words) and not style:
            style = highlight
    console.print(Text(told(replace(line, by=one_line(line.by), text=one_line(line.text))), style=style))
