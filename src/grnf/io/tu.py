"""TU benchmark sets: a folder or zip with DS_A.txt, DS_graph_indicator.txt and optional attribute files.

Nodes are numbered from 1 over all graphs. Undirected graphs list every edge in both directions; a repeated
line is the same edge, so repeats are dropped, not summed.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from grnf.errors import GraphError
from grnf.graphs import GraphBatch
from grnf.typing import FloatArray, IntArray

__all__ = ["TUData", "read_tu"]

LARGEST_MEMBER = 2**32
"""Unpacked bytes that one file of an archive may have."""


class TUData(NamedTuple):
    """Graphs, their classes (or regression targets), and what the columns of the attributes are."""

    graphs: GraphBatch
    y: Any
    node_columns: list[str]
    edge_columns: list[str]


def read_tu(path: str | os.PathLike[str], *, node_attributes: bool = True) -> TUData:
    """Read a TU data set from a zip file or a folder.

    Node labels become one-hot columns (one per label that occurs, ascending), followed by the node
    attributes; likewise for edges.

    Parameters
    ----------
    path : path to a .zip file or a folder
    node_attributes : bool, default=True
        Whether to keep continuous node attributes beside the labels.
    """
    source = _Source(Path(path))
    owner = source.integers("graph_indicator").ravel()
    n_nodes = len(owner)
    if n_nodes and (owner.min() < 1 or (np.diff(owner) < 0).any()):
        raise GraphError(f"{source.path}: graph_indicator must ascend from 1")
    y = source.graph_targets()
    n_graphs = max(int(owner[-1]) if n_nodes else 0, 0 if y is None else len(y))
    if y is not None and len(y) != n_graphs:
        raise GraphError(f"{source.path}: {len(y)} graph labels for {n_graphs} graphs")
    arcs = source.integers("A", columns=2) - 1
    _check_arcs(arcs, owner, source)
    node_attr, node_columns = source.attributes("node", n_nodes, continuous=node_attributes)
    edge_attr, edge_columns = source.attributes("edge", len(arcs))
    arcs, edge_attr = _without_repeats(arcs, edge_attr, n_nodes)
    arcs, edge_attr, directed = _undirected_once(arcs, edge_attr, n_nodes)
    graph_of = owner[arcs[:, 0]] - 1 if len(arcs) else np.empty(0, dtype=np.int64)
    node_ptr = np.searchsorted(owner, np.arange(1, n_graphs + 2)).astype(np.int64)
    edge_ptr = np.searchsorted(graph_of, np.arange(n_graphs + 1)).astype(np.int64)
    batch = GraphBatch(
        node_ptr=node_ptr,
        edge_ptr=edge_ptr,
        edges=arcs - node_ptr[graph_of][:, np.newaxis],
        node_attr=node_attr,
        edge_attr=edge_attr,
        directed=np.full(n_graphs, directed),
    )
    return TUData(batch, y, node_columns, edge_columns)


def _check_arcs(arcs: IntArray, owner: IntArray, source: _Source) -> None:
    outside = (arcs < 0) | (arcs >= len(owner))
    if outside.any():
        line = int(np.flatnonzero(outside.any(axis=1))[0])
        raise GraphError(f"{source.name('A')}, line {line + 1}: no such node ({len(owner)} nodes)")
    if len(arcs):
        crossing = owner[arcs[:, 0]] != owner[arcs[:, 1]]
        if crossing.any():
            line = int(np.flatnonzero(crossing)[0])
            raise GraphError(f"{source.name('A')}, line {line + 1}: an edge between two graphs")


def _without_repeats(arcs: IntArray, edge_attr: FloatArray, n_nodes: int) -> tuple[IntArray, FloatArray]:
    """Sort arcs and keep the first of each."""
    _, first = np.unique(arcs[:, 0] * n_nodes + arcs[:, 1], return_index=True)
    return arcs[first], edge_attr[first]


def _undirected_once(
    arcs: IntArray, edge_attr: FloatArray, n_nodes: int
) -> tuple[IntArray, FloatArray, bool]:
    """If every arc has its reverse with equal attributes, keep one of each pair and call it undirected."""
    back = np.argsort(arcs[:, 1] * n_nodes + arcs[:, 0], kind="stable")
    symmetric = np.array_equal(arcs[back][:, ::-1], arcs) and np.array_equal(edge_attr[back], edge_attr)
    if not symmetric:
        return arcs, edge_attr, True
    keep = arcs[:, 0] <= arcs[:, 1]
    return arcs[keep], edge_attr[keep], False


class _Source:
    """The files of one data set, in a folder or in a zip, found by the end of their names."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: Callable[[str], bytes]
        if path.is_dir():
            self.members = {file.name: str(file) for file in sorted(path.iterdir())}
            self._read = lambda member: Path(member).read_bytes()
        elif zipfile.is_zipfile(path):
            self.archive = zipfile.ZipFile(path)
            self.members = {PurePosixPath(name).name: name for name in self.archive.namelist()}
            self._read = self._read_member
        elif path.exists():
            raise GraphError(f"{path} is neither a folder nor a zip file")
        else:
            raise GraphError(f"{path} does not exist")
        names = [name for name in self.members if name.endswith("_graph_indicator.txt")]
        if len(names) != 1:
            raise GraphError(
                f"{path} is no TU data set: one file NAME_graph_indicator.txt is wanted, found {len(names)}"
            )
        self.prefix = names[0].removesuffix("graph_indicator.txt")

    def name(self, suffix: str) -> str:
        return f"{self.path}: {self.prefix}{suffix}.txt"

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
            return self.reals("graph_attributes").squeeze(axis=1)
        return None

    def attributes(self, item: str, count: int, continuous: bool = True) -> tuple[FloatArray, list[str]]:
        """Return one-hot labels and attributes of nodes or edges, and the names of the columns."""
        parts: list[FloatArray] = []
        names: list[str] = []
        if self.has(f"{item}_labels"):
            labels = self.integers(f"{item}_labels")
            for column in range(labels.shape[1]):
                values = np.unique(labels[:, column])
                parts.append((labels[:, [column]] == values).astype(np.float64))
                names += [f"label{column or ''}={value}" for value in values]
        if continuous and self.has(f"{item}_attributes"):
            parts.append(self.reals(f"{item}_attributes"))
            names += [f"attribute{column}" for column in range(parts[-1].shape[1])]
        for part in parts:
            if len(part) != count:
                raise GraphError(f"{self.path}: {len(part)} lines of {item} attributes for {count} {item}s")
        return np.hstack([np.empty((count, 0)), *parts]), names

    def _table(self, suffix: str, dtype: Any, columns: int | None) -> Any:
        member = self.members.get(f"{self.prefix}{suffix}.txt")
        if member is None:
            raise GraphError(f"{self.name(suffix)} is missing")
        text = self._read(member)
        try:
            table = (
                np.loadtxt(io.BytesIO(text), delimiter=",", dtype=dtype, ndmin=2) if text.strip() else None
            )
        except ValueError as error:
            raise GraphError(f"{self.name(suffix)}: {error}") from None
        if table is None:
            return np.empty((0, columns or 1), dtype=dtype)
        if columns is not None and table.shape[1] != columns:
            raise GraphError(f"{self.name(suffix)}: {columns} columns expected, {table.shape[1]} found")
        return table

    def _read_member(self, member: str) -> bytes:
        if self.archive.getinfo(member).file_size > LARGEST_MEMBER:
            raise GraphError(f"{self.path}: {member} unpacks to more than {LARGEST_MEMBER} bytes")
        try:
            return self.archive.read(member)
        except (zipfile.BadZipFile, EOFError, OSError) as error:
            raise GraphError(f"{self.path}: {member}: {error}") from None
