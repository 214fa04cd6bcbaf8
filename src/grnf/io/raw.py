"""Graphs before encoding: named columns of numbers or categories, one graph or many graphs at a time.

Every converter and reader makes a `RawBatch`, in which the node rows of all graphs follow each other, or a
`RawGraph`, which is one graph of it. The encoder (fitted on the graphs of `fit`) turns both into numbers.
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from grnf._utils.arrays import offsets, positions_of, ragged_indices
from grnf._utils.memory import check_graph_memory
from grnf.errors import GraphError
from grnf.graphs import Graph
from grnf.typing import BoolArray, IntArray

T = TypeVar("T")
Columns = Mapping[str, Any]

NUMBERS = {int, float, bool}
CATEGORIES = -1
NOT_A_VALUE = ("NAType", "NaTType")
"""Types of missing values in pandas, known by name so that pandas need not be imported."""
ABSENT = frozenset({"na", "n/a", "#n/a", "nan", "null", "none", "nil", "?", "-", "."})
"""How text tables spell a missing number."""
WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)")
NUMBER = re.compile(r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")


class Cell(str):
    """The text of a table cell, which may represent a number.

    A text that a number would not reproduce, such as a code with leading zeros, is not a number.

    Examples
    --------
    >>> Cell("12").number(), Cell(" 1.50").number(), Cell("007").number(), Cell("NA").is_absent
    (12, 1.5, None, True)
    """

    __slots__ = ()

    def number(self) -> int | float | None:
        """Return the number that the text represents, or None."""
        text = self.strip()
        if WHOLE.fullmatch(text):
            return int(text) if len(text) < 20 else None  # beyond 64 bits it is a code
        return float(text) if NUMBER.fullmatch(text) else None

    @property
    def is_absent(self) -> bool:
        """Whether the text is a word for a missing number."""
        return self.strip().lower() in ABSENT


@dataclass(frozen=True, eq=False)
class RawGraph:
    """One graph with named columns of attributes.

    Parameters
    ----------
    n_nodes : int
    edges : array of int, shape (n_edges, 2)
        In numbers 0 .. n_nodes - 1. Undirected graphs list each edge once.
    node_columns, edge_columns : mapping from name to array
        One entry per node (edge) each: an array of numbers, shape (n,) or (n, width), or an object array of
        categories (strings, or anything hashable). NaN marks a missing number, None a missing category. The
        weight of an edge is the edge column "weight" if the source calls it so.
    directed : bool
    graph_id : str, optional
        Name of the graph in its source.
    y : optional
        Label or target of the graph.
    graph_columns : mapping from name to value
        Other values of the graph's table row; they stay with the graph and do not enter its vector.

    Examples
    --------
    >>> RawGraph(2, np.array([[0, 1]]), node_columns={"element": np.array(["C", "O"], object)}, graph_id="CO")
    RawGraph(n_nodes=2, n_edges=1, node_columns=['element'], edge_columns=[], undirected)
    """

    n_nodes: int
    edges: IntArray
    node_columns: Columns = field(default_factory=dict)
    edge_columns: Columns = field(default_factory=dict)
    directed: bool = False
    graph_id: str | None = None
    y: Any = None
    graph_columns: Columns = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"RawGraph(n_nodes={self.n_nodes}, n_edges={len(np.asarray(self.edges))}, "
            f"node_columns={list(self.node_columns)}, edge_columns={list(self.edge_columns)}, "
            f"{'directed' if self.directed else 'undirected'})"
        )


@dataclass(frozen=True)
class BadGraph:
    r"""Stands for a graph that could not be read, so that output rows stay aligned with input graphs.

    Parameters
    ----------
    graph_id : str or None
        Name of the graph in its source, if it could be read.
    index : int
        Its number in the source, from 0.
    reason : str
        The position, what is wrong, and what to do.
    graph_columns : mapping from name to value
        As in `RawGraph`, as far as they could be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from grnf.io import read_graphs
    >>> path = Path(tempfile.mkdtemp()) / "molecules.smi"
    >>> _ = path.write_text("CCO ethanol\nC(C unclosed\n")
    >>> good, bad = read_graphs(path, on_error="yield")
    >>> bad.graph_id, bad.index
    ('unclosed', 1)
    """

    graph_id: str | None
    index: int
    reason: str
    graph_columns: Columns = field(default_factory=dict, repr=False, compare=False)


def checked_raw(
    n_nodes: int,
    edges: Any,
    node_columns: Columns | None = None,
    edge_columns: Columns | None = None,
    directed: bool = False,
    graph_id: str | None = None,
    y: Any = None,
) -> RawGraph:
    """Return a `RawGraph`, or raise a `GraphError` if its sizes, edges and columns are inconsistent."""
    structure = Graph(n_nodes, edges)
    check_graph_memory(structure.n_nodes, structure.n_edges)
    nodes, links = dict(node_columns or {}), dict(edge_columns or {})
    for item, count, columns in (("node", structure.n_nodes, nodes), ("edge", structure.n_edges, links)):
        for name, values in columns.items():
            title = f"{item} column {name!r}"
            if len(values) != count:
                raise GraphError(f"{title} has {len(values)} entries for {count} {item}s")
            if values.dtype.kind == "f" and np.isinf(values).any():
                row = int(np.flatnonzero(np.isinf(values).reshape(count, -1).any(axis=1))[0])
                raise GraphError(f"{title} is infinite at {item} {row}. Leave the value out if it is unknown")
    return RawGraph(structure.n_nodes, structure.edges, nodes, links, directed, graph_id, y)


def raw_from_graph(graph: Graph | RawGraph) -> RawGraph:
    """Return a `RawGraph`, in which the attributes of a `Graph` are columns "x" and "edge_attr"."""
    if isinstance(graph, RawGraph):
        return graph
    if not isinstance(graph, Graph):
        raise GraphError(f"a graph must be a grnf.Graph or grnf.io.RawGraph, got {type(graph).__name__}")
    node_columns = {} if graph.node_attr is None else {"x": graph.node_attr}
    edge_columns = {} if graph.edge_attr is None else {"edge_attr": graph.edge_attr}
    return RawGraph(graph.n_nodes, graph.edges, node_columns, edge_columns, graph.directed)


def columns_of_graphs(graphs: Iterable[Any]) -> dict[str, list[Any]]:
    """Return the graph columns of all graphs, None for graphs that lack a column."""
    rows = [graph.graph_columns if isinstance(graph, (RawGraph, BadGraph)) else {} for graph in graphs]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


@dataclass(frozen=True, eq=False)
class RawColumn:
    """One column of all nodes (edges) of a batch."""

    values: npt.NDArray[Any]
    """Numbers, shape (n,) or (n, width), NaN if missing, or codes of categories, shape (n,), -1 if missing.
    If graphs disagree about what the column holds, an object array of their values, shape (n,)."""
    categories: Sequence[Hashable] | None = None
    """The categories of the codes, or None for numbers and for objects."""
    absent: BoolArray | None = None
    """Graphs that do not have this column, or None if all have it. Their entries are missing."""

    @property
    def is_mixed(self) -> bool:
        """Whether graphs disagree about what the column holds."""
        return self.values.dtype == object

    @property
    def has_values(self) -> bool:
        """Whether any entry is not missing."""
        if self.categories is not None:
            return len(self.categories) > 0
        return self.is_mixed or not bool(np.isnan(self.values).all())

    def take(self, rows: IntArray, graphs: IntArray, ptr: IntArray) -> RawColumn:
        """Return the entries `rows`, which belong to `graphs` and are grouped by `ptr`."""
        absent = None if self.absent is None else self.absent[graphs]
        if self.is_mixed:
            return column_of_values(self.values[rows].tolist(), ptr, absent)
        return RawColumn(self.values[rows], self.categories, absent)

    def array(self, rows: slice) -> npt.NDArray[Any]:
        """Return some entries as numbers, or as an object array of categories, None if missing."""
        values = self.values[rows]
        if self.is_mixed:
            return as_column(values.tolist())
        if self.categories is None:
            return values
        return np.asarray(self._names[values])

    @cached_property
    def _names(self) -> npt.NDArray[Any]:
        """The categories, and None for the code -1."""
        names = np.empty(len(self.categories or ()) + 1, dtype=object)
        names[:-1] = list(self.categories or ())
        return names


@dataclass(frozen=True, eq=False)
class RawBatch:
    """Several graphs with named columns of attributes.

    Parameters
    ----------
    node_ptr, edge_ptr : array of int, shape (n_graphs + 1,)
        Where the nodes and edges of each graph begin.
    edges : array of int, shape (n_edges, 2)
        Nodes are numbered from 0 in each graph.
    node_columns, edge_columns : mapping from name to RawColumn
    directed : array of bool, shape (n_graphs,)
    graph_ids : sequence of str or None
    y : sequence
        Labels or targets, None if a graph has none.
    bad : mapping from int to str
        Positions and reasons of graphs that could not be read. They have no nodes.
    graph_columns : mapping from name to sequence
        Other values that a table has for each graph, None if one is missing.
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
        """Concatenate graphs. A `GraphError` states what is inconsistent, but not in which graph."""
        edges = [_edges(raw) for raw in graphs]
        n_nodes, n_edges = [raw.n_nodes for raw in graphs], [len(each) for each in edges]
        return cls(
            offsets(n_nodes),
            offsets(n_edges),
            np.concatenate(edges) if edges else np.empty((0, 2), np.int64),
            _by_name(column_of_arrays, [raw.node_columns for raw in graphs], n_nodes, "node"),
            _by_name(column_of_arrays, [raw.edge_columns for raw in graphs], n_edges, "edge"),
            np.array([raw.directed for raw in graphs], np.bool_),
            [raw.graph_id for raw in graphs],
            [raw.y for raw in graphs],
            graph_columns=columns_of_graphs(graphs),
        )

    @classmethod
    def empty(cls, count: int = 0) -> RawBatch:
        """Return graphs without nodes."""
        ptr, nothing = np.zeros(count + 1, np.int64), [None] * count
        return cls(ptr, ptr, np.empty((0, 2), np.int64), {}, {}, np.zeros(count, np.bool_), nothing, nothing)

    def take(self, indices: npt.ArrayLike) -> RawBatch:
        """Return the graphs at these positions, in this order, or those selected by a mask."""
        index = positions_of(indices, len(self))
        nodes, edges = ragged_indices(self.node_ptr, index), ragged_indices(self.edge_ptr, index)
        node_ptr, edge_ptr = offsets(np.diff(self.node_ptr)[index]), offsets(np.diff(self.edge_ptr)[index])
        return RawBatch(
            node_ptr,
            edge_ptr,
            self.edges[edges],
            {name: column.take(nodes, index, node_ptr) for name, column in self.node_columns.items()},
            {name: column.take(edges, index, edge_ptr) for name, column in self.edge_columns.items()},
            self.directed[index],
            [self.graph_ids[i] for i in index],
            [self.y[i] for i in index],
            {place: self.bad[i] for place, i in enumerate(index.tolist()) if i in self.bad},
            {name: [values[i] for i in index] for name, values in self.graph_columns.items()},
        )

    def __len__(self) -> int:
        return len(self.directed)

    def __getitem__(self, index: int) -> RawGraph:  # a bad graph is one without nodes
        if not -len(self) <= index < len(self):
            raise IndexError(f"graph {index} of {len(self)}")
        index %= len(self)
        nodes = slice(self.node_ptr[index], self.node_ptr[index + 1])
        edges = slice(self.edge_ptr[index], self.edge_ptr[index + 1])
        node_columns, edge_columns = (
            {
                name: column.array(rows)
                for name, column in columns.items()
                if column.absent is None or not column.absent[index]
            }
            for columns, rows in ((self.node_columns, nodes), (self.edge_columns, edges))
        )
        return RawGraph(
            int(nodes.stop - nodes.start),
            self.edges[edges],
            node_columns,
            edge_columns,
            bool(self.directed[index]),
            self.graph_ids[index],
            self.y[index],
            {name: values[index] for name, values in self.graph_columns.items()},
        )

    def __iter__(self) -> Iterator[RawGraph | BadGraph]:
        for index in range(len(self)):
            graph, reason = self[index], self.bad.get(index)
            yield graph if reason is None else BadGraph(graph.graph_id, index, reason, graph.graph_columns)

    def __repr__(self) -> str:
        return (
            f"RawBatch({len(self)} graphs, {self.node_ptr[-1]} nodes, {self.edge_ptr[-1]} edges, "
            f"node_columns={list(self.node_columns)}, edge_columns={list(self.edge_columns)})"
        )


