"""Tables of many graphs: a dataframe of edges and, for attributes and lonely nodes, one of nodes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError
from grnf.io.columns import as_column, is_missing
from grnf.io.raw import RawGraph
from grnf.typing import IntArray

__all__ = ["graphs_from_tables", "raw_from_tables"]


def graphs_from_tables(
    edges: Any,
    nodes: Any = None,
    *,
    graph_id: str | None = "graph_id",
    source: str = "source",
    target: str = "target",
    node: str = "node",
    directed: bool = False,
) -> list[RawGraph]:
    """Make graphs from a table with one row per edge and, optionally, one with a row per node.

    All other columns are attributes. Graphs come in the order in which their ids first appear, in the table
    of nodes (if there is one) before that of edges; `RawGraph.graph_id` has the id as text. Without a table
    of nodes, nodes are those that edges name.

    Parameters
    ----------
    edges, nodes : dataframe of pandas, polars or any other library that narwhals knows
    graph_id, source, target, node : str
        Columns with the id of the graph (in both tables; None: they are one graph), the two ends of an edge
        (in `edges`) and the id of a node (in `nodes`). Ids of nodes may repeat from graph to graph.
    directed : bool, default=False

    Examples
    --------
    >>> import pandas as pd
    >>> edges = pd.DataFrame({"graph_id": ["a", "a", "b"], "source": [7, 8, 7], "target": [8, 9, 8]})
    >>> graphs_from_tables(edges)[0]
    RawGraph(n_nodes=3, n_edges=2, node_columns=[], edge_columns=[], undirected)
    """
    edge_table = _Table(edges, "edges", graph_id, (source, target))
    graphs: dict[Hashable, int] = {} if graph_id is not None else {None: 0}
    numbers: list[dict[Hashable, int]] = [{} for _ in graphs]
    node_table = None
    if nodes is not None:
        node_table = _Table(nodes, "nodes", graph_id, (node,))
        _number_nodes(node_table, graphs, numbers)
    graph_of, ends = _number_ends(edge_table, graphs, numbers, known=node_table is not None)
    edge_slices = _Slices(graph_of, len(graphs))
    node_columns: list[dict[str, npt.NDArray[Any]]] = [{} for _ in graphs]
    if node_table is not None:
        owner = np.array([graphs[key] for key in node_table.ids[0]], dtype=np.int64)
        slices = _Slices(owner, len(graphs))
        node_columns = [slices.of(node_table.columns, index) for index in range(len(graphs))]
    return [
        RawGraph(
            n_nodes=len(numbers[index]),
            edges=ends[edge_slices.rows(index)],
            node_columns=node_columns[index],
            edge_columns=edge_slices.of(edge_table.columns, index),
            directed=directed,
            graph_id=None if key is None else str(key),
        )
        for key, index in graphs.items()
    ]


def raw_from_tables(edges: Any, nodes: Any = None) -> RawGraph:
    """Make one graph from a table of its edges and, optionally, one of its nodes."""
    (graph,) = graphs_from_tables(edges, nodes, graph_id=None)
    return graph


class _Table:
    """The ids and the attributes of one dataframe: ids of graphs, None if it is one, then of nodes."""

    def __init__(self, frame: Any, name: str, graph_id: str | None, keys: tuple[str, ...]) -> None:
        try:
            import narwhals.stable.v1 as nw
        except ImportError:
            raise GraphError("tables of graphs need narwhals: pip install 'grnf[io]'") from None
        try:
            table = nw.from_native(frame, eager_only=True)
        except TypeError:
            raise GraphError(f"{name} must be a dataframe; got {type(frame).__name__}") from None
        keys = keys if graph_id is None else (graph_id, *keys)
        absent = [key for key in keys if key not in table.columns]
        if absent:
            raise GraphError(
                f"{name} has no column {absent[0]!r}; its columns are {', '.join(map(str, table.columns))}"
            )
        self.name = name
        self.ids = [self._identifiers(key, table[key].to_list()) for key in keys]
        if graph_id is None:
            self.ids.insert(0, [None] * len(table))
        self.columns = {
            str(column): self._attribute(table[column], nw) for column in table.columns if column not in keys
        }

    def _identifiers(self, key: str, values: list[Any]) -> list[Hashable]:
        for row, value in enumerate(values):
            if is_missing(value):
                raise GraphError(f"{self.name}, row {row}: {key!r} is missing")
            if not isinstance(value, Hashable):
                raise GraphError(f"{self.name}, row {row}: {key!r} is {value!r:.60}, which cannot be an id")
        return values

    @staticmethod
    def _attribute(series: Any, nw: Any) -> npt.NDArray[Any]:
        if series.dtype.is_numeric() or series.dtype == nw.Boolean:
            return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        return as_column(series.to_list())


class _Slices:
    """Rows of a table by graph."""

    def __init__(self, owner: IntArray, n_graphs: int) -> None:
        self.order = np.argsort(owner, kind="stable")
        self.ptr = np.searchsorted(owner[self.order], np.arange(n_graphs + 1))

    def rows(self, index: int) -> IntArray:
        return np.asarray(self.order[self.ptr[index] : self.ptr[index + 1]])

    def of(self, columns: dict[str, npt.NDArray[Any]], index: int) -> dict[str, npt.NDArray[Any]]:
        rows = self.rows(index)
        return {name: column[rows] for name, column in columns.items()} if len(rows) else {}


def _number_nodes(table: _Table, graphs: dict[Hashable, int], numbers: list[dict[Hashable, int]]) -> None:
    for row, (key, node) in enumerate(zip(*table.ids, strict=True)):
        index = graphs.setdefault(key, len(graphs))
        if index == len(numbers):
            numbers.append({})
        if node in numbers[index]:
            whose = "" if key is None else f" of graph {key!r}"
            raise GraphError(f"nodes, row {row}: node {node!r}{whose} stands there twice")
        numbers[index][node] = len(numbers[index])


def _number_ends(
    table: _Table, graphs: dict[Hashable, int], numbers: list[dict[Hashable, int]], *, known: bool
) -> tuple[IntArray, IntArray]:
    """Return the graph and the numbers of the ends of each edge; `known`: nodes must have been listed."""
    graph_of = np.empty(len(table.ids[0]), dtype=np.int64)
    ends = np.empty((len(graph_of), 2), dtype=np.int64)
    for row, (key, *pair) in enumerate(zip(*table.ids, strict=True)):
        index = graphs.setdefault(key, len(graphs))
        if index == len(numbers):
            numbers.append({})
        for side, node in enumerate(pair):
            if known and node not in numbers[index]:
                which = "the graph" if key is None else f"graph {key!r}"
                raise GraphError(f"edges, row {row}: {which} has no node {node!r} in the table of nodes")
            ends[row, side] = numbers[index].setdefault(node, len(numbers[index]))
        graph_of[row] = index
    return graph_of, ends
