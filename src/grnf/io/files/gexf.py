"""GEXF, the format of Gephi: one static graph a file, typed attributes, edge weights.

Vectors are taken apart as in GraphML.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

from grnf.errors import GraphError
from grnf.io.files.builder import GraphBuilder
from grnf.io.files.streams import Source
from grnf.io.files.values import check_names, part_widths, plain_rows
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
from grnf.io.raw import RawGraph

__all__ = ["read_gexf", "write_gexf"]

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<gexf xmlns="http://gexf.net/1.3" version="1.3">\n'


class _Reader:
    """What has been read so far of one graph."""

    def __init__(self) -> None:
        self.builder = GraphBuilder()
        self.default = "undirected"
        self.found = False
        self.item_class = ""
        self.declared: dict[tuple[str, str], tuple[str, str, int]] = {}
        self.defaults: dict[str, dict[str, Any]] = {"node": {}, "edge": {}}
        self.declaration: tuple[str, str] | None = None
        self.text: list[str] | None = None
        self.items: list[tuple[Event, dict[str, Any]]] = []

    def handle(self, event: Event) -> None:
        if event.kind == "text":
            if self.text is not None:
                self.text.append(event.name)
        elif event.kind == "start":
            self._start(event)
        else:
            self._end(event)

    def _start(self, event: Event) -> None:
        if event.name == "graph":
            if self.found:
                raise GraphError("a second <graph>; GEXF has one a file")
            if event.attributes.get("mode", "static") != "static":
                raise GraphError("a dynamic graph; export one moment of it as a static graph")
            self.found = True
            self.default = event.attributes.get("defaultedgetype", "undirected")
        elif event.name == "attributes":
            self.item_class = attribute(event, "class")
        elif event.name == "attribute":
            self.declaration = (
                event.attributes.get("title", attribute(event, "id")),
                event.attributes.get("type", "string"),
            )
            key = attribute(event, "id")
            self.declared[self.item_class, key] = *self.declaration, width_of(key)
        elif event.name == "default":
            self.text = []
        elif event.name in ("node", "edge"):
            if self.items:
                raise GraphError(
                    f"<{event.name}> within <{self.items[-1][0].name}>; flatten the hierarchy first"
                )
            self.items.append((event, {}))
        elif event.name == "attvalue":
            self._value(event)

    def _value(self, event: Event) -> None:
        if not self.items:
            raise GraphError("<attvalue> outside of nodes and edges")
        item, values = self.items[-1]
        key = event.attributes.get("for", event.attributes.get("id", ""))
        if (item.name, key) not in self.declared:
            raise GraphError(f"no <attribute> with id {key!r} is declared for {item.name}s")
        title, kind, width = self.declared[item.name, key]
        if width:
            self.builder.part(item.name, title, width)
        values[title] = typed_value(attribute(event, "value"), kind, title)

    def _end(self, event: Event) -> None:
        if event.name == "default" and self.text is not None and self.declaration is not None:
            title, kind = self.declaration
            self.defaults.setdefault(self.item_class, {})[title] = typed_value(
                "".join(self.text), kind, title
            )
            self.text = None
        elif event.name in ("node", "edge") and self.items:
            item, values = self.items.pop()
            self._add(item, {**self.defaults[item.name], **values})

    def _add(self, item: Event, values: dict[str, Any]) -> None:
        label = item.attributes.get("label")
        if label and label != item.attributes.get("id"):
            values.setdefault("label", label)
        if item.name == "node":
            self.builder.node(attribute(item, "id"), values)
            return
        if "weight" in item.attributes:
            values["weight"] = typed_value(item.attributes["weight"], "double", "weight")
        kind = item.attributes.get("type", self.default)
        if kind not in ("directed", "undirected"):
            raise GraphError(f"edges of type {kind!r} are not read; write two directed ones")
        self.builder.edge(attribute(item, "source"), attribute(item, "target"), values, kind == "directed")

    def graph(self) -> RawGraph:
        if not self.found:
            raise GraphError("no <graph> in this file; is it GEXF?")
        rows: list[Mapping[str, Any]] = self.builder.edge_rows
        if any("weight" in row for row in rows):  # the format says that a weight left out is 1
            self.builder.edge_rows = [{"weight": 1.0, **row} for row in rows]
        return self.builder.build(directed=self.default == "directed")


def read_gexf(source: Source) -> Iterator[RawGraph]:
    """Yield the graph of a GEXF file."""
    reader = _Reader()
    for event in xml_events(source):
        try:
            reader.handle(event)
        except GraphError as error:
            raise GraphError(f"{source}, line {event.line}: {error}") from None
    try:
        graph = reader.graph()
    except GraphError as error:
        raise GraphError(f"{source}: {error}") from None
    yield graph


def write_gexf(file: IO[bytes], graphs: Iterable[RawGraph]) -> None:
    """Write one graph."""
    for graph in graphs:
        file.write(HEAD.encode())
        for line in _lines(graph):
            file.write((line + "\n").encode())
        file.write(b"</gexf>\n")


def _lines(graph: RawGraph) -> Iterator[str]:
    node_names, nodes = plain_rows(graph.node_columns, graph.n_nodes)
    edge_names, edges = plain_rows(graph.edge_columns, len(graph.edges))
    check_names([*node_names, *edge_names], {"label"}, "GEXF")
    yield f'<graph defaultedgetype="{"directed" if graph.directed else "undirected"}">'
    ids: dict[str, dict[str, str]] = {}
    for item, columns, names, rows in (
        ("node", graph.node_columns, node_names, nodes),
        ("edge", graph.edge_columns, edge_names, edges),
    ):
        widths = part_widths(columns)
        ids[item] = {}
        yield f'<attributes class="{item}">'
        for index, name in enumerate(names):
            kind = value_type([row[name] for row in rows if name in row], name)
            key = ids[item][name] = with_width(str(index), widths.get(name, 0))
            yield f'<attribute id="{key}" title="{xml_text(name)}" type="{kind}"/>'
        yield "</attributes>"

    def values(item: str, row: Mapping[str, Any]) -> str:
        entries = "".join(
            f'<attvalue for="{key}" value="{xml_text(row[name])}"/>'
            for name, key in ids[item].items()
            if name in row
        )
        return f"<attvalues>{entries}</attvalues>"

    yield "<nodes>"
    for index, row in enumerate(nodes):
        yield f'<node id="{index}">{values("node", row)}</node>'
    yield "</nodes>"
    yield "<edges>"
    for index, ((source, target), row) in enumerate(zip(graph.edges.tolist(), edges, strict=True)):
        yield f'<edge id="{index}" source="{source}" target="{target}">{values("edge", row)}</edge>'
    yield "</edges>"
    yield "</graph>"
