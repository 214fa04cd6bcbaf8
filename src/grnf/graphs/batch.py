"""Many graphs as ragged arrays with offsets: all that the engines see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError
from grnf.graphs.graph import Graph
from grnf.typing import BoolArray, FloatArray, IntArray

__all__ = ["GraphBatch", "ragged_indices"]


@dataclass(frozen=True, eq=False, repr=False)
class GraphBatch:
    """A collection of graphs of one kind (equal widths of attributes), concatenated.

    Parameters
    ----------
    node_ptr, edge_ptr : array of int, shape (n_graphs + 1,)
        Graph g has nodes node_ptr[g] .. node_ptr[g + 1] - 1 and edges edge_ptr[g] .. edge_ptr[g + 1] - 1.
    edges : array of int, shape (n_edges, 2)
        Edges as listed by each graph, in the graph's own numbering of its nodes.
    node_attr : array, shape (n_nodes, node_width)
    edge_attr : array, shape (n_edges, edge_width)
    directed : array of bool, shape (n_graphs,)

    Examples
    --------
    >>> batch = GraphBatch.from_graphs([Graph(2, [(0, 1)]), Graph(3, [])])
    >>> batch, batch[1]
    (GraphBatch(2 graphs, 5 nodes, 1 edges, node_width=0, edge_width=0), \
Graph(n_nodes=3, n_edges=0, node_width=0, edge_width=0, undirected))
    """

    node_ptr: IntArray
    edge_ptr: IntArray
    edges: IntArray
    node_attr: FloatArray
    edge_attr: FloatArray
    directed: BoolArray

    @classmethod
    def from_graphs(
        cls,
        graphs: Sequence[Graph],
        *,
        node_width: int | None = None,
        edge_width: int | None = None,
        caller: str = "X",
    ) -> GraphBatch:
        """Concatenate graphs, checking that their attributes have one width.

        A graph with no nodes (edges) agrees with any width of node (edge) attributes, so that a molecule
        of one atom needs no empty array of bonds.
        """
        node_width = _common_width([(g.node_width, g.n_nodes) for g in graphs], node_width, "node", caller)
        edge_width = _common_width([(g.edge_width, g.n_edges) for g in graphs], edge_width, "edge", caller)
        return cls(
            node_ptr=_offsets([g.n_nodes for g in graphs]),
            edge_ptr=_offsets([g.n_edges for g in graphs]),
            edges=_joined_edges(graphs),
            node_attr=_stacked([g.node_attr for g in graphs], sum(g.n_nodes for g in graphs), node_width),
            edge_attr=_stacked([g.edge_attr for g in graphs], sum(g.n_edges for g in graphs), edge_width),
            directed=np.array([g.directed for g in graphs], dtype=np.bool_),
        )

    @property
    def node_width(self) -> int:
        """Number of node attributes."""
        return int(self.node_attr.shape[1])

    @property
    def edge_width(self) -> int:
        """Number of edge attributes, the adjacency not counted."""
        return int(self.edge_attr.shape[1])

    @property
    def sizes(self) -> IntArray:
        """Number of nodes of each graph."""
        return np.diff(self.node_ptr)

    def require_widths(self, node_width: int | None, edge_width: int | None, caller: str = "X") -> None:
        """Raise a `GraphError` unless the attributes have these widths."""
        for item, found, wanted in (
            ("node", self.node_width, node_width),
            ("edge", self.edge_width, edge_width),
        ):
            if wanted is not None and found != wanted:
                raise GraphError(_width_message(caller, 0, item, found, wanted))

    def take(self, indices: npt.ArrayLike) -> GraphBatch:
        """Return the graphs of these numbers, in that order."""
        index = np.asarray(indices, dtype=np.int64)
        nodes = ragged_indices(self.node_ptr, index)
        edges = ragged_indices(self.edge_ptr, index)
        return GraphBatch(
            node_ptr=_offsets(np.diff(self.node_ptr)[index]),
            edge_ptr=_offsets(np.diff(self.edge_ptr)[index]),
            edges=self.edges[edges],
            node_attr=self.node_attr[nodes],
            edge_attr=self.edge_attr[edges],
            directed=self.directed[index],
        )

    def __len__(self) -> int:
        return len(self.directed)

    def __getitem__(self, index: int) -> Graph:
        if not -len(self) <= index < len(self):
            raise IndexError(f"graph {index} of {len(self)}")
        index %= len(self)
        nodes = slice(self.node_ptr[index], self.node_ptr[index + 1])
        edges = slice(self.edge_ptr[index], self.edge_ptr[index + 1])
        return Graph(
            int(nodes.stop - nodes.start),
            self.edges[edges],
            self.node_attr[nodes] if self.node_width else None,
            self.edge_attr[edges] if self.edge_width else None,
            bool(self.directed[index]),
        )

    def __iter__(self) -> Iterator[Graph]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        return (
            f"GraphBatch({len(self)} graphs, {self.node_ptr[-1]} nodes, {self.edge_ptr[-1]} edges, "
            f"node_width={self.node_width}, edge_width={self.edge_width})"
        )


def _joined_edges(graphs: Sequence[Graph]) -> IntArray:
    edges = np.concatenate([g.edges for g in graphs]) if graphs else np.empty((0, 2), dtype=np.int64)
    return np.ascontiguousarray(edges)  # the loops are compiled for one layout


def _common_width(found: list[tuple[int, int]], wanted: int | None, item: str, caller: str) -> int:
    """Return the width that all graphs have; `found` holds (width, number of items) of each graph."""
    for index, (width, count) in enumerate(found):
        if count == 0 and width == 0:
            continue
        if wanted is None:
            wanted = width
        elif width != wanted:
            raise GraphError(_width_message(caller, index, item, width, wanted))
    return wanted or 0


def _width_message(caller: str, index: int, item: str, found: int, wanted: int) -> str:
    return (
        f"{caller}[{index}].{item}_attr has {found} column{'s' * (found != 1)}; "
        f"{wanted} expected, as in the graphs before it (all graphs need the same attributes)"
    )


def _offsets(counts: Any) -> IntArray:
    ptr = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=ptr[1:])
    return ptr


def _stacked(rows: list[FloatArray | None], count: int, width: int) -> FloatArray:
    if width == 0:
        return np.empty((count, 0))
    return np.concatenate([r for r in rows if r is not None and len(r)] or [np.empty((0, width))])


def ragged_indices(ptr: IntArray, index: IntArray) -> IntArray:
    """Return the positions of the items of the graphs `index`, one after the other."""
    counts = np.diff(ptr)[index]
    starts = np.repeat(ptr[index] - _offsets(counts)[:-1], counts)
    return starts + np.arange(len(starts))
