"""GML: nested lists of "key value"; one or more graphs a file. A label that repeats the id is dropped."""

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
from grnf.io.files.values import check_names, plain_rows, scalar_y
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

Pairs = list[tuple[str, Any]]


def read_gml(source: Source, *, on_error: OnError = "raise") -> Iterator[RawGraph | BadGraph]:
    """Yield the graphs of a GML file, one of them in memory at a time."""
    found = False

    def records() -> Iterator[tuple[str, str | None, Pairs | GraphError]]:
        nonlocal found
        try:
            for content in _graphs(source, on_error):
                found = True
                yield str(source), None, content
            if not found:
                raise GraphError("no 'graph [' in this file; is it GML?")
        except GraphError as error:
            raise GraphError(f"{source}: {error}") from None

    return each_record(records(), _graph, on_error)


class _Nest:
    """The lists that are open, and the content of the outermost one if it is a graph."""

    def __init__(self) -> None:
        self.content: Pairs = []
        self.stack: list[Pairs] = []
        self.depth = 0
        self.key: str | None = None
        self.in_graph = False

    def take(self, kind: str, token: str) -> None:
        """Add one token."""
        if kind == "key" and self.key is None:
            self.key = token
        elif kind == "close" and self.key is None and self.depth:
            self.depth -= 1
            self.stack.pop()
        elif kind == "wrong":
            raise GraphError(f"{token!r} is no GML")
        elif self.key is None or kind in ("key", "close"):
            raise GraphError(f"{token[:40]!r} out of place")
        elif kind == "open":
            self._open(self.key)
        else:
            value = _value(kind, token)
            if self.in_graph and self.depth:
                self.stack[-1].append((self.key, value))
            self.key = None

    def _open(self, key: str) -> None:
        if self.depth >= DEEPEST_NESTING:
            raise GraphError(f"lists nested more than {DEEPEST_NESTING} deep")
        inner: Pairs = []
        if not self.depth:
            self.in_graph, self.content = key == "graph", inner
        elif self.in_graph:
            self.stack[-1].append((key, inner))
        self.stack.append(inner)
        self.depth, self.key = self.depth + 1, None


def _graphs(source: Source, on_error: OnError) -> Iterator[Pairs | GraphError]:
    """Yield what stands between the brackets of each "graph [", or the first fault in there.

    After a fault only brackets are counted, so that the next graph is found.
    """
    nest, window = _Nest(), Window(source)
    fault: GraphError | None = None
    for kind, token in _tokens(window):
        try:
            if fault is None:
                nest.take(kind, token)
        except GraphError as error:
            fault = GraphError(f"{window.where()}: {error}")
            if on_error == "raise" or not (nest.in_graph and nest.depth):
                raise fault from None
        if fault is not None:
            nest.depth += (kind == "open") - (kind == "close")
        if nest.in_graph and nest.depth == 0:
            yield nest.content if fault is None else fault
            nest, fault = _Nest(), None
    if nest.depth or nest.key is not None:
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


def _graph(pairs: Pairs) -> RawGraph:
    builder = GraphBuilder()
    top: dict[str, Any] = {}
    for key, value in pairs:
        if key in ("node", "edge"):
            values = _flat(value, key)
            if key == "node":
                name = _taken(values, "id", key)
                if values.get("label") == str(name):
                    del values["label"]  # the name once more, as networkx writes it
                builder.node(name, values)
            else:
                builder.edge(_taken(values, "source", key), _taken(values, "target", key), values)
        elif not isinstance(value, list):
            top[key] = value
    label = top.get("label", top.get("name"))
    return builder.build(directed=top.get("directed") == 1, graph_id=label and str(label), y=top.get("y"))


def _flat(pairs: Any, item: str) -> dict[str, Any]:
    """Return the values of a node or edge; those of inner lists as outer_inner."""
    if not isinstance(pairs, list):
        raise GraphError(f"{item} must be a list in brackets; got {pairs!r}")
    values: dict[str, Any] = {}
    for key, value in pairs:
        inner = (
            {f"{key}_{k}": v for k, v in _flat(value, item).items()}
            if isinstance(value, list)
            else {key: value}
        )
        for name, entry in inner.items():
            if name in values:
                raise GraphError(f"{item} with {name!r} twice")
            values[name] = entry
    return values


def _taken(values: dict[str, Any], key: str, item: str) -> Any:
    if key not in values:
        raise GraphError(f"{item} without {key!r}")
    return values.pop(key)


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
    for index, row in enumerate(nodes):
        values = "".join(f" {name} {_text(value)}" for name, value in row.items())
        yield f"  node [ id {index}{values} ]"
    for (source, target), row in zip(graph.edges.tolist(), edges, strict=True):
        values = "".join(f" {name} {_text(value)}" for name, value in row.items())
        yield f"  edge [ source {source} target {target}{values} ]"
    yield "]"


def _text(value: Any) -> str:
    if isinstance(value, str):
        return '"' + ESCAPE.sub(lambda found: f"&#{ord(found[0])};", value) + '"'
    return repr(int(value) if isinstance(value, bool) else value)