def without_failures(
    rows: Sequence[int], attempt: Callable[[Sequence[int]], T], *, first_only: bool = False
) -> tuple[T, Sequence[int], dict[int, GraphError]]:
    """Return what `attempt` returns for the rows that raise no `GraphError`, these rows, and the errors.

    With `first_only`, the first error is the only one, and no rows are left.
    """
    try:
        return attempt(rows), rows, {}
    except GraphError:
        errors = dict(islice(failures(rows, attempt), 1 if first_only else None))
        if not errors:  # they fail only together
            raise
    good = [] if first_only else [row for row in rows if row not in errors]
    return attempt(good), good, errors


def failures(rows: Sequence[int], attempt: Callable[[Any], Any]) -> Iterator[tuple[int, GraphError]]:
    """Find the graphs for which `attempt` raises a `GraphError`, by halving the rows that fail."""
    try:
        attempt(rows)
    except GraphError as error:
        if len(rows) == 1:
            yield rows[0], error
            return
        middle = len(rows) // 2
        yield from failures(rows[:middle], attempt)
        yield from failures(rows[middle:], attempt)


def sized(blocks: Iterable[RawBatch | list[Any]], size: int) -> Iterator[RawBatch | list[Any]]:
    """Cut blocks of any sizes into blocks of the given size. The last one may be smaller."""
    waiting: list[RawBatch | list[Any]] = []
    have = 0
    for block in blocks:
        waiting.append(block)
        have += len(block)
        if have >= size:
            whole, rest = together(waiting), have % size
            for stop in range(size, have + 1, size):
                yield _cut(whole, stop - size, stop)
            waiting, have = [_cut(whole, have - rest, have)] if rest else [], rest
    if have:
        yield together(waiting)


