"""GraphML: one or more graphs a file, typed attributes; nested graphs, ports and hyperedges are refused.

There are no vectors: one of width 3 is written as three attributes, whose ids end in .vector3.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, NamedTuple

from grnf.errors import GraphError
from grnf.io.files.builder import GraphBuilder
from grnf.io.files.records import OnError, each_record
from grnf.io.files.streams import Source
from grnf.io.files.values import part_widths, plain_rows, scalar_y
from grnf.io.files.xml import (
    Event,
    attribute,
    typed_value,
    value_type,
    width_of,
    with_width,
    xml_events,
    xml_text,
)
from grnf.io.raw import BadGraph, RawGraph

__all__ = ["read_graphml", "write_graphml"]

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'


class _Key(NamedTuple):
    id: str
    name: str
    kind: str
    item: str
    ignored: bool
    width: int


@dataclass
class _Reader:
    """What has been read so far; `handle` takes one event and returns a graph when one is complete."""

    keys: dict[str, _Key] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)
    builder: GraphBuilder | None = None
    graph: Event | None = None
    item: Event | None = None
    values: dict[str, Any] = field(default_factory=dict)
    graph_values: dict[str, Any] = field(default_factory=dict)
    key: _Key | None = None
    text: list[str] | None = None

    def handle(self, event: Event) -> RawGraph | None:
        if event.kind == "text":
            if self.text is not None:
                self.text.append(event.name)
        elif event.kind == "start":
            self._start(event)
        else:
            return self._end(event)
        return None

    def _start(self, event: Event) -> None:
        if event.name in ("hyperedge", "port"):
            raise GraphError(f"<{event.name}> is not read; only plain nodes and edges are")
        if event.name == "graph":
            if self.builder is not None:
                raise GraphError("a graph within a graph; flatten it first")
            self.builder, self.graph, self.graph_values = GraphBuilder(), event, {}
        elif event.name == "key":
            given = event.attributes
            key, item = attribute(event, "id"), given.get("for", "all")
            ignored = "yfiles.type" in given  # drawing instructions of an editor
            name, kind = given.get("attr.name", key), given.get("attr.type", "string")
            self.key = _Key(key, name, kind, item, ignored, width_of(key))
            self.keys[key] = self.key
            self.defaults.pop(key, None)
        elif event.name in ("node", "edge"):
            self.item, self.values = event, {}
        elif event.name == "data":
            self.key = self.keys.get(attribute(event, "key"))
            if self.key is None:
                raise GraphError(f"no <key> with id {event.attributes['key']!r} stands before this <data>")
            self.text = []
        elif event.name == "default":
            self.text = []

    def _end(self, event: Event) -> RawGraph | None:
        if event.name in ("data", "default") and self.text is not None and self.key is not None:
            text, self.text = "".join(self.text), None
            if event.name == "default":
                self.defaults[self.key.id] = text
            elif not self.key.ignored:
                if self.key.width and self.item is not None and self.builder is not None:
                    self.builder.part(self.item.name, self.key.name, self.key.width)
                values = self.graph_values if self.item is None else self.values
                values[self.key.name] = typed_value(text, self.key.kind, self.key.name)
        elif event.name in ("node", "edge") and self.item is not None and self.builder is not None:
            self._add(self.item, self.builder)
            self.item = None
        elif event.name == "graph":
            return self._graph()
        return None

    def _add(self, item: Event, builder: GraphBuilder) -> None:
        for name, text in self.defaults.items():  # not all keys: a file may declare some for each graph
            key = self.keys[name]
            if key.item in (item.name, "all") and not key.ignored:
                self.values.setdefault(key.name, typed_value(text, key.kind, key.name))
        if item.name == "node":
            builder.node(attribute(item, "id"), self.values)
            return
        default = self._directed()
        directed = item.attributes.get("directed", str(default)).lower() == "true"
        builder.edge(attribute(item, "source"), attribute(item, "target"), self.values, directed)

    def _directed(self) -> bool:
        return self.graph is not None and self.graph.attributes.get("edgedefault") == "directed"

    def _graph(self) -> RawGraph | None:
        builder, graph = self.builder, self.graph
        if builder is None or graph is None:
            return None
        directed, graph_id = self._directed(), graph.attributes.get("id")
        self.builder = None
        return builder.build(directed=directed, graph_id=graph_id, y=self.graph_values.get("y"))


def read_graphml(source: Source, *, on_error: OnError = "raise") -> Iterator[RawGraph | BadGraph]:
    """Yield the graphs of a GraphML file; graph data called "y" is the target."""
    return each_record(_contents(source, on_error), lambda graph: graph, on_error)


def _contents(source: Source, on_error: OnError) -> Iterator[tuple[str, str | None, RawGraph | GraphError]]:
    """Yield graphs, or what is wrong with one; then the next one begins after its end."""
    reader = _Reader()
    found = False
    depth = 0
    fault: tuple[int, GraphError] | None = None
    for event in xml_events(source):
        outside = depth == 0
        if event.name == "graph":
            depth += (event.kind == "start") - (event.kind == "end")
        graph: RawGraph | GraphError | None = None
        line = event.line
        try:
            if fault is None:
                graph = reader.handle(event)
        except GraphError as error:
            if on_error == "raise" or (outside and not depth):
                raise GraphError(f"{source}, line {event.line}: {error}") from None
            fault = event.line, error
        name = reader.graph.attributes.get("id") if reader.graph is not None else None
        if fault is not None and depth == 0:
            (line, graph), fault = fault, None
            reader = _Reader(reader.keys, reader.defaults)
        if graph is not None:
            found = True
            yield f"{source}, line {line}", name, graph
    if not found:
        raise GraphError(f"{source}: no <graph> in this file; is it GraphML?")


def write_graphml(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write graphs one after another; a column is declared before the first graph that has it."""
    file.write(HEAD.encode())
    keys: dict[tuple[str, str, str, int], str] = {}
    for graph in graphs:
        for line in _lines(graph, keys):
            file.write((line + "\n").encode())
    file.write(b"</graphml>\n")


