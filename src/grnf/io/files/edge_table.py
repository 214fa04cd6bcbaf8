"""Long tables of edges, CSV or Parquet: graph_id, source, target and attributes; a second table for nodes.

Without a column of graphs the table is one graph. Ids of nodes may repeat from graph to graph. Isolated nodes
and node attributes need the node table: a file NAME.nodes.csv beside NAME.csv, or one that is named. A column
"directed" of the edges is their direction. A first pass over the ids tells whether the rows of each graph
stand together, and both tables have the graphs in one order; rows that do not are sorted on disk, so that
tables of any length and order can be read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from grnf.errors import GraphError
from grnf.io.files.builder import GraphBuilder
from grnf.io.files.grouping import GraphNumbers, sorted_rows
from grnf.io.files.records import OnError, each_record
from grnf.io.files.streams import Source
from grnf.io.files.tables import Row, cell, find_column, read_table
from grnf.io.raw import BadGraph, RawGraph

__all__ = ["SOURCE_NAMES", "TARGET_NAMES", "is_node_table", "node_table", "read_edge_table"]

GRAPH_NAMES = ("graph_id", "graph", "graphid", "graph_indicator")
SOURCE_NAMES = ("source", "src", "from", "source_id", "u")
TARGET_NAMES = ("target", "dst", "to", "target_id", "v", "destination")
NODE_NAMES = ("node", "node_id", "nodeid", "id")
DIRECTED = "directed"
ONLY = ""
"""The id of a graph that has none."""


def node_table(path: Path) -> Path:
    """Return where the node table of a table of edges stands, if there is one.

    Examples
    --------
    >>> print(node_table(Path("trees.csv.gz")))
    trees.nodes.csv.gz
    """
    inner = Path(path.stem) if path.suffix.lower() == ".gz" else Path(path.name)
    return path.with_name(f"{inner.stem}.nodes{path.name[len(inner.stem) :]}")


def is_node_table(path: Path) -> bool:
    """Whether this is the node table of a table of edges beside it."""
    before, dot, after = path.name.rpartition(".nodes.")
    return bool(dot) and bool(before) and path.with_name(f"{before}.{after}").is_file()


TRUTH = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


class _Part(NamedTuple):
    """The rows of one graph in one table."""

    number: int
    graph_id: str
    rows: list[Row]


class _Table:
    """A table whose rows belong to graphs; its columns are known once the first row is read."""

    def __init__(
        self, source: Source, roles: Mapping[str, tuple[str | None, Sequence[str]]], on_error: OnError
    ) -> None:
        self.source = source
        self.roles = roles
        self.on_error = on_error
        self.columns: dict[str, str] = {}
        self.ordered = True

    def survey(self, numbers: GraphNumbers) -> None:
        """Give numbers to the graphs, and see whether they stand in that order, each in one piece."""
        last = -1
        for graph_id, _ in groupby(self._rows(only_ids=True), key=lambda pair: pair[0]):
            number = numbers.add(graph_id)
            self.ordered &= number > last
            last = number

    def parts(self, numbers: GraphNumbers) -> Iterator[_Part]:
        """Yield the rows of each graph, graphs in the order of their numbers."""
        rows = ((numbers.add(graph_id), graph_id, row) for graph_id, row in self._rows())
        if self.ordered:
            for graph_id, group in groupby(self._rows(), key=lambda pair: pair[0]):
                yield _Part(numbers.add(graph_id), graph_id, [row for _, row in group])
            return
        for number, together in groupby(sorted_rows(rows), key=lambda entry: entry[0]):
            entries = list(together)
            yield _Part(number, entries[0][1], [row for _, _, row in entries])

    def _rows(self, *, only_ids: bool = False) -> Iterator[tuple[str, Row]]:
        """Yield rows with the ids of their graphs.

        A row without an id, which only on_error="yield" lets through, counts to the graph before it, or to
        the first one.
        """
        current: str | None = None
        waiting: Row | None = None

        def choose(names: list[str]) -> list[str]:
            for role, (given, usual) in self.roles.items():
                if role != "graph" or given is not None or _usual(names, usual):
                    self.columns[role] = find_column(names, given, usual, role, self.source)
            if DIRECTED in names and "source" in self.roles:
                self.columns[DIRECTED] = DIRECTED
            return [next(iter(self.columns.values()))] if only_ids else names

        for row in read_table(self.source, choose):
            graph_id = ONLY if self.is_one else _identifier(row.values.get(self.columns["graph"]))
            if graph_id is None and not row.problem:
                problem = f"no id of a graph in column {self.columns['graph']!r}"
                row = Row(row.where, row.values, problem)
            if row.problem and self.on_error == "raise":
                raise GraphError(f"{row.where}: {row.problem}")
            current = graph_id if graph_id is not None else current
            if current is None:
                waiting = waiting or row
                continue
            if waiting is not None:
                yield current, waiting
                waiting = None
            yield current, row
        if waiting is not None:
            yield ONLY, waiting

    @property
    def is_one(self) -> bool:
        """Whether the table, whose columns are known, is one graph, having no column of graphs."""
        return "graph" not in self.columns

    def role(self, row: Row, role: str) -> str:
        """Return the id of a node; texts are compared as they stand."""
        if row.problem:
            raise GraphError(f"{row.where}: {row.problem}")
        name = _identifier(row.values[self.columns[role]])
        if name is None:
            raise GraphError(f"{row.where}: no node in column {self.columns[role]!r}")
        return name

    def direction(self, row: Row) -> bool | None:
        """Return whether an edge is directed, where its row says so."""
        value = cell(row.values[DIRECTED]) if DIRECTED in self.columns else None
        if value is None:
            return None
        truth = str(value).lower()
        if truth not in TRUTH:
            raise GraphError(f"{row.where}: column 'directed' is {value!r:.40}; true or false is wanted")
        return TRUTH[truth]

    def attributes(self, row: Row) -> dict[str, Any]:
        taken = set(self.columns.values())
        return {name: cell(value) for name, value in row.values.items() if name not in taken}


def _usual(names: Sequence[str], usual: Sequence[str]) -> bool:
    return any(name.strip().lower() in usual for name in names)


def _identifier(value: Any) -> str | None:
    return None if value is None or value == "" or isinstance(value, (list, dict)) else str(value)


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
    """Yield the graphs of a table of edges, in the order in which the table of nodes, or else it, names them.

    Parameters
    ----------
    source : Source
    nodes : path, optional
        A table of nodes: the id of the graph, of the node, and attributes. By default the file NAME.nodes.csv
        beside NAME.csv, if there is one (or .tsv, .parquet, as the table of edges is).
    directed : bool, default=False
        Whether edges have a direction, where no column "directed" says so.
    graph_id, source_column, target_column, node_column : str, optional
        Names of columns, where they are not the usual ones.
    on_error : {"raise", "yield"}
    """
    graph_role = (graph_id, GRAPH_NAMES)
    edge_roles = {
        "graph": graph_role,
        "source": (source_column, SOURCE_NAMES),
        "target": (target_column, TARGET_NAMES),
    }
    if nodes is None and not source.is_stdin and node_table(source.path).is_file():
        nodes = node_table(source.path)
    with ExitStack() as stack:
        numbers = GraphNumbers()
        stack.callback(numbers.close)
        table: _Table | None = None
        if nodes is not None:
            opened = stack.enter_context(Source(nodes).reopenable())
            table = _Table(opened, {"graph": graph_role, "node": (node_column, NODE_NAMES)}, on_error)
            table.survey(numbers)
        n_listed = numbers.count
        edges = _Table(stack.enter_context(source.reopenable()), edge_roles, on_error)
        edges.survey(numbers)
        if table is not None and table.is_one != edges.is_one:
            raise GraphError(
                f"{source}: of its tables of edges and of nodes one has a column of graphs alone"
            )

        def build(pair: tuple[_Part | None, _Part | None]) -> RawGraph:
            node_part, edge_part = pair
            builder = GraphBuilder()
            if table is not None:
                if node_part is None or node_part.number >= n_listed:
                    raise GraphError("this graph is not in the table of nodes")
                for row in node_part.rows:
                    builder.node(table.role(row, "node"), table.attributes(row))
            for row in edge_part.rows if edge_part else ():
                ends = edges.role(row, "source"), edges.role(row, "target")
                builder.edge(*ends, edges.attributes(row), edges.direction(row))
            name = _one(pair).graph_id or None
            return builder.build(directed=directed, graph_id=name, new_nodes=table is None)

        pairs = _joined(iter(()) if table is None else table.parts(numbers), edges.parts(numbers))
        if edges.is_one:  # also where there is no row at all
            pairs = iter([next(pairs, (None, None))])
        yield from each_record(
            ((_where(pair, source), _one(pair).graph_id or None, pair) for pair in pairs), build, on_error
        )


def _where(pair: tuple[_Part | None, _Part | None], source: Source) -> str:
    """Return where a graph begins, and which it is."""
    part = pair[1] or _one(pair)
    place = part.rows[0].where if part.rows else str(source)
    return f"{place}: graph {part.graph_id!r}" if part.graph_id else place


def _one(pair: tuple[_Part | None, _Part | None]) -> _Part:
    return pair[0] or pair[1] or _Part(0, "", [])


def _joined(nodes: Iterator[_Part], edges: Iterator[_Part]) -> Iterator[tuple[_Part | None, _Part | None]]:
    """Pair the parts of two tables, both in the order of the numbers; a graph may be in one of them only."""
    node_part, edge_part = next(nodes, None), next(edges, None)
    while node_part is not None or edge_part is not None:
        number = min(part.number for part in (node_part, edge_part) if part is not None)
        of_node = node_part if node_part is not None and node_part.number == number else None
        of_edge = edge_part if edge_part is not None and edge_part.number == number else None
        yield of_node, of_edge
        node_part = next(nodes, None) if of_node is not None else node_part
        edge_part = next(edges, None) if of_edge is not None else edge_part