def _cut(block: RawBatch | list[Any], start: int, stop: int) -> RawBatch | list[Any]:
    if start == 0 and stop == len(block):
        return block
    return block.take(np.arange(start, stop)) if isinstance(block, RawBatch) else block[start:stop]


def together(blocks: Sequence[RawBatch | list[Any]]) -> RawBatch | list[Any]:
    """Return blocks as one: a batch if all of them are batches, else a list."""
    batches = [block for block in blocks if isinstance(block, RawBatch)]
    if len(batches) == len(blocks):
        return concatenated(batches)
    return blocks[0] if len(blocks) == 1 else [graph for block in blocks for graph in block]


def concatenated(batches: Sequence[RawBatch]) -> RawBatch:
    """Return the graphs of several batches as one batch."""
    if len(batches) == 1:
        return batches[0]
    starts = np.cumsum([0, *map(len, batches)]).tolist()
    n_nodes = [np.diff(batch.node_ptr) for batch in batches]
    n_edges = [np.diff(batch.edge_ptr) for batch in batches]
    return RawBatch(
        offsets(np.concatenate(n_nodes)),
        offsets(np.concatenate(n_edges)),
        np.concatenate([batch.edges for batch in batches]),
        _by_name(_concatenated_column, [batch.node_columns for batch in batches], n_nodes, "node"),
        _by_name(_concatenated_column, [batch.edge_columns for batch in batches], n_edges, "edge"),
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


def joined(parts: Sequence[tuple[Sequence[int], RawBatch]], count: int, bad: Mapping[int, str]) -> RawBatch:
    """Return `count` graphs: those of the parts at the given positions. All others must be in `bad`."""
    if len(parts) == 1 and len(parts[0][0]) == count and not bad:
        return parts[0][1]
    places = [place for own, _ in parts for place in own]
    others = sorted(set(range(count)).difference(places))
    batch = concatenated([*(part for _, part in parts), RawBatch.empty(len(others))])
    batch = batch.take(np.argsort([*places, *others]))
    return replace(batch, bad={**batch.bad, **bad})


def _by_name(
    join: Callable[[list[Any], Any, str], RawColumn], columns: Sequence[Columns], counts: Any, item: str
) -> dict[str, RawColumn]:
    """Join the columns of graphs or batches, name by name. Some may lack a column, for which None stands."""
    return {
        name: join([own.get(name) for own in columns], counts, f"{item} column {name!r}")
        for name in dict.fromkeys(chain.from_iterable(columns))
    }


def _concatenated_column(
    columns: Sequence[RawColumn | None], counts: Sequence[IntArray], title: str
) -> RawColumn:
    given = list(zip(columns, counts, strict=True))
    absent = [
        np.full(len(own), column is None) if column is None or column.absent is None else column.absent
        for column, own in given
    ]
    filled: list[Any] = [column for column, own in given if own.any()]
    kinds = {own and (own.categories is None, own.is_mixed, own.values.shape[1:]) for own in filled}
    if len(kinds) != 1 or filled[0] is None or filled[0].is_mixed:
        arrays: list[Any] = []
        for (column, own), lacks in zip(given, absent, strict=True):
            ends = offsets(own)
            for index, lacking in enumerate(lacks.tolist()):
                rows = slice(ends[index], ends[index + 1])
                arrays.append(None if lacking or column is None else column.array(rows))
        return column_of_arrays(arrays, np.concatenate(counts).tolist(), title)
    missing = np.concatenate(absent)
    lacking = missing if missing.any() else None
    if filled[0].categories is None:
        return RawColumn(np.concatenate([column.values for column in filled]), None, lacking)
    table: dict[Hashable, int] = {}
    parts = []
    for column in filled:
        codes = [table.setdefault(category, len(table)) for category in column.categories or ()]
        parts.append(np.array([*codes, -1], np.int64)[column.values])
    return RawColumn(np.concatenate(parts), tuple(table), lacking)


def _edges(raw: RawGraph) -> IntArray:
    """Return the edges as pairs of integers. The encoder checks that they name existing nodes."""
    edges = raw.edges
    if type(raw.n_nodes) is int and type(edges) is np.ndarray and edges.dtype == np.int64 and edges.ndim == 2:
        return edges if edges.shape[1] == 2 else Graph(raw.n_nodes, edges).edges
    return Graph(raw.n_nodes, edges).edges


def column_of_arrays(given: Sequence[Any], counts: Sequence[int], title: str) -> RawColumn:
    """Return the column that has an array per graph, or None if a graph does not have it.

    Graphs whose entries are all missing agree with numbers and with categories.
    """
    arrays: list[Any] = [None if values is None else np.asarray(values) for values in given]
    for array, count in zip(arrays, counts, strict=True):
        if array is None:
            continue
        if array.ndim == 0 or len(array) != count:
            item = "edge" if title.startswith("edge") else "node"
            raise GraphError(f"the {title} must have one entry per {item}, {count}, got shape {array.shape}")
        if array.ndim > 2 or (array.ndim == 2 and array.dtype.kind not in "biuf"):
            raise GraphError(f"the {title} has shape {array.shape} and type {array.dtype}")
    lacking = np.array([array is None for array in arrays], np.bool_)
    absent = lacking if lacking.any() else None
    filled = [array for array in arrays if array is not None and len(array)]
    numeric = [array for array in arrays if array is not None and array.dtype.kind in "biuf"]
    if len(arrays) == len(filled) == len(numeric) and len({array.shape[1:] for array in filled}) == 1:
        return RawColumn(filled[0] if len(filled) == 1 else np.concatenate(filled), None, absent)
    kinds = [None if array is None or not len(array) else _kind(array) for array in arrays]
    known = list(zip(arrays, counts, kinds, strict=True))
    different = set(kinds) - {None}
    if len(different) > 1 or different == {CATEGORIES} or not numeric:
        listed = [[None] * count if kind is None else array.tolist() for array, count, kind in known]
        values = list(chain.from_iterable(listed))
        if len(different) < 2:
            return _coded(values, title, absent)
        for own, kind in zip(listed, kinds, strict=True):
            if kind == CATEGORIES:
                _coded(own, title, None)  # refuses values that are not categories
        return RawColumn(np.fromiter(values, dtype=object, count=len(values)), None, absent)
    matrices = [array for array in numeric if array.ndim == 2]
    width = int(different.pop() or 1) if different else matrices[0].shape[1] if matrices else 1
    numbers = np.concatenate(
        [
            np.full((count, width), np.nan) if kind is None else array.reshape(count, -1)
            for array, count, kind in known
        ]
    )
    return RawColumn(numbers if matrices else numbers.ravel(), None, absent)


def _kind(array: npt.NDArray[Any]) -> int | None:
    """Return the width of numbers, `CATEGORIES`, or None if all entries are missing."""
    if array.dtype.kind in "biuf":
        return None if array.size and np.isnan(array).all() else math.prod(array.shape[1:])
    return None if all(map(is_missing, array.tolist())) else CATEGORIES


def column_of_values(
    values: list[Any], ptr: IntArray, absent: BoolArray | None = None, title: str = "column"
) -> RawColumn:
    """Return the column that consists of these values, grouped by graph as in `ptr`.

    A graph that has numbers together with anything else raises a `GraphError`.
    """
    absent = absent if absent is not None and absent.any() else None
    kinds = set(map(type, values))
    if kinds <= NUMBERS:
        return RawColumn(np.array(values, dtype=np.float64), None, absent)
    if all(issubclass(kind, (str, type(None))) for kind in kinds):
        return _coded(values, title, absent)
    array = as_column(values)
    if array.dtype != object:
        return RawColumn(array, None, absent)
    lacking = [False] * (len(ptr) - 1) if absent is None else absent.tolist()
    arrays: list[Any] = []
    for start, stop, lacks in zip(ptr[:-1].tolist(), ptr[1:].tolist(), lacking, strict=True):
        arrays.append(None if lacks else as_column(values[start:stop]))
        if arrays[-1] is not None and arrays[-1].dtype == object:
            _refuse_mixture(arrays[-1], title)
    return column_of_arrays(arrays, np.diff(ptr).tolist(), title)


def _refuse_mixture(column: npt.NDArray[Any], title: str) -> None:
    """Raise a `GraphError` if one graph has numbers (or vectors of numbers) and other values in a column."""
    present = [(row, value) for row, value in enumerate(column.tolist()) if value is not None]
    for what, matches in (("numbers", _is_number), ("vectors", _is_vector)):
        others = [(row, value) for row, value in present if not matches(value)]
        if 0 < len(others) < len(present):
            item = title.partition(" ")[0]
            raise GraphError(
                f"the {title} holds {what}, but {others[0][1]!r:.60} for {item} {others[0][0]}",
                cure="Use None for a missing value, or write all values as text to make them categories",
            )


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real)


