"""Conversion of rows or columns of nodes and edges to graphs, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf._utils.memory import VALUE, check_memory
from grnf.errors import GraphError
from grnf.io.raw import RawGraph, as_column, checked_raw
from grnf.typing import IntArray

MOST_ABSENT = 16
"""A vector is restored if at least one in so many of its parts is present."""


def graph_of_rows(
    nodes: Sequence[tuple[Hashable, Mapping[str, Any]]],
    edges: Sequence[tuple[Hashable, Hashable, Mapping[str, Any]]],
    **about: Any,
) -> RawGraph:
    """Return the graph of nodes (name, values) and edges (name, name, values). See `graph_of_columns`."""
    names, ends = [name for name, _ in nodes], [(source, target) for source, target, _ in edges]
    node_columns = _columns_of([values for _, values in nodes])
    return graph_of_columns(names, node_columns, ends, _columns_of([row for *_, row in edges]), **about)


def _columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the columns of rows that name their values, in order of first appearance."""
    names = dict.fromkeys(name for row in rows for name in row)
    check_memory(VALUE * len(names) * len(rows), f"{len(names)} columns of {len(rows)} rows")
    return {name: [row.get(name) for row in rows] for name in names}


def graph_of_columns(
    names: Sequence[Hashable],
    node_columns: Mapping[str, list[Any]],
    ends: Iterable[tuple[Hashable, Hashable]],
    edge_columns: Mapping[str, list[Any]],
    *,
    directed: bool = False,
    graph_id: str | None = None,
    y: Any = None,
    new_nodes: bool = False,
    widths: Mapping[str, Mapping[str, int]] | None = None,
) -> RawGraph:
    """Return the graph of named nodes and edges between names.

    With `new_nodes`, edges may name nodes that are not listed. `widths` are those of "node" and "edge"
    vectors that were split into columns.
    """
    numbers: dict[Hashable, int] = {}
    for name in names:
        if name in numbers:
            raise GraphError(f"ids of nodes must be unique, got {name!r} twice")
        numbers[name] = len(numbers)
    pairs = []
    for row, (source, target) in enumerate(ends):
        for name in (source, target):
            if name not in numbers:
                if not new_nodes:
                    raise GraphError(f"edge {row} ({source!r}, {target!r}): there is no node {name!r}")
                numbers[name] = len(numbers)
        pairs.append((numbers[source], numbers[target]))
    added = [None] * (len(numbers) - len(names))
    given = {"node": {name: [*values, *added] for name, values in node_columns.items()}, "edge": edge_columns}
    columns = {}
    for item, own in given.items():
        typed = {name: _typed_column(values, f"{item} column {name!r}") for name, values in own.items()}
        columns[item] = _with_vectors(typed, (widths or {}).get(item, {}))
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return checked_raw(len(numbers), edges, columns["node"], columns["edge"], directed, graph_id, y)


def _typed_column(values: Sequence[Any], title: str = "column") -> npt.NDArray[Any]:
    """Return values, None where missing, as a column: like `as_column`, but whole numbers and truth stay so.

    What is neither number, truth value, text nor a list of numbers becomes a category under its JSON text.
    """
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return np.array(values, dtype=np.bool_)
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in values):
        return np.array(values, dtype=np.int64)
    if kinds & {list, tuple}:  # vectors may have gaps
        values = [
            [math.nan if entry is None else entry for entry in value]
            if type(value) in (list, tuple)
            else value
            for value in values
        ]
    try:
        array = as_column(values)
    except OverflowError:
        raise GraphError(f"{title} holds a number that does not fit in 64 bits") from None
    if array.dtype == object:
        _refuse_ragged(array.tolist(), title)
        array[:] = [_category(value) for value in array]
    elif array.ndim == 2 and None not in values:
        whole = all(type(entry) is int and abs(entry) < 2**53 for row in values for entry in row)
        return array.astype(np.int64) if whole else array
    return array


def _refuse_ragged(values: list[Any], title: str) -> None:
    """Vectors of several lengths are a mistake, not categories."""
    vectors = [value for value in values if isinstance(value, list)]
    if vectors and all(isinstance(entry, (int, float)) for value in vectors for entry in value):
        lengths = sorted({len(value) for value in vectors})
        if len(lengths) > 1:
            raise GraphError(
                f"{title} holds vectors of {lengths[0]} and of {lengths[-1]} numbers, but they must have "
                "equal lengths. Fill them up, or leave the column out"
            )


def _category(value: Any) -> Any:
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    return json.dumps(value, sort_keys=True, default=str)


