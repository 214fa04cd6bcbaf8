"""One graph as one row: the columns of Hugging Face graph datasets, and what makes them lossless.

`edge_index` (2 lists), `edge_attr`, `node_feat` (a list of numbers per edge or node), `y` and `num_nodes` are
theirs. We add `graph_id`, `directed`, `node_text` and `edge_text` (a list of texts per categorical column),
and `grnf_columns`: a JSON text with the names and types of the columns in those numbers and texts. Rows with
it are read as blocks (`GraphRows`, for Parquet and npz), rows without it one by one (`graph_of_row`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grnf._utils.arrays import offsets, ragged_indices
from grnf._utils.memory import check_graph_memory
from grnf.errors import GraphError
from grnf.io.from_arrays import batch_from_rows
from grnf.io.raw import BadGraph, RawBatch, RawColumn, RawGraph, checked_raw
from grnf.typing import BoolArray, FloatArray, IntArray

MISFITS = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RuntimeError)
"""What rows raise that do not fit together, or that are damaged: `GraphRows` takes them as they come."""
EXACT = 2**53
"""Whole numbers up to this size are exact as float64; larger ones are stored as text."""


def graph_of_row(row: Mapping[str, Any]) -> RawGraph:
    """Return the graph of a row: arrays or nested lists as in `grnf.io.from_arrays.batch_from_dicts`.

    Lists without a number are left out.
    """
    if row.get("grnf_columns") is not None:
        raise GraphError("grnf_columns are read from Parquet files only", cure="Leave them out")
    if row.get("edge_index") is None:
        raise GraphError("edge_index is missing: it must be two lists, sources and targets")
    given = {name: value for name, value in row.items() if name == "edge_index" or not _is_empty(value)}
    graph = batch_from_rows([given])[0]
    columns = graph.node_columns, graph.edge_columns
    return checked_raw(graph.n_nodes, graph.edges, *columns, graph.directed, graph.graph_id, graph.y)


def _is_empty(value: Any) -> bool:
    return isinstance(value, list) and all(entry == [] for entry in value)


def row_of_graph(graph: RawGraph, *, both_arcs: bool = True) -> dict[str, Any]:
    """Return a graph as a row of arrays and lists.

    With `both_arcs`, an undirected graph has the opposite arcs after its edges, as others expect it.
    """
    edges = graph.edges
    layout: dict[str, Any] = {}
    node_feat, node_text = _packed("node", graph.node_columns, graph.n_nodes, layout)
    edge_attr, edge_text = _packed("edge", graph.edge_columns, len(edges), layout)
    layout["edges"] = len(edges)
    arcs = edges
    if both_arcs and not graph.directed:
        others = np.flatnonzero(edges[:, 0] != edges[:, 1])
        arcs = np.vstack([edges, edges[others, ::-1]])
        edge_attr = np.vstack([edge_attr, edge_attr[others]])
    y, layout["y"] = _packed_y(graph.y)
    return {
        "graph_id": graph.graph_id,
        "directed": bool(graph.directed),
        "num_nodes": int(graph.n_nodes),
        "edge_index": np.ascontiguousarray(arcs.T),
        "node_feat": node_feat,
        "edge_attr": edge_attr,
        "node_text": node_text,
        "edge_text": edge_text,
        "y": y,
        "grnf_columns": json.dumps(layout),
    }


def _packed(
    item: str, columns: Mapping[str, Any], count: int, layout: dict[str, Any]
) -> tuple[FloatArray, list[list[str | None]]]:
    """Return numbers side by side and texts. Add the place of each column, its name, width and type."""
    numbers: list[FloatArray] = [np.empty((count, 0))]
    texts: list[list[str | None]] = []
    number_layout = layout[f"{item}_numbers"] = []
    text_layout = layout[f"{item}_texts"] = []
    for position, (name, values) in enumerate(columns.items()):
        array = np.asarray(values)
        if array.dtype.kind == "f" or _fits_float(array):
            width = None if array.ndim == 1 else array.shape[1]
            number_layout.append([position, name, width, array.dtype.str])
            numbers.append(array.astype(np.float64).reshape(count, 1 if width is None else width))
        else:
            entries = array.tolist()
            plain = all(entry is None or isinstance(entry, str) for entry in entries)
            kind = "text" if plain else "json" if array.dtype.kind == "O" else array.dtype.str
            text_layout.append([position, name, kind])
            texts.append(entries if plain else [_json_text(entry, name) for entry in entries])
    return np.hstack(numbers), texts


def _fits_float(array: npt.NDArray[Any]) -> bool:
    return array.dtype.kind in "biu" and not (np.abs(array.astype(np.float64)) >= EXACT).any()


def _json_text(value: Any, name: str) -> str | None:
    if value is None:
        return None
    try:
        return json.dumps(value)
    except (TypeError, ValueError):
        raise GraphError(
            f"column {name!r} must hold numbers, Booleans, texts or tuples of them, got "
            f"{type(value).__name__}"
        ) from None


def _packed_y(y: Any) -> tuple[FloatArray, Any]:
    if y is None:
        return np.empty(0), None
    try:
        array = np.asarray(y)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.dtype.kind == "f" or _fits_float(array):
        return array.astype(np.float64).ravel(), [array.dtype.str, list(array.shape)]
    plain = y.tolist() if isinstance(y, (np.ndarray, np.generic)) else y
    return np.empty(0), {"json": json.loads(_json_text(plain, "y") or "null")}


def only_graph(rows: Callable[[], GraphRows]) -> RawGraph:
    """Return the graph of a single row, checked."""
    try:
        graph = rows().batch()[0]
    except GraphError:
        raise
    except MISFITS as error:
        raise GraphError(f"grnf_columns does not describe this row: {error!r}") from None
    columns = graph.node_columns, graph.edge_columns
    return checked_raw(graph.n_nodes, graph.edges, *columns, graph.directed, graph.graph_id, graph.y)


def halved(
    batch: Callable[[int, int], RawBatch],
    single: Callable[[int], Iterable[RawGraph | BadGraph]],
    start: int,
    stop: int,
) -> Iterator[RawBatch | RawGraph | BadGraph]:
    """Yield the graphs of rows with the same columns together, halving rows until they have."""
    middle = (start + stop) // 2
    try:
        yield batch(start, stop)
        return
    except MISFITS:
        if middle == start:
            yield from single(start)
            return
    yield from halved(batch, single, start, middle)
    yield from halved(batch, single, middle, stop)


class Texts(NamedTuple):
    """Categorical columns of some rows: one code per entry, -1 if missing, row after row."""

    codes: IntArray
    categories: Sequence[str]


class Layout(NamedTuple):
    """The content of `grnf_columns`."""

    columns: str
    n_edges: int
    y: Any


@lru_cache(maxsize=10_000)
def layout_of(text: str) -> Layout:
    """Return the content of `grnf_columns`, which is the same text in most rows."""
    whole = json.loads(text)
    n_edges, y = whole.pop("edges"), whole.pop("y", None)
    if type(n_edges) is not int or n_edges < 0:
        raise GraphError(f"grnf_columns: the number of edges must be a whole number, got {n_edges!r}")
    return Layout(json.dumps(whole), n_edges, y)


@dataclass(frozen=True)
class GraphRows:
    """Rows with `grnf_columns`, whose numbers follow each other. Edges may be followed by opposite arcs."""

    layouts: list[Layout]
    n_nodes: IntArray
    n_arcs: IntArray
    arcs: IntArray
    node_feat: FloatArray
    edge_attr: FloatArray
    node_text: Texts
    edge_text: Texts
    directed: BoolArray
    graph_ids: list[str | None]
    y_sizes: IntArray
    y: FloatArray

    def batch(self) -> RawBatch:
        """Return the rows as graphs. They must have the same columns."""
        first = self.layouts[0].columns
        if any(layout.columns != first for layout in self.layouts):
            raise GraphError("the rows have several sets of columns")
        check_graph_memory(int(self.n_nodes.max()), int(self.n_arcs.max()))
        columns = json.loads(first)
        n_edges = np.array([layout.n_edges for layout in self.layouts], dtype=np.int64)
        if (n_edges > self.n_arcs).any():
            raise GraphError(f"edge_index has {self.n_arcs[0]} arcs for {n_edges[0]} edges")
        arcs, edge_attr = self.arcs, self.edge_attr
        if (n_edges != self.n_arcs).any():
            place = np.arange(len(arcs)) - np.repeat(offsets(self.n_arcs)[:-1], self.n_arcs)
            kept = place < np.repeat(n_edges, self.n_arcs)
            arcs, edge_attr = arcs[kept], edge_attr[kept]
        last = np.repeat(self.n_nodes, n_edges)[:, np.newaxis]
        if ((arcs < 0) | (arcs >= last)).any() or np.isinf(self.node_feat).any() or np.isinf(edge_attr).any():
            raise GraphError("edges between unknown nodes, or infinite numbers")
        return RawBatch(
            offsets(self.n_nodes),
            offsets(n_edges),
            np.ascontiguousarray(arcs, dtype=np.int64),
            _columns(columns, "node", self.node_feat, self.node_text, self.n_nodes),
            _columns(columns, "edge", edge_attr, self.edge_text, n_edges),
            self.directed,
            self.graph_ids,
            self._targets(),
        )

    def _targets(self) -> list[Any]:
        layouts, ends = [layout.y for layout in self.layouts], offsets(self.y_sizes)
        if isinstance(layouts[0], list) and all(layout == layouts[0] for layout in layouts):
            dtype, shape = layouts[0]
            if shape == [] and (self.y_sizes == 1).all():
                return list(_typed_numbers(self.y, dtype).tolist())
        return [_target(layout, self.y[ends[row] : ends[row + 1]]) for row, layout in enumerate(layouts)]


def _columns(
    layout: dict[str, Any], item: str, numbers: FloatArray, texts: Texts, counts: IntArray
) -> dict[str, RawColumn]:
    columns: dict[int, tuple[str, RawColumn]] = {}
    start = 0
    if not len(numbers):
        numbers = np.empty((0, sum(width or 1 for _, _, width, _ in layout[f"{item}_numbers"])))
    for position, name, width, dtype in layout[f"{item}_numbers"]:
        stop = start + (1 if width is None else width)
        values: npt.NDArray[Any] = numbers[:, start:stop]
        if values.shape[1] != stop - start:
            raise GraphError(f"{item} column {name!r} is at {start}:{stop}, beyond the numbers")
        columns[position] = name, RawColumn(_typed_numbers(values[:, 0] if width is None else values, dtype))
        start = stop
    kinds = layout[f"{item}_texts"]
    if len(texts.codes) != len(kinds) * int(counts.sum()):
        raise GraphError(f"{item}_text does not have one text for each {item} and column")
    for place, (position, name, kind) in enumerate(kinds):
        codes = texts.codes
        if len(kinds) > 1:  # of a row, one column comes after the other
            own = np.arange(place, len(kinds) * len(counts), len(kinds))
            codes = codes[ragged_indices(offsets(np.repeat(counts, len(kinds))), own)]
        columns[position] = name, _text_column(codes, texts.categories, kind)
    return {str(name): column for _, (name, column) in sorted(columns.items())}


def _text_column(codes: IntArray, categories: Sequence[str], kind: str) -> RawColumn:
    """Return a column with the categories that occur in it. `kind` is text, json or a type of numbers."""
    present = np.zeros(len(categories) + 1, np.bool_)
    present[codes] = True
    present[-1] = False
    places = np.append(np.cumsum(present[:-1]) - 1, -1)
    own: list[Any] = [categories[place] for place in np.flatnonzero(present).tolist()]
    if kind == "text":
        return RawColumn(places[codes], tuple(own))
    own = [_hashable(json.loads(text)) for text in own]
    if kind == "json":
        return RawColumn(places[codes], tuple(own))
    return RawColumn(_typed_numbers(np.array([*own, None], dtype=object)[places[codes]], kind))


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        raise GraphError("a JSON object is not a category")
    return tuple(_hashable(entry) for entry in value) if isinstance(value, list) else value


def _typed_numbers(values: npt.NDArray[Any], dtype: str) -> npt.NDArray[Any]:
    """Return numbers in the type that they had."""
    target = np.dtype(dtype)
    if target.kind not in "biuf" or target.itemsize > 16 or target.shape:
        raise GraphError(f"columns of type {dtype!r} are not read")
    if values.dtype.kind == "f" and target.kind in "biu" and not np.isfinite(values).all():
        raise GraphError(f"a column of type {dtype!r} holds a number that is not finite")
    return values.astype(target)


def _target(layout: Any, y: FloatArray) -> Any:
    """Return the target of a row."""
    if layout is None:
        return None
    if isinstance(layout, dict):
        return layout["json"]
    dtype, shape = layout
    array = _typed_numbers(y, dtype).reshape(shape)
    return array if shape else array.item()