def _is_vector(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(map(_is_number, value))


def _coded(values: list[Any], title: str, absent: BoolArray | None) -> RawColumn:
    """Return categories as codes."""
    try:
        table = dict.fromkeys(values, 0)
    except TypeError:
        row, value = next((row, value) for row, value in enumerate(values) if not _hashable(value))
        item = title.partition(" ")[0]
        raise GraphError(
            f"the {title} holds {value!r:.60} for {item} {row}, it must hold numbers, "
            "vectors of equal length, or categories such as text"
        ) from None
    known = tuple(value for value in table if not is_missing(value))
    table = {**dict.fromkeys(table, -1), **{value: code for code, value in enumerate(known)}}
    return RawColumn(np.fromiter(map(table.__getitem__, values), np.int64, len(values)), known, absent)


def _hashable(value: Any) -> bool:
    return all(map(_hashable, value)) if isinstance(value, tuple) else isinstance(value, Hashable)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or a missing value of pandas."""
    if value is None or type(value).__name__ in NOT_A_VALUE:
        return True
    return isinstance(value, (float, np.floating)) and bool(value != value)


def as_column(values: Sequence[Any]) -> npt.NDArray[Any]:
    """Return numbers as a float array, vectors of equal length as a matrix, anything else as categories.

    Missing values are NaN among numbers and None among categories. True and False are 1 and 0.
    """
    entries = [None if is_missing(value) else _python_value(value) for value in values]
    present = [value for value in entries if value is not None]
    if present and all(map(_is_number, present)):
        return np.array([np.nan if value is None else float(value) for value in entries])
    if present and all(map(_is_vector, present)) and len({len(value) for value in present}) == 1:
        gap = [np.nan] * len(present[0])
        return np.array([gap if value is None else value for value in entries], dtype=np.float64)
    return np.fromiter(entries, dtype=object, count=len(entries))


def _python_value(value: Any) -> Any:
    """Turn numpy and torch scalars into Python numbers, and their vectors into lists."""
    return value.tolist() if hasattr(value, "tolist") and hasattr(value, "shape") else value
