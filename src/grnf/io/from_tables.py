"""Dataframes of many graphs: edges (and nodes, for attributes and isolated nodes), or molecules."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from grnf._utils.arrays import offsets
from grnf.errors import GraphError
from grnf.io.raw import RawBatch, RawColumn, column_of_values, concatenated, is_missing
from grnf.typing import BoolArray, IntArray


def graphs_from_tables(
    edges: Any,
    nodes: Any = None,
    *,
    graph_id: str | None = "graph_id",
    source: str = "source",
    target: str = "target",
    node: str = "node",
    directed: bool = False,
) -> RawBatch:
    """Make graphs from a table with one row per edge and, optionally, one with a row per node.

    All other columns are attributes. Graphs come in the order in which their ids first appear, in the table
    of nodes (if there is one) before that of edges. `RawGraph.graph_id` has the id as text. Without a table
    of nodes, the nodes are those that edges name.

    Parameters
    ----------
    edges, nodes : dataframe of pandas, polars, pyarrow or any other library that narwhals supports
    graph_id, source, target, node : str
        Columns with the id of the graph (in both tables, None if they are one graph), the two ends of an edge
        (in `edges`) and the id of a node (in `nodes`). Ids of nodes may repeat from graph to graph.
    directed : bool, default=False

    Returns
    -------
    RawBatch
        A sequence of `RawGraph` that every estimator and function takes.

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
    node_columns: dict[str, RawColumn] = {}
    if nodes is not None:
        node_table = _Table(nodes, "nodes", graph_id, (node,))
        node_owner, _ = _numbered(node_table, graphs, numbers, "new")
    edge_owner, ends = _numbered(edge_table, graphs, numbers, "any" if nodes is None else "known")
    if nodes is not None:
        node_columns = node_table.columns(*_grouped(node_owner, len(graphs)))
    order, edge_ptr = _grouped(edge_owner, len(graphs))
    return RawBatch(
        offsets([len(own) for own in numbers]),
        edge_ptr,
        ends[order],
        node_columns,
        edge_table.columns(order, edge_ptr),
        np.full(len(graphs), directed),
        [None if key is None else str(key) for key in graphs],
        [None] * len(graphs),
    )


def batch_from_frames(graphs: Sequence[Any]) -> RawBatch:
    """Convert dataframes of edges, each of a graph, alone or as (edges, nodes)."""
    frames = [graph if isinstance(graph, tuple) else (graph,) for graph in graphs]
    return concatenated([graphs_from_tables(*pair, graph_id=None) for pair in frames])


def molecules_from_table(frame: Any, *, stereo: bool = False) -> RawBatch | None:
    """Convert a dataframe with a SMILES column, or return None if no column is called so.

    Ids and targets are columns with the names that tables in files have for them, such as id and y. All other
    columns stay with the molecules.
    """
    from grnf.io.files.molecules import molecules_of_values
    from grnf.io.files.tables import ID_NAMES, named_smiles, usual_column
    from grnf.io.vectors.blocks import OUR_NAMES

    names = [name for name in column_names(frame) or () if isinstance(name, str)]
    smiles = named_smiles(names, None, "the dataframe")
    if smiles is None:
        return None
    table = _from_native(frame, "X")[1]
    values = {
        name: [None if is_missing(value) else value for value in table[name].to_list()] for name in names
    }
    ids, y = usual_column(names, ID_NAMES), usual_column(names, ("y",))
    kept = {name: values[name] for name in names if name not in (smiles, ids, y, "smiles")}
    batch = molecules_of_values(values[smiles], stereo=stereo)
    return replace(
        batch,
        graph_ids=batch.graph_ids if ids is None else [None if i is None else str(i) for i in values[ids]],
        y=batch.y if y is None else values[y],
        graph_columns={
            "smiles": values[smiles],
            **{name: own for name, own in kept.items() if not OUR_NAMES.fullmatch(name)},
        },
    )


def column_names(table: Any) -> list[Any] | None:
    """Return the names of the columns of a dataframe or pyarrow Table, or None for other objects."""
    names = getattr(table, "column_names", None)  # the columns of a pyarrow Table are its data
    if names is None and hasattr(table, "__getitem__"):
        names = getattr(table, "columns", None)
    return None if names is None else list(names)


