"""GML: nested lists of "key value"; one or more graphs a file. A label that repeats the id is dropped.

There are no vectors: one of width 3 is written as three values, and the graph has a list `vectors` of widths.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html.entities import name2codepoint
from typing import IO, Any

from grnf.errors import GraphError
from grnf.io.files.builder import GraphBuilder
from grnf.io.files.limits import DEEPEST_NESTING, LARGEST_DOCUMENT
from grnf.io.files.records import OnError, each_record
from grnf.io.files.streams import Source, Window
from grnf.io.files.values import check_names, plain_rows, scalar_y, vector_widths
from grnf.io.raw import BadGraph, RawGraph

__all__ = ["read_gml", "write_gml"]

TOKEN = re.compile(
    r"""\s+ | (?<=\n)\#[^\n]*
    | (?P<key>[A-Za-z][A-Za-z0-9_]*)
    | (?P<real>[+-]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?)
    | (?P<whole>[+-]?\d+)
    | "(?P<text>[^"]*)"
    | (?P<open>\[) | (?P<close>\])""",
    re.VERBOSE,
)
ENTITY = re.compile(r"&(#\d{1,7}|[A-Za-z]{2,10});")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
ESCAPE = re.compile(r"[^ !#-%\'-~]")
NEAR_THE_END = 400
"""A sign, a point or a number with so many digits may be cut off so close to the end of a piece."""


def read_gml(source: Source, *, on_error: OnError = "raise") -> Iterator[RawGraph | BadGraph]:
    """Yield the graphs of a GML file, one of them in memory at a time."""
    found = False

    def records() -> Iterator[tuple[str, str | None, _Reader | GraphError]]:
        nonlocal found
        try:
            for content in _graphs(source, on_error):
                found = True
                yield str(source), None, content
            if not found:
                raise GraphError("no 'graph [' in this file; is it GML?")
        except GraphError as error:
            raise GraphError(f"{source}: {error}") from None

    return each_record(records(), _Reader.graph, on_error)


class _Reader:
    """The names of the lists that are open, and what has been read of a graph if the outermost one is one."""

    def __init__(self) -> None:
        self.builder = GraphBuilder()
        self.top: dict[str, Any] = {}
        self.values: dict[str, Any] = {}
        self.open: list[str] = []
        self.key: str | None = None
        self.in_graph = False

    def take(self, kind: str, token: str) -> None:
        """Add one token."""
        if kind == "key" and self.key is None:
            self.key = token
        elif kind == "close" and self.key is None and self.open:
            item = self.open.pop()
            if self.in_graph and len(self.open) == 1 and item in ("node", "edge"):
                self._add(item, self.values)
        elif kind == "wrong":
            raise GraphError(f"{token!r} is no GML")
        elif self.key is None or kind in ("key", "close"):
            raise GraphError(f"{token[:40]!r} out of place")
        else:
            key, self.key = self.key, None
            if kind == "open":
                self._open(key)
            elif self.in_graph and self.open:
                self._value(key, _value(kind, token))

    def _open(self, key: str) -> None:
        if len(self.open) >= DEEPEST_NESTING:
            raise GraphError(f"lists nested more than {DEEPEST_NESTING} deep")
        if not self.open:
            self.in_graph = key == "graph"
        elif len(self.open) == 1:
            self.values = {}
        self.open.append(key)

    def _value(self, key: str, value: Any) -> None:
        """Keep a value of the graph, or of a node or edge; one in an inner list is called outer_inner."""
        at_top = len(self.open) == 1
        item = key if at_top else self.open[1]
        if item not in ("node", "edge"):
            if at_top:
                self.top[key] = value
            elif self.open[1:] in (["vectors", "node"], ["vectors", "edge"]) and isinstance(value, int):
                self.builder.widths[self.open[2]][key] = value
            return
        if at_top:
            raise GraphError(f"{item} must be a list in brackets; got {value!r}")
        name = "_".join([*self.open[2:], key])
        if name in self.values:
            raise GraphError(f"{item} with {name!r} twice")
        self.values[name] = value

    def _add(self, item: str, values: dict[str, Any]) -> None:
        for key in ("id",) if item == "node" else ("source", "target"):
            if key not in values:
                raise GraphError(f"{item} without {key!r}")
        if item == "edge":
            self.builder.edge(values.pop("source"), values.pop("target"), values)
            return
        name = values.pop("id")
        if values.get("label") == str(name):
            del values["label"]  # the name once more, as networkx writes it
        self.builder.node(name, values)

    def graph(self) -> RawGraph:
        """Return the graph."""
        label, directed = self.top.get("label", self.top.get("name")), self.top.get("directed") == 1
        return self.builder.build(directed=directed, graph_id=label and str(label), y=self.top.get("y"))


def _graphs(source: Source, on_error: OnError) -> Iterator[_Reader | GraphError]:
    """Yield what stands between the brackets of each "graph [", or the first fault in there.

    After a fault only brackets are counted, so that the next graph is found.
    """
    reader, window, depth = _Reader(), Window(source), 0
    fault: GraphError | None = None
    for kind, token in _tokens(window):
        try:
            if fault is None:
                reader.take(kind, token)
        except GraphError as error:
            fault = GraphError(f"{window.where()}: {error}")
            if on_error == "raise" or not (reader.in_graph and depth):
                raise fault from None
        depth += (kind == "open") - (kind == "close")
        if reader.in_graph and depth == 0:
            yield reader if fault is None else fault
            reader, fault = _Reader(), None
    if depth or reader.key is not None:
        raise fault or GraphError("the file ends within a list: cut off?")


def _tokens(window: Window) -> Iterator[tuple[str, str]]:
    """Yield kind and text of each token; the kind of what is none is "wrong"."""
    while window.place < len(window.text) or window.more():
        text, place = window.text, window.place
        found = TOKEN.match(text, place)
        # a number may go on with an exponent, of which up to two letters stand there
        blank = found is not None and found.lastgroup is None and text[place] != "#"
        cut_off = found.end() + 2 >= len(text) if found else _may_go_on(text, place)
        if cut_off and not blank and not window.ended:
            if len(text) - place > LARGEST_DOCUMENT:
                raise GraphError(
                    f"{window.where()}: one text or comment of more than {LARGEST_DOCUMENT} letters"
                )
            window.more()
            continue
        window.place = found.end() if found else place + 1
        if found is None:
            yield "wrong", text[place : place + 20]
        elif found.lastgroup is not None:
            yield found.lastgroup, found[found.lastgroup]


def _may_go_on(text: str, place: int) -> bool:
    """Whether what is no token here might be one if more text were there."""
    return text[place : place + 1] == '"' or len(text) - place < NEAR_THE_END


def _value(kind: str, token: str) -> Any:
    try:
        return (
            float(token)
            if kind == "real"
            else int(token)
            if kind == "whole"
            else ENTITY.sub(_character, token)
        )
    except (ValueError, OverflowError) as error:
        raise GraphError(f"{token[:40]!r}: {error}") from None


def _character(entity: re.Match[str]) -> str:
    name = entity[1]
    if name.startswith("#"):
        return chr(int(name[1:]))
    return chr(name2codepoint[name]) if name in name2codepoint else entity[0]


def write_gml(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write graphs one after another; truth values become 0 and 1."""
    for graph in graphs:
        for line in _lines(graph):
            file.write((line + "\n").encode("ascii"))


