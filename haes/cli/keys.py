"""Keys from a terminal, read as they are pressed, with the terminal put back as it was; knows not what they mean."""

import os
import sys
import termios
import tty
from types import TracebackType
from typing import Self

_RUBOUT = {"\x7f", "\b"}
_END = {"\n", "\r", "\x04", ""}


class Keys:
    """A terminal that hands over key by key for a while. Ctrl-C still interrupts."""

    def __init__(self) -> None:
        self._descriptor = sys.stdin.fileno()

    def __enter__(self) -> Self:
        self._before = termios.tcgetattr(self._descriptor)
        # What was typed ahead is kept.
        tty.setcbreak(self._descriptor, termios.TCSADRAIN)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)

    def key(self, prompt: str) -> str:
        """Shows a prompt and returns the next key, an empty text at the end of the input."""
        _show(prompt)
        key = self._read()
        # The prompt gives way to what the key brings.
        _show("\r\x1b[K")
        return key

    def line(self, prompt: str) -> str:
        """Shows a prompt and returns what is typed up to Enter; the rubout key takes a letter back."""
        text = ""
        while True:
            _show(f"\r\x1b[K{prompt}{text}")
            key = self._read()
            if key in _END:
                _show("\r\x1b[K")
                return text.strip()
            text = text[:-1] if key in _RUBOUT else text + key

    def _read(self) -> str:
        return os.read(self._descriptor, 1).decode(errors="replace")


def _show(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
