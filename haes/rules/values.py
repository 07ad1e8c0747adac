"""How single values in rules and groups are written: flags, lists, comments; knows no section and no rule.

Each `read_` function takes the text behind a key, None where there is none, and raises ValueError that says what was
expected. One bad entry spoils a list: half a list of nodes or resources would silently mean something else.
"""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, unquote

_RESOURCE = re.compile(r"[a-z]+:\S+", re.ASCII)
# Eighteen digits are what every reader of a number can hold.
_NODE = re.compile(r"([a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)(?::(\d{1,18}))?", re.ASCII)
_SEPARATORS = re.compile(r"[,;\s]+", re.ASCII)
_FLAGS = {None: True, "1": True, "0": False}
# What comments hold as it is; the rest, and '%' itself, stands as %XX.
_PLAIN = "".join(map(chr, range(0x20, 0x7F))).replace("%", "").replace(":", "")
MAX_COMMENT = 4096
# A list without entries must stand there all the same, or the key would have no value.
_EMPTY = ","


def split_list(text: str) -> list[str]:
    """Splits a list at commas, semicolons and blanks."""
    return [item for item in _SEPARATORS.split(text) if item]


def read_text(text: str | None) -> str:
    """Returns the text itself."""
    if text is None:
        raise ValueError("it has no value")
    return text


def read_flag(text: str | None) -> bool:
    """Returns a flag: 1 or 0; a key alone means 1."""
    if text not in _FLAGS:
        raise ValueError(f"'{text}' is neither 1 nor 0")
    return _FLAGS[text]


def read_resources(text: str | None) -> frozenset[str]:
    """Returns the resources of a list; it may be empty."""
    resources = split_list(read_text(text))
    for resource in resources:
        if not is_resource(resource):
            raise ValueError(f"'{resource}' is no resource; expected type:name such as vm:101")
    return frozenset(resources)


def write_resources(resources: Iterable[str]) -> str:
    """Returns resources as `read_resources` reads them."""
    return ",".join(sorted(resources)) or _EMPTY


def is_resource(name: str) -> bool:
    """Returns whether a name can be that of a resource."""
    return _RESOURCE.fullmatch(name) is not None


def read_nodes(text: str | None) -> dict[str, int]:
    """Returns node -> priority from a list of `node` or `node:priority`; the priority is 0 where none is given."""
    nodes = {}
    for entry in split_list(read_text(text)):
        match = _NODE.fullmatch(entry)
        if match is None:
            hint = ", without a domain" if "." in entry else ""
            raise ValueError(f"'{entry}' is no node; expected a name such as node1, or node1:2 with a priority{hint}")
        nodes[match[1]] = int(match[2] or 0)
    return nodes


def write_nodes(nodes: Mapping[str, int]) -> str:
    """Returns nodes as `read_nodes` reads them."""
    return ",".join(f"{node}:{nodes[node]}" if nodes[node] else node for node in sorted(nodes)) or _EMPTY


def is_node(name: str) -> bool:
    """Returns whether a name can be that of a node."""
    match = _NODE.fullmatch(name)
    return match is not None and match[2] is None


def read_plain_comment(text: str | None) -> str:
    """Returns a comment that stands in the file as it is."""
    comment = read_text(text)
    if len(comment) > MAX_COMMENT:
        raise ValueError(f"it is longer than {MAX_COMMENT} characters")
    return comment


def read_comment(text: str | None) -> str:
    """Returns a comment in which %XX stands for bytes of UTF-8."""
    return unquote(read_plain_comment(text))


def write_comment(comment: str) -> str:
    """Returns a comment as `read_comment` reads it, on one line; blanks at its ends are kept, as %20."""
    body = comment.strip(" ")
    start = comment.index(body) if body else len(comment)
    end = len(comment) - start - len(body)
    return "%20" * start + quote(body, safe=_PLAIN) + "%20" * end
