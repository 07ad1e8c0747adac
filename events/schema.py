"""Schemas of event types: names, versions, fields, and how old versions become new; knows no particular type.

A type is declared once with `declare`. Payloads are checked when an event is made (a wrong field is a bug in the
author) and brought to the current version when one is read (`upcast`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from events.errors import EntryCorrupt, EventUnknown

Payload = dict[str, Any]
Upcaster = Callable[[Payload], Payload]


@dataclass(frozen=True, slots=True)
class Schema:
    """What an event of one type carries.

    Attributes:
        type: the event type, `kind.what_happened`.
        version: the current schema version, from 1.
        required: names of the fields that every payload of the current version has.
        optional: names of the fields that may be left out.
        upcasters: for each old version the function that makes the payload of the version after it.
        meaning: one line for the reference of event types.
    """

    type: str
    version: int
    required: frozenset[str]
    optional: frozenset[str]
    upcasters: Mapping[int, Upcaster]
    meaning: str


SCHEMAS: dict[str, Schema] = {}


def declare(
    type_: str,
    fields: str = "",
    *,
    meaning: str,
    version: int = 1,
    upcasters: Mapping[int, Upcaster] | None = None,
) -> str:
    """Declares an event type and returns its name.

    Args:
        type_: the name of the type.
        fields: names separated by blanks; one that ends in `?` may be left out.
        meaning: one line for people.
        version: current schema version.
        upcasters: old version -> function to the version after it; every version below the current one needs one.

    Raises:
        ValueError: the type is declared twice, or an upcaster is missing.
    """
    if type_ in SCHEMAS:
        raise ValueError(f"event type '{type_}' is declared twice")
    steps = dict(upcasters or {})
    missing = [old for old in range(1, version) if old not in steps]
    if missing:
        raise ValueError(f"event type '{type_}' has no upcaster for version {missing[0]}")
    names = fields.split()
    SCHEMAS[type_] = Schema(
        type=type_,
        version=version,
        required=frozenset(name for name in names if not name.endswith("?")),
        optional=frozenset(name[:-1] for name in names if name.endswith("?")),
        upcasters=steps,
        meaning=meaning,
    )
    return type_


def schema_of(type_: str) -> Schema:
    """Returns the schema of a type.

    Raises:
        EventUnknown: this program does not know the type.
    """
    schema = SCHEMAS.get(type_)
    if schema is None:
        raise EventUnknown(f"event type '{type_}' is not known to this program")
    return schema


def check_payload(type_: str, payload: Mapping[str, Any]) -> int:
    """Checks a new payload against the current schema and returns the schema's version.

    Raises:
        EventUnknown: this program does not know the type.
        ValueError: a field is missing or too many.
    """
    schema = schema_of(type_)
    fields = payload.keys()
    if not schema.required <= fields:
        missing = ", ".join(sorted(schema.required - fields))
        raise ValueError(f"event '{type_}' lacks {missing}")
    if len(fields) > len(schema.required):
        extra = fields - schema.required - schema.optional
        if extra:
            raise ValueError(f"event '{type_}' has unknown fields {', '.join(sorted(extra))}")
    return schema.version


def upcast(type_: str, version: int, payload: Payload) -> Payload:
    """Brings a payload of any version ever written to the current one.

    Raises:
        EventUnknown: the type is not known, or its version is newer than this program.
        EntryCorrupt: the payload is not what this version of the type has.
    """
    schema = schema_of(type_)
    if version > schema.version:
        raise EventUnknown(
            f"event type '{type_}' version {version} is newer than this program, which knows up to {schema.version}"
        )
    while version < schema.version:
        try:
            payload = schema.upcasters[version](payload)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise EntryCorrupt(
                f"the payload of '{type_}' version {version} is of the wrong shape ({error!r})"
            ) from error
        version += 1
    return payload
