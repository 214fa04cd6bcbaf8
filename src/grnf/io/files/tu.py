"""TU benchmark sets: a folder or zip with DS_A.txt, DS_graph_indicator.txt and optional attribute files.

Nodes are numbered from 1 over all graphs. Undirected graphs list every edge in both directions; a repeated
line is the same edge, so repeats are dropped, not summed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError
from grnf.graphs import GraphBatch
from grnf.io.columns import undirected_once
from grnf.io.files.records import OnError, each_record
from grnf.io.files.streams import Source
from grnf.io.files.tu_arcs import Arcs
from grnf.io.files.tu_tables import INDICATOR, Rows, first_nodes, open_files
from grnf.io.raw import BadGraph, RawGraph, checked_raw
from grnf.typing import FloatArray, IntArray

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
    data = next(_parts(Source(path), "raise", None))
    node_attr, node_columns = _one_hot(
        data.node_labels, data.node_attributes if node_attributes else None, data.node_ptr[-1]
    )
    edge_attr, edge_columns = _one_hot(data.edge_labels, data.edge_attributes, len(data.edges))
    batch = GraphBatch(
        node_ptr=data.node_ptr,
        edge_ptr=data.edge_ptr,
        edges=data.edges,
        node_attr=node_attr,
        edge_attr=edge_attr,
        directed=np.full(len(data.node_ptr) - 1, data.directed),
    )
    return TUData(batch, data.y, node_columns, edge_columns)


def read_tu_graphs(source: Source, *, on_error: OnError = "raise") -> Iterator[RawGraph | BadGraph]:
    """Yield the graphs of a TU set: labels as categories (texts), attributes as one column of vectors.

    Two passes over the arcs, since one arc without its reverse makes all graphs of a set directed.
    """

    def records() -> Iterator[tuple[str, str | None, tuple[_Set, int] | GraphError]]:
        for data in _parts(source, on_error, AT_ONCE):
            for index in range(len(data.node_ptr) - 1):
                number = data.first + index
                fault = data.faults.get(number)
                content = (data, index) if fault is None else GraphError(fault)
                yield f"{source}, graph {number + 1}", str(number + 1), content

    yield from each_record(records(), lambda content: _graph(*content), on_error)


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
        None if data.y is None else data.y[index].tolist(),
    )


def is_tu_folder(path: Path) -> bool:
    """Tell whether a folder holds a TU set."""
    return any(file.name.endswith(INDICATOR) for file in path.iterdir())


@dataclass(frozen=True)
class _Set:
    """Some graphs of a set: edges without repeats, numbered within their graphs, and where graphs begin.

    `first` is the number of the first one, `faults` says why some cannot be used, by number.
    """

    first: int
    node_ptr: IntArray
    edge_ptr: IntArray
    edges: IntArray
    directed: bool
    y: Any
    node_labels: IntArray | None
    node_attributes: FloatArray | None
    edge_labels: IntArray | None
    edge_attributes: FloatArray | None
    faults: dict[int, str]

    @cached_property
    def node_columns(self) -> dict[str, npt.NDArray[Any]]:
        return _columns(self.node_labels, self.node_attributes)

    @cached_property
    def edge_columns(self) -> dict[str, npt.NDArray[Any]]:
        return _columns(self.edge_labels, self.edge_attributes)


def _parts(source: Source, on_error: OnError, at_once: int | None) -> Iterator[_Set]:
    """Yield the graphs in parts of about so many nodes and arcs, or all in one."""
    with open_files(source) as files:
        target = next((kind for kind in ("graph_labels", "graph_attributes") if files.has(kind)), None)
        node_ptr, n_nodes = first_nodes(files, None if target is None else files.count(target))
        files.check_counts("node", n_nodes)
        arcs = Arcs(files, node_ptr, on_error)
        tables = {
            name: files.rows(name, on_error) for name in ("node_labels", "node_attributes") if files.has(name)
        }
        if target is not None:
            tables[target] = files.rows(target, on_error)
        directed = None if at_once is None else _is_directed(arcs, at_once)
        arcs.rewind()
        for start, stop in _ranges(node_ptr, arcs.counts, at_once):
            yield _part(arcs, tables, target, (start, stop), directed)


def _ranges(node_ptr: IntArray, counts: IntArray, at_once: int | None) -> Iterator[tuple[int, int]]:
    """Cut the graphs into ranges of about so many nodes and arcs each, one graph at least."""
    start, n_graphs = 0, len(counts)
    while start < n_graphs or (start == 0 and at_once is None):
        stop = n_graphs
        if at_once is not None:
            window = slice(start, start + at_once)
            nodes = np.asarray(node_ptr[start + 1 : start + 1 + at_once]) - node_ptr[start]
            work = nodes + np.cumsum(counts[window])
            stop = start + max(1, int(np.searchsorted(work, at_once, side="right")))
        yield start, stop
        start = stop
        if at_once is None:
            return


def _is_directed(arcs: Arcs, at_once: int) -> bool:
    """Whether a graph without faults has an arc without its reverse."""
    for start, stop in _ranges(arcs.node_ptr, arcs.counts, at_once):
        records = arcs.take(stop)
        records = records[~np.isin(records["graph"], records["graph"][records["fault"] > 0])]
        if _edges_once(records, int(arcs.node_ptr[start]), int(arcs.node_ptr[stop]), None)[1]:
            return True
    return False


def _part(
    arcs: Arcs,
    tables: dict[str, Rows | None],
    target: str | None,
    graphs: tuple[int, int],
    directed: bool | None,
) -> _Set:
    start, stop = graphs
    node_ptr = np.array(arcs.node_ptr[start : stop + 1])
    first, end = int(node_ptr[0]), int(node_ptr[-1])
    records = arcs.take(stop)
    faults = {int(row["graph"]): arcs.reason(int(row["fault"])) for row in records[records["fault"] > 0]}
    records = records[records["fault"] == 0]
    keep, directed = _edges_once(records, first, end, directed)
    records = records[keep]
    graph_of = records["graph"]
    found: dict[str, Any] = dict.fromkeys(("node_labels", "node_attributes"))
    y = None
    for name, rows in tables.items():
        if rows is None:
            continue
        low, high = (start, stop) if name == target else (first, end)
        found[name] = rows.take(high - low)
        for row in rows.faults_within(low, high):
            graph = row if name == target else start + int(np.searchsorted(node_ptr, row, side="right")) - 1
            faults[graph] = f"{rows.name}, line {row + 1}: these are no numbers, or too few or many"
        if name == target:
            y = found[name].ravel() if name == "graph_labels" or found[name].shape[1] == 1 else found[name]
    fields = records.dtype.names or ()
    return _Set(
        first=start,
        node_ptr=node_ptr - first,
        edge_ptr=np.searchsorted(graph_of, np.arange(start, stop + 1)).astype(np.int64),
        edges=records["arc"] - node_ptr[graph_of - start][:, np.newaxis],
        directed=directed,
        y=y,
        node_labels=found["node_labels"],
        node_attributes=found["node_attributes"],
        edge_labels=records["label"] if "label" in fields else None,
        edge_attributes=records["attribute"] if "attribute" in fields else None,
        faults=faults,
    )


def _edges_once(
    records: npt.NDArray[Any], first: int, end: int, directed: bool | None
) -> tuple[IntArray, bool]:
    """Return which records to keep, sorted by arc and without repeats, and whether they are directed.

    Whether they are is found out where it is not known.
    """
    arcs = records["arc"] - first
    _, once = np.unique(arcs[:, 0] * (end - first) + arcs[:, 1], return_index=True)
    arcs = arcs[once]
    if directed is None:
        parts = [records[name] for name in ("label", "attribute") if name in (records.dtype.names or ())]
        values = np.hstack([np.empty((len(records), 0)), *parts])[once]
        directed = undirected_once(arcs, values) is None
    return (once, True) if directed else (once[arcs[:, 0] <= arcs[:, 1]], False)


def _one_hot(
    labels: IntArray | None, attributes: FloatArray | None, count: int
) -> tuple[FloatArray, list[str]]:
    parts: list[FloatArray] = [np.empty((count, 0))]
    names: list[str] = []
    if attributes is not None:
        parts.append(attributes)
        names += [f"attribute{column}" for column in range(attributes.shape[1])]
    for column, entries in enumerate([] if labels is None else labels.T):
        values = np.array(sorted(np.unique(entries), key=str), dtype=np.int64)
        parts.append((entries[:, np.newaxis] == values).astype(np.float64))
        names += [f"label{column or ''}={value}" for value in values]
    return np.hstack(parts), names


def _columns(labels: IntArray | None, attributes: FloatArray | None) -> dict[str, npt.NDArray[Any]]:
    columns: dict[str, npt.NDArray[Any]] = {}
    for index, entries in enumerate([] if labels is None else labels.T):
        values, codes = np.unique(entries, return_inverse=True)
        columns[f"label{index or ''}"] = np.array([str(value) for value in values], dtype=object)[codes]
    if attributes is not None:
        columns["attributes"] = attributes
    return columns
