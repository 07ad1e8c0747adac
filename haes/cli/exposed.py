"""Warnings of secrets that would be on record for everybody who may read the stream; knows names, no values."""

from collections.abc import Iterator, Mapping

from haes.drivers.process.tail import is_secret_name


def exposed(resource: str, environment: object) -> Iterator[str]:
    """Yields a warning for each variable of a service whose name says that it is secret."""
    for name in environment if isinstance(environment, Mapping) else ():
        if is_secret_name(str(name)):
            yield (
                f"warning: {resource}: '{name}' looks like a secret, and what is in 'environment' can be read in the "
                "stream for ever; put it into a file on the nodes and name that as environment_file"
            )