def _from_native(frame: Any, name: str) -> tuple[Any, Any]:
    """Return narwhals and the table that it makes of a dataframe."""
    try:
        import narwhals.stable.v1 as nw
    except ImportError:
        raise GraphError("tables of graphs need narwhals: pip install 'grnf[io]'") from None
    try:
        return nw, nw.from_native(frame, eager_only=True)
    except TypeError:
        raise GraphError(f"{name} must be a dataframe, got {type(frame).__name__}") from None


class _Table:
    """One dataframe: ids of graphs (None if it is one graph), then of nodes, and attributes."""

    def __init__(self, frame: Any, name: str, graph_id: str | None, keys: tuple[str, ...]) -> None:
        nw, table = _from_native(frame, name)
        keys = keys if graph_id is None else (graph_id, *keys)
        absent = [key for key in keys if key not in table.columns]
        if absent:
            raise GraphError(
                f"{name} has no column {absent[0]!r}. Available: {', '.join(map(str, table.columns))}"
            )
        self.name, self.nw = name, nw
        self.ids = [self._identifiers(key, table[key].to_list()) for key in keys]
        if graph_id is None:
            self.ids.insert(0, [None] * len(table))
        self.attributes = {str(column): table[column] for column in table.columns if column not in keys}

    def _identifiers(self, key: str, values: list[Any]) -> list[Hashable]:
        for row, value in enumerate(values):
            if is_missing(value):
                raise GraphError(f"{self.name}, row {row}: {key!r} is missing")
            if not isinstance(value, Hashable):
                raise GraphError(f"{self.name}, row {row}: {key!r} is {value!r:.60}, which cannot be an id")
        return values

    def columns(self, order: IntArray, ptr: IntArray) -> dict[str, RawColumn]:
        """Return the attributes with rows in this order, grouped by graph as in `ptr`."""
        lacking: BoolArray = np.diff(ptr) == 0
        columns = {}
        for name, series in self.attributes.items():
            if series.dtype.is_numeric() or series.dtype == self.nw.Boolean:
                values = np.asarray(series.cast(self.nw.Float64).to_numpy(), dtype=np.float64)
                columns[name] = RawColumn(values[order], None, lacking if lacking.any() else None)
            else:
                listed = series.to_list()
                title = f"{self.name.removesuffix('s')} column {name!r}"
                columns[name] = column_of_values([listed[row] for row in order.tolist()], ptr, lacking, title)
        return columns


def _grouped(owner: IntArray, n_graphs: int) -> tuple[IntArray, IntArray]:
    """Return the rows of a table sorted by graph, and where those of each graph begin."""
    order = np.argsort(owner, kind="stable")
    return order, np.searchsorted(owner[order], np.arange(n_graphs + 1))


def _numbered(
    table: _Table, graphs: dict[Hashable, int], numbers: list[dict[Hashable, int]], nodes: str
) -> tuple[IntArray, IntArray]:
    """Give numbers to the nodes of each graph, and return the graph and the nodes of each row.

    `nodes` is "new" if each must occur once, "known" if all must have a number already, or "any".
    """
    owner = np.empty(len(table.ids[0]), dtype=np.int64)
    ends = np.empty((len(owner), len(table.ids) - 1), dtype=np.int64)
    for row, (key, *own) in enumerate(zip(*table.ids, strict=True)):
        index = owner[row] = graphs.setdefault(key, len(graphs))
        if index == len(numbers):
            numbers.append({})
        known = numbers[index]
        for side, node in enumerate(own):
            if nodes == "new" and node in known:
                whose = "" if key is None else f" of graph {key!r}"
                raise GraphError(f"nodes, row {row}: node {node!r}{whose} is listed twice")
            if nodes == "known" and node not in known:
                which = "the graph" if key is None else f"graph {key!r}"
                raise GraphError(f"edges, row {row}: {which} has no node {node!r} in the table of nodes")
            ends[row, side] = known.setdefault(node, len(known))
    return owner, ends
