"""XML as a stream of events; document types and entities are refused, not expanded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple
from xml.parsers import expat

from grnf.errors import GraphError
from grnf.io.files.limits import DEEPEST_NESTING

if TYPE_CHECKING:
    from grnf.io.files.archives import Member
    from grnf.io.files.streams import Source

__all__ = [
    "Event",
    "attribute",
    "events_of",
    "fed",
    "new_parser",
    "typed_value",
    "value_type",
    "width_of",
    "with_width",
    "xml_events",
    "xml_text",
]

CHUNK = 2**16
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
WHOLE = {"int", "integer", "long", "short", "byte", "biginteger"}
WIDTH = re.compile(r"\.vector(\d{1,9})\Z")
REAL = {"float", "double", "bigdecimal"}


class Event(NamedTuple):
    """The start or end of an element, or text within one. Names come without their prefix."""

    kind: Literal["start", "end", "text"]
    name: str
    attributes: Mapping[str, str]
    line: int


def xml_events(source: Source) -> Iterator[Event]:
    """Yield the events of a document, a chunk of the file in memory at a time."""
    with source.open() as stream:
        yield from events_of(stream, str(source))


def events_of(stream: IO[bytes] | Member, where: str) -> Iterator[Event]:
    """Yield the events of a document that is open."""
    parser, events, depth = new_parser(), list[Event](), 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST_NESTING:
            raise GraphError(f"elements nested more than {DEEPEST_NESTING} deep")
        events.append(Event("start", name.rpartition(":")[2], attributes, parser.CurrentLineNumber))

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        events.append(Event("end", name.rpartition(":")[2], {}, parser.CurrentLineNumber))

    def text(data: str) -> None:
        events.append(Event("text", data, {}, parser.CurrentLineNumber))

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    for _ in fed(parser, stream, where):
        yield from events
        events.clear()


def new_parser() -> expat.XMLParserType:
    """Return a parser that refuses what it would have to expand; who uses it sets the other handlers."""

    def refuse(*_: Any) -> None:
        raise GraphError("document types and entities are not read; remove the <!DOCTYPE ...> part")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    return parser


def fed(parser: expat.XMLParserType, stream: IO[bytes] | Member, where: str) -> Iterator[None]:
    """Let a parser see a document chunk by chunk; yields after each."""
    last = False
    while not last:
        chunk = stream.read(CHUNK)
        last = not chunk
        try:
            parser.Parse(chunk, last)
        except GraphError as error:
            raise GraphError(f"{where}, line {parser.CurrentLineNumber}: {error}") from None
        except (expat.ExpatError, ValueError, LookupError) as error:
            raise GraphError(f"{where}: no valid XML: {error}") from None
        yield


def attribute(event: Event, name: str) -> str:
    """Return an attribute that an element must have."""
    if name not in event.attributes:
        raise GraphError(f"<{event.name}> has no {name!r}")
    return event.attributes[name]


def typed_value(text: str, kind: str, name: str) -> Any:
    """Return the value that a text stands for, given the type that the file declares.

    Examples
    --------
    >>> typed_value("7", "long", "age"), typed_value("7", "string", "age"), typed_value("1", "boolean", "old")
    (7, '7', True)
    """
    kind = kind.lower()
    stripped = text.strip()
    try:
        if kind in WHOLE:
            return int(stripped)
        if kind in REAL:
            return float(stripped)
        if kind == "boolean":
            return {"true": True, "1": True, "false": False, "0": False}[stripped.lower()]
    except (ValueError, KeyError):
        raise GraphError(f"{name!r} is {text[:40]!r}, no value of type {kind}") from None
    return text


def value_type(values: list[Any], name: str) -> str:
    """Return the type to declare for the values of a column."""
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return "boolean"
    if kinds == {int}:
        return "long"
    if kinds and kinds <= {int, float}:
        return "double"
    if kinds <= {str}:
        return "string"
    raise GraphError(f"column {name!r} mixes types; XML declares one: make all of its categories texts")


def xml_text(value: Any) -> str:
    """Return a value as text for an element or an attribute."""
    text = str(value).lower() if isinstance(value, bool) else value if isinstance(value, str) else repr(value)
    if FORBIDDEN.search(text):
        raise GraphError(f"{text[:40]!r} has a character that XML cannot carry; write JSON or Parquet")
    return "".join(ESCAPES.get(character, character) for character in text)


def with_width(key: str, width: int) -> str:
    """Return the id of an attribute, which for a part of a vector tells how wide that is.

    Examples
    --------
    >>> with_width("d4", 12), width_of("d4.vector12"), width_of("d5")
    ('d4.vector12', 12, 0)
    """
    return f"{key}.vector{width}" if width else key


def width_of(key: str) -> int:
    """Return the width of the vector that an attribute with this id is a part of; 0 if it is none."""
    found = WIDTH.search(key)
    return int(found[1]) if found else 0
