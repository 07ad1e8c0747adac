"""The variables of a service, with those of a file on its node: secrets stay there and never reach the stream."""

from pathlib import Path

from events.errors import HaesError
from haes.drivers.process.definition import ServiceDefinition


class VariablesUnreadable(HaesError):
    """The file is not there, may not be read, or has a line that is no variable; no value is in the message."""


def variables_of(definition: ServiceDefinition) -> dict[str, str]:
    """Returns the variables of a service; those that the configuration names itself win.

    Raises:
        VariablesUnreadable: its file cannot be used.
    """
    if definition.environment_file is None:
        return dict(definition.environment)
    return {**_read(Path(definition.environment_file)), **definition.environment}


def known_variables(definition: ServiceDefinition) -> dict[str, str]:
    """Returns what of them can be known now: for a service that runs already, whatever became of its file."""
    try:
        return variables_of(definition)
    except VariablesUnreadable:
        return dict(definition.environment)


def _read(file: Path) -> dict[str, str]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise VariablesUnreadable(f"environment_file {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise VariablesUnreadable(f"environment_file {file}: not in UTF-8") from error
    found = {}
    for number, line in enumerate(map(str.strip, lines), 1):
        if not line or line.startswith("#"):
            continue
        name, equals, value = line.partition("=")
        if not equals or not name or "\0" in line:
            raise VariablesUnreadable(f"environment_file {file}:{number}: expected NAME=VALUE")
        found[name] = value
    return found
