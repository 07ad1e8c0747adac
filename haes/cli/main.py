"""The entry point `haes`: finds the command, runs it, and turns every expected error into one line and a status.

Exit status: 0 done; 1 the answer is no (a scenario differs, a check fails); 2 a user can mend it, or the log is away.
"""

import argparse
import os
import re
import sys
import textwrap
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from events.errors import HaesError, UserError
from haes.cli.commands import COMMANDS, GROUPS
from haes.cli.terminal import clean_streams, warn

STATUS_USER = 2
# A value that begins with a dash and is none of the options: so long before the end.
_BACK = re.compile(r"-\d+(\.\d+)?[smhd]")
STATUS_INTERRUPTED = 130
# Columns of the help, and of the names in it.
HELP_WIDTH, NAME_WIDTH = 80, 11


class Parser(argparse.ArgumentParser):
    """A parser that ends a wrong command line as every other mistake ends: in one line."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # Points such as -5m are values, as negative numbers are; there are no options that look like them.
        self._negative_number_matcher = re.compile(r"^-\d+(\.\d+)?[smhd]?$")

    def error(self, message: str) -> NoReturn:
        """Refuses the command line."""
        raise UserError(f"{message} (see {self.prog} --help)")


class _Root(Parser):
    """The parser of the program itself, whose help names the commands by what one wants."""

    def format_help(self) -> str:
        """Returns the help, for a terminal of the usual width."""
        lines = ["usage: haes COMMAND ...", "", *textwrap.wrap(self.description or "", HELP_WIDTH)]
        for wish, commands in GROUPS.items():
            lines += ["", f"{wish}:"]
            for name, command in commands.items():
                lines += textwrap.wrap(
                    command.summary,
                    HELP_WIDTH,
                    initial_indent=f"  {name:<{NAME_WIDTH}} ",
                    subsequent_indent=" " * (NAME_WIDTH + 3),
                )
        lines += ["", "haes COMMAND --help says more; haes --version says which program this is."]
        return "\n".join(lines) + "\n"


class _Version(argparse.Action):
    """Prints the version; looks it up only then, because that takes as long as half of the start."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Prints and ends."""
        from importlib.metadata import version

        print(f"{parser.prog} {version('haes')}")  # noqa: T201 - printing is what a command line does
        parser.exit()


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Returns the parser; it knows everything about the command `only`, of the others just what they do.

    Args:
        only: the command that is used; without it no module of a command is loaded.
    """
    parser = _Root(
        prog="haes", description="High availability that remembers: an event-sourced HA manager on Redis Streams."
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    if only is not None:
        import_module(f"haes.cli.{COMMANDS[only].module}").add_parser(subparsers)
    else:
        for name, command in COMMANDS.items():
            subparsers.add_parser(name, help=command.summary)
    return parser


def _joined(words: Sequence[str]) -> list[str]:
    """Joins `--at -5m` to `--at=-5m`: the parser takes such a value for an option."""
    joined: list[str] = []
    for word in words:
        if _BACK.fullmatch(word) and joined and joined[-1].startswith("--") and "=" not in joined[-1]:
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _completed(words: Sequence[str]) -> Sequence[str]:
    """Says what is meant by a command alone, options or not, that wants a word on what to do."""
    command = COMMANDS.get(words[0]) if words else None
    if command is None or command.alone is None or (len(words) > 1 and not words[1].startswith("-")):
        return words
    if len(words) > 1 and words[1] in {"-h", "--help"}:
        return words
    return [words[0], command.alone, *words[1:]]


def _nearest(word: str) -> str:
    from difflib import get_close_matches

    return "".join(f"; did you mean '{name}'?" for name in get_close_matches(word, COMMANDS, n=1))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit status."""
    words = _joined(sys.argv[1:] if arguments is None else arguments)
    with clean_streams():
        try:
            # Loading a command takes a while, too, and Ctrl-C may come meanwhile.
            return _run(words)
        except HaesError as error:
            warn(f"haes: {error}")
            return STATUS_USER
        except KeyboardInterrupt:
            return STATUS_INTERRUPTED
        except BrokenPipeError:
            # The reader of our output went away (`| head`); what is left must not be written at exit either.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0


def _run(words: Sequence[str]) -> int:
    if words and not words[0].startswith("-") and words[0] not in COMMANDS:
        raise UserError(f"there is no command '{words[0]}'{_nearest(words[0])} (see haes --help)")
    words = _completed(words)
    options = build_parser(words[0] if words and words[0] in COMMANDS else None).parse_args(words)
    status: int = options.run(options)
    return status


if __name__ == "__main__":
    sys.exit(main())