def _lines(graph: RawGraph) -> Iterator[str]:
    node_names, nodes = plain_rows(graph.node_columns, graph.n_nodes)
    edge_names, edges = plain_rows(graph.edge_columns, len(graph.edges))
    check_names(node_names, {"id"}, "GML")
    check_names(edge_names, {"source", "target"}, "GML")
    for name in (*node_names, *edge_names):
        if not NAME.match(name):
            raise GraphError(
                f"a column called {name!r} cannot be written: GML names are letters, digits and _"
            )
    yield "graph ["
    if graph.graph_id is not None:
        yield f"  label {_text(graph.graph_id)}"
    if graph.y is not None:
        yield f"  y {_text(scalar_y(graph.y, 'GML'))}"
    yield f"  directed {int(graph.directed)}"
    yield from _widths(graph)
    for index, row in enumerate(nodes):
        values = "".join(f" {name} {_text(value)}" for name, value in row.items())
        yield f"  node [ id {index}{values} ]"
    for (source, target), row in zip(graph.edges.tolist(), edges, strict=True):
        values = "".join(f" {name} {_text(value)}" for name, value in row.items())
        yield f"  edge [ source {source} target {target}{values} ]"
    yield "]"


def _widths(graph: RawGraph) -> Iterator[str]:
    """Yield the widths of the columns that were taken apart."""
    lists = []
    for item, columns in (("node", graph.node_columns), ("edge", graph.edge_columns)):
        widths = vector_widths(columns)
        if widths:
            lists.append(f"{item} [ {' '.join(f'{name} {width}' for name, width in widths.items())} ]")
    if lists:
        yield f"  vectors [ {' '.join(lists)} ]"


def _text(value: Any) -> str:
    if isinstance(value, str):
        return '"' + ESCAPE.sub(lambda found: f"&#{ord(found[0])};", value) + '"'
    return repr(int(value) if isinstance(value, bool) else value)
