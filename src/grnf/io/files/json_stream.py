"""JSON read piece by piece: the entries of a list one after another, one of them in memory at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from grnf.errors import GraphError
from grnf.io.files.limits import LARGEST_DOCUMENT
from grnf.io.files.streams import Source, Window

__all__ = ["json_graphs", "parsed"]

BLANK = re.compile(r"[ \t\n\r]*")
BRACKET_OR_TEXT = re.compile(r'[\[\]{}]|"(?:[^"\\]|\\.)*("|\Z|\\\Z)', re.DOTALL)
NEAR_THE_END = 16
"""Where JSON is cut off within a number, a word or an escape, the decoder complains that close to the end."""

Entry = tuple[str, Any]
"""Where a value stands, and the value, or a `GraphError` that says why there is none."""


def parsed(text: str) -> Any:
    """Return the value of a JSON text."""
    try:
        return json.loads(text)
    except RecursionError:
        raise GraphError("JSON nested too deeply for a graph") from None
    except ValueError as error:
        raise GraphError(f"no valid JSON: {error}") from None


def json_graphs(source: Source) -> Iterator[Entry]:
    """Yield the graphs of a file: a list of them, an object with a list "graphs", or one object.

    An entry of a list that is no valid JSON is yielded as an error, if its end can be found by its brackets.
    """
    text = _Text(source)
    try:
        first = text.peek()
        if first == "[":
            yield from _entries(text)
        elif first == "{":
            yield from _members(text)
        else:
            yield str(source), text.value()
        if text.peek():
            raise GraphError(f"{text.where()}: no valid JSON: something follows after its end")
    except GraphError as error:
        raise GraphError(f"{source}, {error}") from None


def _entries(text: _Text) -> Iterator[Entry]:
    text.skip()
    index = 0
    if text.peek() == "]":
        text.skip()
        return
    while True:
        where = f"{text.source}, graph {index}"
        value: Any
        try:
            value = text.value()
        except _ValueFaultError as error:
            text.pass_over()
            value = GraphError(str(error))
        yield where, value
        index += 1
        if text.expect(",]", "after an entry of a list") == "]":
            return


def _members(text: _Text) -> Iterator[Entry]:
    """Yield the entries of "graphs" as they come, or the whole object if there is no such list."""
    document: dict[str, Any] = {}
    streamed = False
    start = str(text.source)
    text.skip()
    if text.peek() == "}":
        text.skip()
    else:
        while True:
            if text.peek() != '"':
                raise GraphError(f"{text.where()}: no valid JSON: a name in quotes is wanted")
            name = text.value()
            text.expect(":", "after a name")
            if name == "graphs" and text.peek() == "[" and not document.keys() & {"nodes", "edge_index"}:
                streamed = True
                yield from _entries(text)
            else:
                document[name] = text.value()
            if text.expect(",}", "after a value") == "}":
                break
    if not streamed:
        yield start, document


class _ValueFaultError(GraphError):
    """A value that is no valid JSON, of which the beginning is known."""


class _Text(Window):
    """The text of a JSON file."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.source = source
        self.decoder = json.JSONDecoder()

    def peek(self) -> str:
        """Return the next character that is not blank, or "" at the end."""
        while True:
            found = BLANK.match(self.text, self.place)
            self.place = found.end() if found else self.place
            if self.place < len(self.text):
                return self.text[self.place]
            if not self.more():
                return ""

    def skip(self) -> None:
        self.place += 1

    def expect(self, characters: str, what: str) -> str:
        found = self.peek()
        if not found or found not in characters:
            wanted = " or ".join(map(repr, characters))
            problem = f"{found!r} stands" if found else "the text ends: cut off?"
            raise GraphError(f"{self.where()}: no valid JSON: {wanted} is wanted {what}; {problem}")
        self.skip()
        return found

    def value(self) -> Any:
        """Take one value, of any kind."""
        self.peek()
        while True:
            try:
                value, end = self.decoder.raw_decode(self.text, self.place)
            except json.JSONDecodeError as error:
                # a text without its end is reported at its beginning, all else where the decoder stopped
                open_text = error.msg.startswith("Unterminated string")
                cut_off = open_text or error.pos >= len(self.text) - NEAR_THE_END
                if cut_off and not self.ended:
                    self._hold_more()
                    continue
                problem = f"{self.where(error.pos)}: no valid JSON: {error.msg}"
                if cut_off and not self.text[error.pos :].strip():
                    raise GraphError(f"{problem}: cut off?") from None
                raise _ValueFaultError(problem) from None
            except RecursionError:
                raise GraphError(f"{self.where()}: JSON nested too deeply for a graph") from None
            except ValueError as error:  # a number of more digits than Python converts
                raise _ValueFaultError(f"{self.where()}: no valid JSON: {error}") from None
            if end == len(self.text) and not self.ended:  # a number may go on
                self._hold_more()
                continue
            self.place = end
            return value

    def _hold_more(self) -> None:
        if len(self.text) - self.place > LARGEST_DOCUMENT:
            raise GraphError(
                f"{self.where()}: one graph of more than {LARGEST_DOCUMENT} characters, which is held in "
                "memory as a whole; write it as Parquet or as an edge list"
            )
        self.more()

    def pass_over(self) -> None:
        """Go to the end of a value that is no valid JSON: where its brackets close, or to the next comma."""
        begin = self.where()
        if self.peek() not in "[{":
            raise GraphError(f"{begin}: no valid JSON: the end of this value cannot be found")
        depth = 0
        while True:
            found = BRACKET_OR_TEXT.search(self.text, self.place)
            if found is None:
                self.place = len(self.text)
            elif found[0][0] == '"' and found[1] != '"' and not self.ended:
                self.place = found.start()  # a text whose end is not here yet
                self._hold_more()
                continue
            else:
                self.place = found.end()
                depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
                if depth == 0:
                    return
                continue
            if not self.more():
                raise GraphError(f"{begin}: no valid JSON, and its brackets do not close: cut off?")
