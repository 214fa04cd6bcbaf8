"""Long tables of edges, CSV or Parquet: graph_id, source, target and attributes; a second table for nodes.

The rows of one graph stand together, so that tables of any length can be read. Ids of nodes may repeat from
graph to graph. Isolated nodes and node attributes need the node table, with the graphs in the same order.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from grnf.errors import GraphError
from grnf.io.files.builder import GraphBuilder
from grnf.io.files.records import OnError, each_record
from grnf.io.files.streams import Source
from grnf.io.files.tables import Row, cell, find_column, read_table
from grnf.io.raw import BadGraph, RawGraph

__all__ = ["SOURCE_NAMES", "TARGET_NAMES", "read_edge_table"]

GRAPH_NAMES = ("graph_id", "graph", "graphid", "graph_indicator")
SOURCE_NAMES = ("source", "src", "from", "source_id", "u")
TARGET_NAMES = ("target", "dst", "to", "target_id", "v", "destination")
NODE_NAMES = ("node", "node_id", "nodeid", "id")


class _Part(NamedTuple):
    """The rows of one graph in one table."""

    graph_id: Any
    where: str
    rows: list[Row]


class _Table:
    """A table whose rows are grouped by graph; its columns are known once the first row is read."""

    def __init__(self, source: Source, roles: dict[str, tuple[str | None, Sequence[str]]]) -> None:
        self.source = source
        self.roles = roles
        self.columns: dict[str, str] = {}

    def parts(self) -> Iterator[_Part]:
        seen: set[Any] = set()
        for graph_id, rows in groupby(read_table(self.source, self._choose), key=self._graph_id):
            part = list(rows)
            if graph_id in seen:
                raise GraphError(
                    f"{part[0].where}: the rows of graph {graph_id!r} do not stand together; "
                    f"sort the table by {self.columns['graph']!r} first"
                )
            seen.add(graph_id)
            yield _Part(graph_id, part[0].where, part)

    def _choose(self, names: list[str]) -> list[str]:
        for role, (given, usual) in self.roles.items():
            self.columns[role] = find_column(names, given, usual, role, self.source)
        return names

    def _graph_id(self, row: Row) -> Any:
        if row.problem:
            raise GraphError(f"{row.where}: {row.problem}")
        value = row.values[self.columns["graph"]]
        if value is None or value == "" or isinstance(value, (list, dict)):
            raise GraphError(f"{row.where}: no id of a graph in column {self.columns['graph']!r}")
        return value

    def role(self, row: Row, role: str) -> Any:
        """Return the id of a node; texts are compared as they stand."""
        value = row.values[self.columns[role]]
        if value is None or value == "" or isinstance(value, (list, dict)):
            raise GraphError(f"{row.where}: no node in column {self.columns[role]!r}")
        return str(value)

    def attributes(self, row: Row) -> dict[str, Any]:
        taken = set(self.columns.values())
        return {name: cell(value) for name, value in row.values.items() if name not in taken}


def read_edge_table(
    source: Source,
    *,
    nodes: str | os.PathLike[str] | None = None,
    directed: bool = False,
    graph_id: str | None = None,
    source_column: str | None = None,
    target_column: str | None = None,
    node_column: str | None = None,
    on_error: OnError = "raise",
) -> Iterator[RawGraph | BadGraph]:
    """Yield the graphs of a table of edges.

    Parameters
    ----------
    source : Source
    nodes : path, optional
        A table of nodes: the id of the graph, of the node, and attributes.
    directed : bool, default=False
    graph_id, source_column, target_column, node_column : str, optional
        Names of columns, where they are not the usual ones.
    on_error : {"raise", "yield"}
    """
    graph_role = (graph_id, GRAPH_NAMES)
    edges = _Table(
        source,
        {
            "graph": graph_role,
            "source": (source_column, SOURCE_NAMES),
            "target": (target_column, TARGET_NAMES),
        },
    )
    if nodes is None:
        pairs: Iterator[tuple[_Part | None, _Part | None]] = ((None, part) for part in edges.parts())
        table = None
    else:
        table = _Table(Source(nodes), {"graph": graph_role, "node": (node_column, NODE_NAMES)})
        pairs = _joined(table.parts(), edges.parts())

    def build(pair: tuple[_Part | None, _Part | None]) -> RawGraph:
        node_part, edge_part = pair
        builder = GraphBuilder()
        if table is not None and node_part is not None:
            for row in node_part.rows:
                builder.node(table.role(row, "node"), table.attributes(row))
        for row in edge_part.rows if edge_part else ():
            values = edges.attributes(row)
            builder.edge(edges.role(row, "source"), edges.role(row, "target"), values)
        name = _name(pair)
        return builder.build(directed=directed, graph_id=name, new_nodes=table is None)

    records = ((f"{_where(pair)}: graph {_name(pair)!r}", _name(pair), pair) for pair in pairs)
    return each_record(records, build, on_error)


def _name(pair: tuple[_Part | None, _Part | None]) -> str:
    part = pair[0] or pair[1]
    return "" if part is None else str(part.graph_id)


def _where(pair: tuple[_Part | None, _Part | None]) -> str:
    part = pair[1] or pair[0]
    return "" if part is None else part.where


def _joined(nodes: Iterator[_Part], edges: Iterator[_Part]) -> Iterator[tuple[_Part | None, _Part | None]]:
    """Pair the parts of two tables that have the graphs in one order; a graph may have no edges."""
    edge_part = next(edges, None)
    for node_part in nodes:
        if edge_part is not None and str(edge_part.graph_id) == str(node_part.graph_id):
            yield node_part, edge_part
            edge_part = next(edges, None)
        else:
            yield node_part, None
    if edge_part is not None:
        raise GraphError(
            f"{edge_part.where}: graph {edge_part.graph_id!r} is not in the table of nodes, or not at its "
            "place: both tables must have the graphs in the same order"
        )