def _lines(graph: RawGraph, keys: dict[tuple[str, str, str, int], str]) -> Iterator[str]:
    _, nodes = plain_rows(graph.node_columns, graph.n_nodes)
    _, edges = plain_rows(graph.edge_columns, len(graph.edges))
    top = {} if graph.y is None else {"y": scalar_y(graph.y, "GraphML")}
    own: dict[tuple[str, str], str] = {}
    for item, columns, rows in (
        ("graph", {}, [top]),
        ("node", graph.node_columns, nodes),
        ("edge", graph.edge_columns, edges),
    ):
        widths = part_widths(columns)
        for name in dict.fromkeys(name for row in rows for name in row):
            kind = value_type([row[name] for row in rows if name in row], name)
            width = widths.get(name, 0)
            if (item, name, kind, width) not in keys:
                key = keys[item, name, kind, width] = with_width(f"d{len(keys)}", width)
                yield f'<key id="{key}" for="{item}" attr.name="{xml_text(name)}" attr.type="{kind}"/>'
            own[item, name] = keys[item, name, kind, width]

    def data(item: str, values: Mapping[str, Any]) -> str:
        return "".join(
            f'<data key="{own[item, name]}">{xml_text(value)}</data>' for name, value in values.items()
        )

    name = "" if graph.graph_id is None else f' id="{xml_text(graph.graph_id)}"'
    yield f'<graph{name} edgedefault="{"directed" if graph.directed else "undirected"}">{data("graph", top)}'
    for index, row in enumerate(nodes):
        yield f'<node id="n{index}">{data("node", row)}</node>'
    for (source, target), row in zip(graph.edges.tolist(), edges, strict=True):
        yield f'<edge source="n{source}" target="n{target}">{data("edge", row)}</edge>'
    yield "</graph>"
