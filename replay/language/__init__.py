"""A small language for conditions over a cluster's state: parsed and checked as a whole, never run as a program."""

from replay.language.compile import Condition, compile_condition
from replay.language.moment import Moment

__all__ = ["Condition", "Moment", "compile_condition"]
