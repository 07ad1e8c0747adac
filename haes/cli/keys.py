"""Single keys from a terminal: read as they are pressed, the terminal put back as it was; knows not what they mean."""

import os
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def _key_by_key(descriptor: int) -> Iterator[None]:
    before = termios.tcgetattr(descriptor)
    try:
        # Ctrl-C still interrupts in this mode.
        tty.setcbreak(descriptor)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def read_key(prompt: str) -> str:
    """Shows a prompt and returns the next key pressed, an empty text at the end of the input."""
    _show(prompt)
    descriptor = sys.stdin.fileno()
    with _key_by_key(descriptor):
        key = os.read(descriptor, 1).decode(errors="replace")
    # The prompt gives way to what the key brings.
    _show("\r\x1b[K")
    return key


def read_line(prompt: str) -> str:
    """Shows a prompt and returns a line that is typed as usual."""
    _show(prompt)
    return sys.stdin.readline().strip()


def _show(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
