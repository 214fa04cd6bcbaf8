"""Many graphs as they come through a door, column by column: the unit in which graphs are read and encoded.

All node rows of some hundred graphs stand one below the other, with offsets; so checks and look-ups are made
once per column of a block, not per graph. One graph is a view of it, a `RawGraph`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf._utils.arrays import offsets, positions_of, ragged_indices
from grnf.errors import GraphError
from grnf.graphs import Graph
from grnf.io.columns import check_columns, is_missing
from grnf.io.raw import BadGraph, RawGraph, columns_of_graphs
from grnf.typing import BoolArray, IntArray

__all__ = ["RawBatch", "RawColumn", "joined", "sized", "together"]


@dataclass(frozen=True, eq=False)
class RawColumn:
    """One column of all nodes (edges) of a block.

    Parameters
    ----------
    values : array
        Numbers, shape (n,) or (n, width), NaN where one is missing; or codes of categories, shape (n,), -1
        where one is missing.
    categories : sequence, optional
        What the codes stand for; None for numbers.
    absent : array of bool, shape (n_graphs,), optional
        Graphs that do not have this column; None if all have it. Their entries are missing.
    """

    values: npt.NDArray[Any]
    categories: Sequence[Hashable] | None = None
    absent: BoolArray | None = None

    def take(self, rows: Any, graphs: Any) -> RawColumn:
        """Return the entries of some graphs."""
        absent = None if self.absent is None else self.absent[graphs]
        return RawColumn(self.values[rows], self.categories, absent)

    def objects(self) -> npt.NDArray[Any]:
        """Return numbers as they are, and categories as objects, None where one is missing."""
        if self.categories is None:
            return self.values
        names = np.empty(len(self.categories) + 1, dtype=object)
        names[:-1] = list(self.categories)
        return np.asarray(names[self.values])


@dataclass(frozen=True, eq=False)
class RawBatch:
    """Some graphs with named columns of attributes.

    Parameters
    ----------
    node_ptr, edge_ptr : array of int, shape (n_graphs + 1,)
        Where the nodes and edges of each graph begin.
    edges : array of int, shape (n_edges, 2)
        In each graph's own numbers of its nodes.
    node_columns, edge_columns : mapping from name to RawColumn
    directed : array of bool, shape (n_graphs,)
    graph_ids : sequence of str or None
    y : sequence
        Labels or targets, None where there is none.
    bad : mapping from int to str
        Places and reasons of graphs that could not be read; they stand here without nodes.
    graph_columns : mapping from name to sequence
        What else a table says of the graphs, one entry each, None where one is missing.

    Examples
    --------
    >>> symbols = np.array(["C", "O"], dtype=object)
    >>> batch = RawBatch.of([RawGraph(2, np.array([[0, 1]]), {"symbol": symbols}, graph_id="a")])
    >>> batch.node_columns["symbol"].values, batch.node_columns["symbol"].categories
    (array([0, 1]), ('C', 'O'))
    >>> batch[0]
    RawGraph(n_nodes=2, n_edges=1, node_columns=['symbol'], edge_columns=[], undirected)
    """

    node_ptr: IntArray
    edge_ptr: IntArray
    edges: IntArray
    node_columns: Mapping[str, RawColumn]
    edge_columns: Mapping[str, RawColumn]
    directed: BoolArray
    graph_ids: Sequence[str | None]
    y: Sequence[Any]
    bad: Mapping[int, str] = field(default_factory=dict)
    graph_columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, graphs: Sequence[RawGraph]) -> RawBatch:
        """Put graphs one below the other; a `GraphError` says what does not fit, but not in which graph."""
        edges = [_edges(raw) for raw in graphs]
        n_nodes, n_edges = [raw.n_nodes for raw in graphs], [len(each) for each in edges]
        return cls(
            offsets(n_nodes),
            offsets(n_edges),
            np.concatenate(edges) if edges else np.empty((0, 2), np.int64),
            _columns([raw.node_columns for raw in graphs], n_nodes, "node", graphs),
            _columns([raw.edge_columns for raw in graphs], n_edges, "edge", graphs),
            np.array([raw.directed for raw in graphs], np.bool_),
            [raw.graph_id for raw in graphs],
            [raw.y for raw in graphs],
            graph_columns=columns_of_graphs(graphs),
        )

    def take(self, indices: npt.ArrayLike) -> RawBatch:
        """Return the graphs of these numbers, in that order, or those where a mask is true."""
        index = positions_of(indices, len(self))
        nodes, edges = ragged_indices(self.node_ptr, index), ragged_indices(self.edge_ptr, index)
        return RawBatch(
            offsets(np.diff(self.node_ptr)[index]),
            offsets(np.diff(self.edge_ptr)[index]),
            self.edges[edges],
            {name: column.take(nodes, index) for name, column in self.node_columns.items()},
            {name: column.take(edges, index) for name, column in self.edge_columns.items()},
            self.directed[index],
            [self.graph_ids[i] for i in index],
            [self.y[i] for i in index],
            {place: self.bad[i] for place, i in enumerate(index.tolist()) if i in self.bad},
            {name: [values[i] for i in index] for name, values in self.graph_columns.items()},
        )

    def __len__(self) -> int:
        return len(self.directed)

    def __getitem__(self, index: int) -> RawGraph:  # of a bad one, a graph without nodes
        if not -len(self) <= index < len(self):
            raise IndexError(f"graph {index} of {len(self)}")
        index %= len(self)
        nodes = slice(self.node_ptr[index], self.node_ptr[index + 1])
        edges = slice(self.edge_ptr[index], self.edge_ptr[index + 1])
        return RawGraph(
            int(nodes.stop - nodes.start),
            self.edges[edges],
            _of_graph(self.node_columns, nodes, index),
            _of_graph(self.edge_columns, edges, index),
            bool(self.directed[index]),
            self.graph_ids[index],
            self.y[index],
            self._row(index),
        )

    def _row(self, index: int) -> dict[str, Any]:
        return {name: values[index] for name, values in self.graph_columns.items()}

    def __iter__(self) -> Iterator[RawGraph | BadGraph]:
        for index in range(len(self)):
            reason = self.bad.get(index)
            if reason is None:
                yield self[index]
            else:
                yield BadGraph(self.graph_ids[index], index, reason, self._row(index))

    def __repr__(self) -> str:
        return (
            f"RawBatch({len(self)} graphs, {self.node_ptr[-1]} nodes, {self.edge_ptr[-1]} edges, "
            f"node_columns={list(self.node_columns)}, edge_columns={list(self.edge_columns)})"
        )


def sized(blocks: Iterable[RawBatch | list[Any]], size: int) -> Iterator[RawBatch | list[Any]]:
    """Cut blocks of any sizes into blocks of one size, but for the last.

    Examples
    --------
    >>> batch = RawBatch.of([RawGraph(n, np.empty((0, 2), np.int64)) for n in range(5)])
    >>> [len(block) for block in sized([batch, batch], 4)]
    [4, 4, 2]
    """
    waiting: list[RawBatch | list[Any]] = []
    have = 0
    for block in blocks:
        waiting.append(block)
        have += len(block)
        if have < size:
            continue
        whole, start = together(waiting), 0
        while have - start >= size:
            yield _cut(whole, start, start + size)
            start += size
        waiting, have = [_cut(whole, start, have)], have - start
    if have:
        yield together(waiting)


def _cut(block: RawBatch | list[Any], start: int, stop: int) -> RawBatch | list[Any]:
    if start == 0 and stop == len(block):
        return block
    return block.take(np.arange(start, stop)) if isinstance(block, RawBatch) else block[start:stop]


def together(blocks: Sequence[RawBatch | list[Any]]) -> RawBatch | list[Any]:
    """Return blocks as one, column by column if all have the same columns."""
    if len(blocks) == 1:
        return blocks[0]
    batches = [block for block in blocks if isinstance(block, RawBatch)]
    if len(batches) == len(blocks):
        shapes = [_shape(batch) for batch in batches]
        if all(shape == shapes[0] for shape in shapes):
            return _concatenated(batches)
    return [graph for block in blocks for graph in block]


def _shape(batch: RawBatch) -> Any:
    return [
        [(name, column.categories is None, column.values.shape[1:]) for name, column in columns.items()]
        for columns in (batch.node_columns, batch.edge_columns)
    ]


def _concatenated(batches: Sequence[RawBatch]) -> RawBatch:
    starts = np.cumsum([0, *map(len, batches)]).tolist()
    return RawBatch(
        offsets(np.concatenate([np.diff(batch.node_ptr) for batch in batches])),
        offsets(np.concatenate([np.diff(batch.edge_ptr) for batch in batches])),
        np.concatenate([batch.edges for batch in batches]),
        {name: _below([b.node_columns[name] for b in batches], batches) for name in batches[0].node_columns},
        {name: _below([b.edge_columns[name] for b in batches], batches) for name in batches[0].edge_columns},
        np.concatenate([batch.directed for batch in batches]),
        [graph_id for batch in batches for graph_id in batch.graph_ids],
        [y for batch in batches for y in batch.y],
        {
            s + place: why
            for s, batch in zip(starts, batches, strict=False)
            for place, why in batch.bad.items()
        },
        {
            name: [value for b in batches for value in b.graph_columns.get(name, [None] * len(b))]
            for name in dict.fromkeys(chain.from_iterable(b.graph_columns for b in batches))
        },
    )


def _below(columns: list[RawColumn], batches: Sequence[RawBatch]) -> RawColumn:
    """Put the parts of a column one below the other."""
    absent = None
    if any(column.absent is not None for column in columns):
        everywhere = [np.zeros(len(batch), np.bool_) for batch in batches]
        own = zip(columns, everywhere, strict=True)
        absent = np.concatenate([here if c.absent is None else c.absent for c, here in own])
    if columns[0].categories is None:
        return RawColumn(np.concatenate([column.values for column in columns]), None, absent)
    table: dict[Hashable, int] = {}
    parts = []
    for column in columns:
        codes = [table.setdefault(category, len(table)) for category in column.categories or ()]
        parts.append(np.array([*codes, -1], dtype=np.int64)[column.values])
    return RawColumn(np.concatenate(parts), tuple(table), absent)


def joined(parts: Sequence[tuple[Sequence[int], RawBatch]], count: int, bad: Mapping[int, str]) -> RawBatch:
    """Put blocks together whose graphs belong to these places; those that are in none are bad."""
    if len(parts) == 1 and len(parts[0][0]) == count and not bad:
        return parts[0][1]
    if len(parts) == 1:  # bad graphs among good ones
        places, batch = list(parts[0][0]), parts[0][1]
        n_nodes, n_edges = np.zeros(count, np.int64), np.zeros(count, np.int64)
        n_nodes[places], n_edges[places] = np.diff(batch.node_ptr), np.diff(batch.edge_ptr)
        ids, y = np.full(count, None, dtype=object), np.full(count, None, dtype=object)
        directed = np.zeros(count, np.bool_)
        ids[places], y[places], directed[places] = batch.graph_ids, batch.y, batch.directed
        return RawBatch(
            offsets(n_nodes),
            offsets(n_edges),
            batch.edges,
            {name: _spread(column, places, count) for name, column in batch.node_columns.items()},
            {name: _spread(column, places, count) for name, column in batch.edge_columns.items()},
            directed,
            ids.tolist(),
            y.tolist(),
            dict(bad),
            {name: _placed(values, places, count) for name, values in batch.graph_columns.items()},
        )
    graphs = [RawGraph(0, np.empty((0, 2), np.int64))] * count
    for own, batch in parts:
        for index, place in enumerate(own):
            graphs[place] = batch[index]
    return replace(RawBatch.of(graphs), bad=dict(bad))


def _placed(values: Sequence[Any], places: Sequence[int], count: int) -> list[Any]:
    own = dict(zip(places, values, strict=True))
    return [own.get(place) for place in range(count)]


def _spread(column: RawColumn, places: Sequence[int], count: int) -> RawColumn:
    if column.absent is None:
        return column
    absent = np.zeros(count, np.bool_)
    absent[list(places)] = column.absent
    return RawColumn(column.values, column.categories, absent)


def _of_graph(columns: Mapping[str, RawColumn], rows: slice, index: int) -> dict[str, Any]:
    return {
        name: column.take(rows, index).objects()
        for name, column in columns.items()
        if column.absent is None or not column.absent[index]
    }


def _edges(raw: RawGraph) -> IntArray:
    """Return the edges as pairs of integers; whether they name nodes that there are is checked for all."""
    edges = raw.edges
    if type(raw.n_nodes) is int and type(edges) is np.ndarray and edges.dtype == np.int64 and edges.ndim == 2:
        return edges if edges.shape[1] == 2 else Graph(raw.n_nodes, edges).edges
    return Graph(raw.n_nodes, edges).edges


def _columns(
    of_graphs: list[Mapping[str, Any]], counts: list[int], item: str, graphs: Sequence[RawGraph]
) -> dict[str, RawColumn]:
    names = dict.fromkeys(chain.from_iterable(of_graphs))
    return {
        name: _column(
            [columns.get(name) for columns in of_graphs], counts, f"{item} column {name!r}", item, graphs
        )
        for name in names
    }


def _column(
    given: list[Any], counts: list[int], field: str, item: str, graphs: Sequence[RawGraph]
) -> RawColumn:
    """Put the arrays of one column one below the other; None stands for a graph that does not have it."""
    arrays = [None if values is None else np.asarray(values) for values in given]
    for array, count in zip(arrays, counts, strict=True):
        if array is not None and (array.ndim == 0 or len(array) != count):
            raise GraphError(f"the {field} must have one entry per {item}, {count}; got shape {array.shape}")
    missing = [array is None for array in arrays]
    absent = np.array(missing, np.bool_) if any(missing) else None
    filled = [array for array in arrays if array is not None and len(array)]
    numeric = [array for array in filled if array.dtype.kind in "biuf"]
    if len(numeric) < len(filled) or not filled:
        others = [array for array in filled if array.dtype.kind not in "biuf"]
        if numeric and not all(np.isnan(array).all() for array in numeric):
            if not all(all(map(is_missing, array.ravel())) for array in others):
                raise GraphError(f"the {field} holds numbers in some graphs and categories in others")
            others = []
        if others or not numeric:
            return _categories(arrays, counts, absent, graphs)
    widths = {array.shape[1] if array.ndim == 2 else 1 for array in numeric}
    if len(widths) > 1 or any(array.ndim > 2 for array in numeric):
        raise GraphError(f"the {field} has several widths: {sorted(widths)}")
    if any(array.ndim == 2 for array in numeric):
        numeric = [array.reshape(len(array), -1) for array in numeric]
    if len(numeric) == len(arrays):
        return RawColumn(np.concatenate(numeric), None, absent)
    values = np.full((sum(counts), *numeric[0].shape[1:]), np.nan)
    start = 0
    for array, count in zip(arrays, counts, strict=True):
        if array is not None and array.dtype.kind in "biuf" and count:
            values[start : start + count] = array.reshape(values[start : start + count].shape)
        start += count
    return RawColumn(values, None, absent)


def _categories(
    arrays: list[Any], counts: list[int], absent: BoolArray | None, graphs: Sequence[RawGraph]
) -> RawColumn:
    table: dict[Any, int] = {}
    lists = [
        [None] * count if array is None or array.dtype.kind in "biuf" else array.tolist()
        for array, count in zip(arrays, counts, strict=True)
    ]
    try:
        codes = np.array(
            [table.setdefault(value, len(table)) for value in chain.from_iterable(lists)], np.int64
        )
    except TypeError:  # lists and the like: say which
        for raw in graphs:
            check_columns(raw)
        raise
    categories = list(table)
    places = np.cumsum([not is_missing(category) for category in categories]) - 1
    for place, category in enumerate(categories):
        if is_missing(category):
            places[place] = -1
    known = tuple(category for category in categories if not is_missing(category))
    return RawColumn(places[codes] if len(categories) else codes, known, absent)
