"""TU benchmark sets: a folder or zip with DS_A.txt, DS_graph_indicator.txt and optional attribute files.

Nodes are numbered from 1 over all graphs. Undirected graphs list every edge in both directions; a repeated
line is the same edge, so repeats are dropped, not summed.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError
from grnf.graphs import GraphBatch
from grnf.io.columns import undirected_once
from grnf.io.files.archives import open_archive, read_member
from grnf.io.files.limits import LARGEST_MEMBER, MOST_EMPTY_GRAPHS
from grnf.io.files.records import OnError, each_record
from grnf.io.files.streams import Source
from grnf.io.raw import BadGraph, RawGraph, checked_raw
from grnf.typing import FloatArray, IntArray

__all__ = ["TUData", "is_tu_folder", "read_tu", "read_tu_graphs"]

INDICATOR = "_graph_indicator.txt"


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
    data = _load(Source(path))
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
    """Yield the graphs of a TU set: labels as categories (texts), attributes as one column of vectors."""
    data = _load(source)
    node_columns = _columns(data.node_labels, data.node_attributes)
    edge_columns = _columns(data.edge_labels, data.edge_attributes)

    def build(index: int) -> RawGraph:
        nodes = slice(data.node_ptr[index], data.node_ptr[index + 1])
        edges = slice(data.edge_ptr[index], data.edge_ptr[index + 1])
        return checked_raw(
            int(nodes.stop - nodes.start),
            data.edges[edges],
            {name: values[nodes] for name, values in node_columns.items()},
            {name: values[edges] for name, values in edge_columns.items()},
            data.directed,
            str(index + 1),
            None if data.y is None else data.y[index].tolist(),
        )

    numbers = range(len(data.node_ptr) - 1)
    records = ((f"{source}, graph {index + 1}", str(index + 1), index) for index in numbers)
    yield from each_record(records, build, on_error)


def is_tu_folder(path: Path) -> bool:
    """Tell whether a folder holds a TU set."""
    return any(file.name.endswith(INDICATOR) for file in path.iterdir())


@dataclass(frozen=True)
class _Set:
    """The tables of a set: edges without repeats, numbered within their graphs, and where graphs begin."""

    node_ptr: IntArray
    edge_ptr: IntArray
    edges: IntArray
    directed: bool
    y: Any
    node_labels: IntArray | None
    node_attributes: FloatArray | None
    edge_labels: IntArray | None
    edge_attributes: FloatArray | None


def _load(source: Source) -> _Set:
    with _open(source) as files:
        owner = files.integers("graph_indicator").ravel()
        n_nodes = len(owner)
        if n_nodes and (owner.min() < 1 or (np.diff(owner) < 0).any()):
            raise GraphError(f"{source}: graph_indicator must ascend from 1")
        y = files.graph_targets()
        n_graphs = _number_of_graphs(owner, y, source)
        arcs = files.integers("A", columns=2) - 1
        _check_arcs(arcs, owner, files)
        node_tables = files.attributes("node", n_nodes)
        edge_labels, edge_attributes = files.attributes("edge", len(arcs))
    keep, directed = _edges_once(arcs, edge_labels, edge_attributes, n_nodes)
    arcs = arcs[keep]
    graph_of = owner[arcs[:, 0]] - 1
    node_ptr = np.searchsorted(owner, np.arange(1, n_graphs + 2)).astype(np.int64)
    return _Set(
        node_ptr=node_ptr,
        edge_ptr=np.searchsorted(graph_of, np.arange(n_graphs + 1)).astype(np.int64),
        edges=arcs - node_ptr[graph_of][:, np.newaxis],
        directed=directed,
        y=y,
        node_labels=node_tables[0],
        node_attributes=node_tables[1],
        edge_labels=None if edge_labels is None else edge_labels[keep],
        edge_attributes=None if edge_attributes is None else edge_attributes[keep],
    )


def _number_of_graphs(owner: IntArray, y: Any, source: Source) -> int:
    n_graphs = max(int(owner[-1]) if len(owner) else 0, 0 if y is None else len(y))
    if y is not None and len(y) != n_graphs:
        raise GraphError(f"{source}: {len(y)} graph labels for {n_graphs} graphs")
    if n_graphs > len(owner) + MOST_EMPTY_GRAPHS:
        raise GraphError(
            f"{source}: graph number {n_graphs} with {len(owner)} nodes in all; number graphs from 1"
        )
    return n_graphs


def _check_arcs(arcs: IntArray, owner: IntArray, files: _Files) -> None:
    outside = (arcs < 0) | (arcs >= len(owner))
    if outside.any():
        line = int(np.flatnonzero(outside.any(axis=1))[0])
        raise GraphError(f"{files.name('A')}, line {line + 1}: no such node ({len(owner)} nodes)")
    crossing = owner[arcs[:, 0]] != owner[arcs[:, 1]]
    if crossing.any():
        line = int(np.flatnonzero(crossing)[0])
        raise GraphError(f"{files.name('A')}, line {line + 1}: an edge between two graphs")


def _edges_once(
    arcs: IntArray, labels: IntArray | None, attributes: FloatArray | None, n_nodes: int
) -> tuple[IntArray, bool]:
    """Return which lines to keep, sorted by arc and without repeats, and whether they are directed."""
    _, first = np.unique(arcs[:, 0] * n_nodes + arcs[:, 1], return_index=True)
    parts = [part.astype(np.float64) for part in (labels, attributes) if part is not None]
    values = np.hstack([np.empty((len(arcs), 0)), *parts])
    one_of_two = undirected_once(arcs[first], values[first])
    return (first, True) if one_of_two is None else (first[one_of_two], False)


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


@contextmanager
def _open(source: Source) -> Iterator[_Files]:
    if source.is_folder:
        yield _Files(source, {file.name: str(file) for file in sorted(source.path.iterdir())}, None)
        return
    if not source.is_stdin and not source.path.exists():
        raise GraphError(f"{source} does not exist")
    with source.open_seekable() as file:
        if not zipfile.is_zipfile(file):
            raise GraphError(f"{source} is neither a folder nor a zip file")
        with open_archive(file, str(source)) as archive:
            yield _Files(source, {PurePosixPath(name).name: name for name in archive.namelist()}, archive)


class _Files:
    """The files of one data set, in a folder or in a zip, found by the end of their names."""

    def __init__(self, source: Source, members: dict[str, str], archive: zipfile.ZipFile | None) -> None:
        self.source = source
        self.members = members
        self.archive = archive
        names = [name for name in members if name.endswith(INDICATOR)]
        if len(names) != 1:
            raise GraphError(
                f"{source} is no TU data set: one file NAME_graph_indicator.txt is wanted, found {len(names)}"
            )
        self.prefix = names[0].removesuffix("graph_indicator.txt")

    def name(self, suffix: str) -> str:
        return f"{self.source}: {self.prefix}{suffix}.txt"

    def has(self, suffix: str) -> bool:
        return f"{self.prefix}{suffix}.txt" in self.members

    def integers(self, suffix: str, columns: int | None = None) -> IntArray:
        return np.asarray(self._table(suffix, np.int64, columns))

    def reals(self, suffix: str) -> FloatArray:
        return np.asarray(self._table(suffix, np.float64, None))

    def graph_targets(self) -> Any:
        if self.has("graph_labels"):
            return self.integers("graph_labels").ravel()
        if self.has("graph_attributes"):
            targets = self.reals("graph_attributes")
            return targets[:, 0] if targets.shape[1] == 1 else targets
        return None

    def attributes(self, item: str, count: int) -> tuple[IntArray | None, FloatArray | None]:
        """Return labels and attributes of nodes or edges."""
        labels = self.integers(f"{item}_labels") if self.has(f"{item}_labels") else None
        attributes = self.reals(f"{item}_attributes") if self.has(f"{item}_attributes") else None
        for part in (labels, attributes):
            if part is not None and len(part) != count:
                raise GraphError(f"{self.source}: {len(part)} lines of {item} attributes for {count} {item}s")
        return labels, attributes

    def _table(self, suffix: str, dtype: Any, columns: int | None) -> Any:
        member = self.members.get(f"{self.prefix}{suffix}.txt")
        if member is None:
            raise GraphError(f"{self.name(suffix)} is missing")
        text = self._read(member)
        if not text.strip():
            return np.empty((0, columns or 1), dtype=dtype)
        try:
            table = np.loadtxt(io.BytesIO(text), delimiter=",", dtype=dtype, ndmin=2, comments=None)
        except (ValueError, OverflowError) as error:
            raise GraphError(f"{self.name(suffix)}: {error}") from None
        if columns is not None and table.shape[1] != columns:
            raise GraphError(f"{self.name(suffix)}: {columns} columns expected, {table.shape[1]} found")
        return table

    def _read(self, member: str) -> bytes:
        if self.archive is not None:
            return read_member(self.archive, member, str(self.source))
        file = Path(member)
        if file.stat().st_size > LARGEST_MEMBER:
            raise GraphError(f"{file} has more than {LARGEST_MEMBER} bytes")
        return file.read_bytes()