def plain_tables(
    graph: RawGraph, kind: str, node: Collection[str] = (), edge: Collection[str] = (), vectors: bool = False
) -> dict[str, tuple[list[str], list[dict[str, Any]]]]:
    """Return "node" and "edge" columns and, for each node or edge, its values, as plain Python.

    Without `vectors`, column x of width 12 becomes the columns x_00 to x_11. Names that this kind of file
    reserves for nodes or edges are refused. Missing values are left out.
    """
    node_rows = _plain_rows(graph.node_columns, graph.n_nodes, vectors)
    tables = {"node": node_rows, "edge": _plain_rows(graph.edge_columns, len(graph.edges), vectors)}
    for item, reserved in (("node", node), ("edge", edge)):
        for name in tables[item][0]:
            if name in reserved:
                raise GraphError(f"{kind} uses the column name {name!r} itself", cure="Rename the column")
    return tables


def _plain_rows(
    columns: Mapping[str, Any], count: int, vectors: bool
) -> tuple[list[str], list[dict[str, Any]]]:
    flat: dict[str, list[Any]] = {}
    for name, values in columns.items():
        array = np.asarray(values)
        parts = {name: array}
        if array.ndim == 2 and not vectors:
            parts = dict(zip(_part_names(name, array.shape[1]), array.T, strict=True))
        for part, entries in parts.items():
            if part in flat:
                raise GraphError(f"two columns would be called {part!r}", cure="Rename one of them")
            flat[part] = [_none_for_nan(entry) for entry in entries.tolist()]
    rows = [
        {name: values[index] for name, values in flat.items() if values[index] is not None}
        for index in range(count)
    ]
    return list(flat), rows


def _part_names(name: str, width: int) -> list[str]:
    digits = len(str(width - 1))  # so that names in order are columns in order
    return [f"{name}_{index:0{digits}}" for index in range(width)]


def vector_widths(graph: RawGraph) -> dict[str, dict[str, int]]:
    """Return the widths of the node and edge columns of vectors, which `plain_tables` splits."""
    columns = {"node": graph.node_columns, "edge": graph.edge_columns}
    widths = {
        item: {name: int(np.shape(values)[1]) for name, values in own.items() if np.ndim(values) == 2}
        for item, own in columns.items()
    }
    return {item: own for item, own in widths.items() if own}


def _with_vectors(columns: Mapping[str, npt.NDArray[Any]], widths: Mapping[str, int]) -> dict[str, Any]:
    """Put the parts of vectors of these widths together again. Absent parts are missing values.

    Parts that do not go together, of numbers and of texts, stay apart.
    """
    joined = dict(columns)
    for name, width in widths.items():
        if not 0 < width <= MOST_ABSENT * len(columns):
            continue
        names = _part_names(name, width)
        parts = [joined[part] for part in names if part in joined]
        kinds = {"numbers" if part.dtype.kind in "fiub" else "others" for part in parts}
        if len(kinds) != 1 or name in joined or any(part.ndim != 1 for part in parts):
            continue
        absent = np.full(len(parts[0]), np.nan) if kinds == {"numbers"} else np.full(len(parts[0]), None)
        vector = np.stack([joined.get(part, absent) for part in names], axis=1)
        first = next(part for part in names if part in joined)
        rest = set(names) - {first}
        joined = {name if key == first else key: value for key, value in joined.items() if key not in rest}
        joined[name] = vector
    return joined


def _none_for_nan(value: Any) -> Any:
    if isinstance(value, list):
        return [_none_for_nan(entry) for entry in value]
    return None if isinstance(value, float) and value != value else value


def number(text: str) -> Any:
    """Return the number that a text represents, or the text, or None if it is empty."""
    if not text:
        return None
    if text[-1] not in "0123456789.fnyFNY" or "_" in text:
        return text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def runs(ends: IntArray, size: int) -> Iterator[tuple[int, int]]:
    """Cut items that end at these places into ranges of about `size` each, one item at least."""
    cuts = np.flatnonzero(np.diff(ends // size)) + 1
    return pairwise([0, *cuts.tolist(), len(ends)])


def scalar_y(y: Any, kind: str) -> Any:
    """Return a label or target as a plain number, truth value or text."""
    value = y.item() if isinstance(y, np.generic) or (isinstance(y, np.ndarray) and y.size == 1) else y
    if not isinstance(value, (str, bool, int, float)):
        raise GraphError(f"y must be a number or a text in {kind}, got {type(y).__name__}")
    return value
