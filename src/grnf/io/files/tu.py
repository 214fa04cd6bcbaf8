"""TU benchmark sets: a folder or zip with DS_A.txt, DS_graph_indicator.txt and optional attribute files.

Nodes are numbered from 1 over all graphs. Undirected graphs list every edge in both directions; a repeated
line is the same edge, so repeats are dropped, not summed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from grnf.errors import GraphError
from grnf.graphs import GraphBatch, category_key, number_keys
from grnf.graphs.channels import Item
from grnf.io.batch import RawBatch, RawColumn
from grnf.io.files.file import File
from grnf.io.files.records import Block, OnError, each_record
from grnf.io.files.tu_arcs import OF_EDGES, Arcs, Table
from grnf.io.files.tu_tables import INDICATOR, Rows, first_nodes, open_files
from grnf.io.raw import BadGraph, RawGraph, checked_raw
from grnf.typing import FloatArray, IntArray, Keys

__all__ = ["TUData", "is_tu_folder", "read_tu", "read_tu_graphs"]

AT_ONCE = 2**16
"""Nodes and arcs together that are in memory at a time, unless one graph has more."""


class TUData(NamedTuple):
    """Graphs, their classes (or regression targets), and what the columns of the attributes are."""

    graphs: GraphBatch
    y: Any
    node_columns: list[str]
    edge_columns: list[str]


def read_tu(path: str | os.PathLike[str], *, node_attributes: bool = True) -> TUData:
    """Read a TU data set from a zip file or a folder.

    Node attributes come first, then node labels as one-hot columns, one per label that occurs, sorted as
    text; likewise for edges. That is the order in which `grnf.io.AttributeEncoder` puts them, so graphs have
    the same vectors whether they come from here or from `grnf.io.read_graphs`.

    Parameters
    ----------
    path : path to a .zip file or a folder
    node_attributes : bool, default=True
        Whether to keep continuous node attributes beside the labels.
    """
    data = _together(list(_parts(File(path), "raise")))
    if not node_attributes:
        data.tables.pop("node_attributes", None)
    node_attr, node_columns, node_keys = _one_hot(data.tables, "node", data.node_ptr[-1])
    edge_attr, edge_columns, edge_keys = _one_hot(data.tables, "edge", len(data.edges))
    batch = GraphBatch(
        node_ptr=data.node_ptr,
        edge_ptr=data.edge_ptr,
        edges=data.edges,
        node_attr=node_attr,
        edge_attr=edge_attr,
        directed=np.full(len(data.node_ptr) - 1, data.directed),
        node_keys=node_keys,
        edge_keys=edge_keys,
    )
    return TUData(batch, data.tables.get("y"), node_columns, edge_columns)


def read_tu_graphs(source: File, *, on_error: OnError = "raise") -> Iterator[RawGraph | BadGraph]:
    """Yield the graphs of a TU set: labels as categories (texts), attributes as one column of vectors.

    Two passes over the arcs, since one arc without its reverse makes all graphs of a set directed.
    """

    def records() -> Iterator[tuple[str, str | None, tuple[_Set, int] | GraphError]]:
        for data in _parts(source, on_error):
            for index in range(len(data.node_ptr) - 1):
                number = data.first + index
                fault = data.faults.get(number)
                content = (data, index) if fault is None else GraphError(fault)
                yield f"{source}, graph {number + 1}", str(number + 1), content

    yield from each_record(records(), lambda content: _graph(*content), on_error)


def read_tu_blocks(source: File, *, on_error: OnError = "raise") -> Iterator[Block]:
    """Yield the graphs of a TU set as blocks; one with faults graph by graph."""
    for data in _parts(source, on_error):
        count, first = len(data.node_ptr) - 1, data.first
        if data.faults:
            yield list(islice(read_tu_graphs(source, on_error=on_error), first, first + count))
            continue
        yield RawBatch(
            data.node_ptr,
            data.edge_ptr,
            data.edges,
            _raw_columns(data.tables, "node"),
            _raw_columns(data.tables, "edge"),
            np.full(count, data.directed),
            [str(first + index + 1) for index in range(count)],
            data.tables["y"].tolist() if "y" in data.tables else [None] * count,
        )


def _raw_columns(tables: Table, item: str) -> dict[str, RawColumn]:
    columns = {}
    for index, entries in enumerate(tables.get(f"{item}_labels", np.empty((0, 0))).T):
        values, codes = np.unique(entries, return_inverse=True)
        columns[f"label{index or ''}"] = RawColumn(codes, tuple(map(str, values.tolist())))
    if f"{item}_attributes" in tables:
        columns["attributes"] = RawColumn(tables[f"{item}_attributes"])
    return columns


def _graph(data: _Set, index: int) -> RawGraph:
    nodes = slice(data.node_ptr[index], data.node_ptr[index + 1])
    edges = slice(data.edge_ptr[index], data.edge_ptr[index + 1])
    return checked_raw(
        int(nodes.stop - nodes.start),
        data.edges[edges],
        {name: values[nodes] for name, values in data.node_columns.items()},
        {name: values[edges] for name, values in data.edge_columns.items()},
        data.directed,
        str(data.first + index + 1),
        data.tables["y"][index].tolist() if "y" in data.tables else None,
    )


def is_tu_folder(path: Path) -> bool:
    """Tell whether a folder holds a TU set."""
    return any(file.name.endswith(INDICATOR) for file in path.iterdir())


@dataclass(frozen=True)
class _Set:
    """Some graphs of a set: edges without repeats, numbered within their graphs, and where graphs begin.

    `first` is the number of the first one, `tables` has labels and attributes of nodes and edges and y, where
    there are any, and `faults` says why some graphs cannot be used, by number.
    """

    first: int
    node_ptr: IntArray
    edge_ptr: IntArray
    edges: IntArray
    directed: bool
    tables: Table
    faults: dict[int, str]

    @cached_property
    def node_columns(self) -> Table:
        return _columns(self.tables, "node")

    @cached_property
    def edge_columns(self) -> Table:
        return _columns(self.tables, "edge")


def _parts(source: File, on_error: OnError) -> Iterator[_Set]:
    """Yield the graphs in parts of about `AT_ONCE` nodes and arcs; a set without graphs is one part."""
    with open_files(source) as files:
        target = next((kind for kind in ("graph_labels", "graph_attributes") if files.has(kind)), None)
        node_ptr, n_nodes = first_nodes(files, None if target is None else files.count(target))
        files.check_counts("node", n_nodes)
        arcs = Arcs(files, node_ptr, on_error)
        names = ("node_labels", "node_attributes", target or "y")
        tables = {name: files.rows(name, on_error) for name in names if files.has(name)}
        directed = _is_directed(arcs)
        for graphs in _ranges(arcs):
            yield _part(arcs, tables, graphs, directed)


def _ranges(arcs: Arcs) -> Iterator[tuple[int, int]]:
    """Cut the graphs into ranges of about `AT_ONCE` nodes and arcs each, one graph at least."""
    start, n_graphs = 0, len(arcs.ptr) - 1
    while start < n_graphs:
        some = slice(start, start + 1 + AT_ONCE)
        work = np.asarray(arcs.node_ptr[some]) + arcs.ptr[some]
        stop = start + max(1, int(np.searchsorted(work[1:] - work[0], AT_ONCE, side="right")))
        yield start, stop
        start = stop
    if not n_graphs:
        yield 0, 0


def _is_directed(arcs: Arcs) -> bool:
    """Whether a graph without faults has an arc without its reverse."""
    for start, stop in _ranges(arcs):
        table = arcs.take(start, stop)
        fault = table.get("fault")
        if fault is not None and fault.any():
            good = ~np.isin(table["graph"], table["graph"][fault > 0])
            table = {name: values[good] for name, values in table.items()}
        if _has_one_way(table, int(arcs.node_ptr[start]), int(arcs.node_ptr[stop])):
            return True
    return False


def _part(arcs: Arcs, tables: dict[str, Rows], graphs: tuple[int, int], directed: bool) -> _Set:
    start, stop = graphs
    node_ptr = np.array(arcs.node_ptr[start : stop + 1])
    first, end = int(node_ptr[0]), int(node_ptr[-1])
    table = arcs.take(start, stop)
    faults: dict[int, str] = {}
    fault = table.pop("fault", None)
    if fault is not None and fault.any():
        wrong = np.flatnonzero(fault)
        faults = {int(table["graph"][row]): arcs.reason(int(fault[row])) for row in wrong.tolist()}
        table = {name: values[fault == 0] for name, values in table.items()}
    edges = _once(table, first, end)
    if not directed:
        half = edges["source"] <= edges["target"]
        edges = {name: values[half] for name, values in edges.items()}
    found = {name: edges[name] for name in OF_EDGES if name in edges}
    for name, rows in tables.items():
        of_graphs = name.startswith("graph")
        low, high = (start, stop) if of_graphs else (first, end)
        values = rows.take(high - low)
        for row in rows.faults_within(low, high):
            graph = row if of_graphs else start + int(np.searchsorted(node_ptr, row, side="right")) - 1
            faults[graph] = f"{rows.name}, line {row + 1}: these are no numbers, or too few or many"
        if of_graphs and (name == "graph_labels" or values.shape[1] == 1):
            values = values.ravel()
        found["y" if of_graphs else name] = values
    node_ptr -= first
    edge_ptr = np.searchsorted(edges["source"], node_ptr).astype(np.int64)
    begin = np.repeat(node_ptr[:-1], np.diff(edge_ptr))
    return _Set(
        first=start,
        node_ptr=node_ptr,
        edge_ptr=edge_ptr,
        edges=np.column_stack([edges["source"] - begin, edges["target"] - begin]),
        directed=directed,
        tables=found,
        faults=faults,
    )


def _together(parts: list[_Set]) -> _Set:
    """Return all parts as one."""

    def starts(name: str) -> IntArray:
        counts = [np.diff(getattr(part, name)) for part in parts]
        return np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)

    edges = np.concatenate([part.edges for part in parts])
    tables = {name: np.concatenate([part.tables[name] for part in parts]) for name in parts[0].tables}
    return _Set(0, starts("node_ptr"), starts("edge_ptr"), edges, parts[0].directed, tables, {})


def _keys(source: IntArray, target: IntArray, n_nodes: int) -> IntArray:
    """Return one number for each arc, in the order of arcs."""
    return source * n_nodes + target


def _once(table: Table, first: int, end: int) -> Table:
    """Return arcs, numbered from `first`, with labels and attributes, sorted and without repeats."""
    source, target = (table[name].astype(np.int64) - first for name in ("source", "target"))
    values: Table = {name: table[name] for name in OF_EDGES if name in table}
    keys = _keys(source, target, end - first)
    if not (keys[1:] > keys[:-1]).all():
        if values:
            keys, rows = np.unique(keys, return_index=True)
            values = {name: entries[rows] for name, entries in values.items()}
        else:
            keys = np.sort(keys)  # np.unique would hash
            keys = keys[np.append(True, keys[1:] != keys[:-1])] if len(keys) else keys
        source, target = np.divmod(keys, max(end - first, 1))
    return {"source": source, "target": target, **values}


def _has_one_way(table: Table, first: int, end: int) -> bool:
    """Whether an arc lacks its reverse, with the same label and attributes."""
    arcs = _once(table, first, end)
    source, target = arcs["source"], arcs["target"]
    up, down = np.flatnonzero(source < target), np.flatnonzero(source > target)
    forth = _keys(source[up], target[up], end - first)
    back = _keys(target[down], source[down], end - first)
    values = [arcs[name] for name in OF_EDGES if name in arcs]
    if not values:
        return not np.array_equal(forth, np.sort(back))
    order = np.argsort(back)
    return not np.array_equal(forth, back[order]) or not all(
        np.array_equal(entries[up], entries[down][order], equal_nan=True) for entries in values
    )


def _one_hot(tables: Table, item: Item, count: int) -> tuple[FloatArray, list[str], Keys]:
    parts = [tables.get(f"{item}_attributes", np.empty((count, 0)))]
    names = [f"attribute{column}" for column in range(parts[0].shape[1])]
    keys = number_keys(item, len(names), "attributes").tolist()
    for column, entries in enumerate(tables.get(f"{item}_labels", np.empty((count, 0))).T):
        values = np.array(sorted(np.unique(entries), key=str), dtype=np.int64)
        parts.append((entries[:, np.newaxis] == values).astype(np.float64))
        names += [f"label{column or ''}={value}" for value in values]
        keys += [category_key(item, f"label{column or ''}", int(value)) for value in values]
    return np.hstack(parts), names, np.array(keys, dtype=np.uint64)


def _columns(tables: Table, item: str) -> Table:
    columns: Table = {}
    for index, entries in enumerate(tables.get(f"{item}_labels", np.empty((0, 0))).T):
        values, codes = np.unique(entries, return_inverse=True)
        columns[f"label{index or ''}"] = np.array([str(value) for value in values], dtype=object)[codes]
    if f"{item}_attributes" in tables:
        columns["attributes"] = tables[f"{item}_attributes"]
    return columns
