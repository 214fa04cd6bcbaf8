"""One attributed graph: a frozen, validated record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf._utils.rules import Int, checked
from grnf.errors import GraphError
from grnf.typing import FloatArray, IntArray, Keys

LARGEST_SIZE = 2**31 - 1


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Graph:
    """A graph with n nodes as a tensor A of shape (n, n, F).

    Node attributes are on the diagonal of their channels, edge channels off and on the diagonal of
    theirs. The first edge channel is the adjacency, so that an edge whose attributes are all 0 is still
    an edge. Edge attributes follow.

    Parameters
    ----------
    n_nodes : int
        Number of nodes, 0 or more. Nodes are 0 .. n_nodes - 1.
    edges : array-like of int, shape (n_edges, 2)
        Pairs of nodes. An undirected graph lists each edge once, in either direction. Self-loops are
        allowed. A repeated edge is summed (an edge listed twice has adjacency 2).
    node_attr : array-like, shape (n_nodes, node_width) or (n_nodes,), optional
        Attributes of the nodes, one row per node.
    edge_attr : array-like, shape (n_edges, edge_width) or (n_edges,), optional
        Attributes of the edges, in the order of `edges`.
    directed : bool, default=False
        Whether (i, j) and (j, i) are two different edges.

    Examples
    --------
    >>> triangle = Graph(3, [(0, 1), (1, 2), (2, 0)])
    >>> triangle
    Graph(n_nodes=3, n_edges=3, node_width=0, edge_width=0, undirected)
    >>> triangle.tensor()[:, :, 0]
    array([[0., 1., 1.],
           [1., 0., 1.],
           [1., 1., 0.]])
    """

    n_nodes: int
    edges: IntArray
    node_attr: FloatArray | None
    edge_attr: FloatArray | None
    directed: bool
    node_keys: Keys | None = None
    edge_keys: Keys | None = None

    def __init__(
        self,
        n_nodes: int,
        edges: npt.ArrayLike,
        node_attr: npt.ArrayLike | None = None,
        edge_attr: npt.ArrayLike | None = None,
        directed: bool = False,
    ) -> None:
        size = checked(n_nodes, "n_nodes", Int(), error=GraphError)
        if not 0 <= size <= LARGEST_SIZE:
            raise GraphError(f"n_nodes must lie between 0 and 2**31 - 1, got {size}")
        pairs = _checked_edges(edges, size)
        for name, value in (
            ("n_nodes", size),
            ("edges", pairs),
            ("node_attr", _checked_attributes(node_attr, size, "node_attr", "node")),
            ("edge_attr", _checked_attributes(edge_attr, len(pairs), "edge_attr", "edge")),
            ("directed", bool(directed)),
        ):
            object.__setattr__(self, name, value)

    def _named(self, node_keys: Keys, edge_keys: Keys) -> Graph:
        """Return the graph with keys for its columns, if they have names, see `GraphBatch`."""
        object.__setattr__(self, "node_keys", node_keys)
        object.__setattr__(self, "edge_keys", edge_keys)
        return self

    @property
    def n_edges(self) -> int:
        """Number of edges as listed."""
        return len(self.edges)

    @property
    def node_width(self) -> int:
        """Number of node attributes."""
        return 0 if self.node_attr is None else int(self.node_attr.shape[1])

    @property
    def edge_width(self) -> int:
        """Number of edge attributes, the adjacency not counted."""
        return 0 if self.edge_attr is None else int(self.edge_attr.shape[1])

    def permuted(self, order: npt.ArrayLike) -> Graph:
        """Return the same graph with its nodes in another order: new node i is old node order[i].

        Parameters
        ----------
        order : array-like of int, shape (n_nodes,)
            A permutation of 0 .. n_nodes - 1.

        Returns
        -------
        Graph

        Examples
        --------
        >>> Graph(3, [(0, 1)]).permuted([2, 0, 1]).edges
        array([[1, 2]])
        """
        given = np.asarray(order)
        everyone = np.arange(self.n_nodes)
        if given.shape != (self.n_nodes,) or not np.array_equal(np.sort(given), everyone):
            raise GraphError(f"order must be a permutation of 0 .. {self.n_nodes - 1}, got {given!r}")
        chosen = given.astype(np.int64)
        position = np.empty_like(chosen)
        position[chosen] = everyone
        node_attr = None if self.node_attr is None else self.node_attr[chosen]
        permuted = Graph(self.n_nodes, position[self.edges], node_attr, self.edge_attr, self.directed)
        if self.node_keys is None or self.edge_keys is None:
            return permuted
        return permuted._named(self.node_keys, self.edge_keys)

    def tensor(self, adjacency_channel: bool = True) -> FloatArray:
        """Return the dense tensor A of shape (n, n, F): node attributes, adjacency, edge attributes.

        Parameters
        ----------
        adjacency_channel : bool, default=True
            Keep the adjacency next to edge attributes. False gives the paper's literal tensor: the
            adjacency is used only if there are no edge attributes.

        Returns
        -------
        array, shape (n, n, F)

        Examples
        --------
        >>> Graph(2, [(0, 1)], node_attr=[5.0, 6.0]).tensor()[:, :, 0]  # node attributes on the diagonal
        array([[5., 0.],
               [0., 6.]])
        >>> Graph(2, [(0, 1)], node_attr=[5.0, 6.0]).tensor()[:, :, 1]  # adjacency
        array([[0., 1.],
               [1., 0.]])
        """
        n, width = self.n_nodes, self.node_width
        values: FloatArray = np.ones((self.n_edges, 1))
        if self.edge_attr is not None:
            values = np.hstack([values, self.edge_attr]) if adjacency_channel else self.edge_attr
        A = np.zeros((n, n, width + values.shape[1]))
        if self.node_attr is not None:
            A[np.arange(n), np.arange(n), :width] = self.node_attr
        for (i, j), value in zip(self.edges, values, strict=True):
            A[i, j, width:] += value
            if not self.directed and i != j:
                A[j, i, width:] += value
        return A

    def to_networkx(self) -> Any:
        """Return a networkx graph with the node attribute "x" and the edge attribute "edge_attr".

        Both are lists of numbers. The class is `Graph` or `DiGraph`, or a multigraph if an edge is repeated.

        Returns
        -------
        networkx graph

        Examples
        --------
        >>> Graph(2, [(0, 1)], node_attr=[3.0, 4.0]).to_networkx().nodes(data=True)
        NodeDataView({0: {'x': [3.0]}, 1: {'x': [4.0]}})
        """
        import networkx as nx

        ends = self.edges if self.directed else np.sort(self.edges, axis=1)
        repeated = len(np.unique(ends, axis=0)) < len(ends)
        kinds = (nx.MultiGraph, nx.MultiDiGraph) if repeated else (nx.Graph, nx.DiGraph)
        graph = kinds[self.directed]()
        graph.add_nodes_from(range(self.n_nodes))
        for node, values in enumerate([] if self.node_attr is None else self.node_attr.tolist()):
            graph.nodes[node]["x"] = values
        attributes = [None] * self.n_edges if self.edge_attr is None else self.edge_attr.tolist()
        for (source, target), values in zip(self.edges.tolist(), attributes, strict=True):
            graph.add_edge(source, target, **({} if values is None else {"edge_attr": values}))
        return graph

    def to_pyg(self) -> Any:
        """Return a PyTorch Geometric `Data` with `x`, `edge_index`, `edge_attr` and `num_nodes`.

        An undirected edge becomes two arcs, as PyTorch Geometric stores it, and a self-loop one. Numbers keep
        their double precision. Models usually need ``data.x.float()``.

        Returns
        -------
        torch_geometric.data.Data

        Examples
        --------
        >>> Graph(3, [(0, 1), (1, 2)], node_attr=[3.0, 4.0, 5.0]).to_pyg().edge_index
        tensor([[0, 1, 1, 2],
                [1, 2, 0, 1]])
        """
        import torch
        from torch_geometric.data import Data

        reverse = np.flatnonzero((self.edges[:, 0] != self.edges[:, 1]) & (not self.directed))
        arcs = np.concatenate([self.edges, self.edges[reverse, ::-1]])
        rows = np.concatenate([np.arange(self.n_edges), reverse])
        return Data(
            x=None if self.node_attr is None else torch.tensor(self.node_attr),
            edge_index=torch.tensor(arcs.T.copy()),
            edge_attr=None if self.edge_attr is None else torch.tensor(self.edge_attr[rows]),
            num_nodes=self.n_nodes,
        )

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        return (
            f"Graph(n_nodes={self.n_nodes}, n_edges={self.n_edges}, "
            f"node_width={self.node_width}, edge_width={self.edge_width}, {kind})"
        )


def null_graph(node_width: int = 0, edge_width: int = 0) -> Graph:
    """Return 0_g, the graph with one node and a tensor of zeros, at which the kernel is centered.

    Parameters
    ----------
    node_width, edge_width : int, default=0
        Numbers of node and edge attributes.

    Returns
    -------
    Graph

    Examples
    --------
    >>> null_graph(node_width=2).node_attr
    array([[0., 0.]])
    """
    return Graph(1, np.empty((0, 2), dtype=np.int64), np.zeros((1, node_width)), np.zeros((0, edge_width)))


def _checked_edges(edges: Any, n_nodes: int) -> IntArray:
    try:
        array = np.asarray(edges)
    except ValueError:
        raise GraphError("edges must be pairs of integers, all of length 2") from None
    if array.size == 0:
        array = np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        hint = "; transpose it, one row per edge" if array.ndim == 2 and array.shape[0] == 2 else ""
        raise GraphError(f"edges must have shape (n_edges, 2), got {array.shape}{hint}")
    if array.dtype.kind not in "iu":
        raise GraphError(
            f"edges must be integers, the numbers 0 .. n_nodes - 1 of the nodes, got dtype {array.dtype}"
        )
    outside = (array < 0) | (array >= n_nodes)
    if outside.any():
        row = int(np.flatnonzero(outside.any(axis=1))[0])
        raise GraphError(
            f"edges[{row}] = ({array[row, 0]}, {array[row, 1]}) names a node outside 0 .. {n_nodes - 1} "
            f"(n_nodes = {n_nodes})"
        )
    array = array.astype(np.int64)
    array.setflags(write=False)
    return array


def _checked_attributes(values: Any, count: int, field: str, item: str) -> FloatArray | None:
    if values is None:
        return None
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biuf":
            raise TypeError
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise GraphError(
            f"{field} must hold real numbers in rows of equal length. Encode categories as one-hot columns"
        ) from None
    if array.ndim == 1 and len(array) == count:
        array = array[:, np.newaxis]
    if array.ndim != 2 or len(array) != count:
        raise GraphError(
            f"{field} must have one row per {item}, shape ({count}, width), got shape {array.shape}"
        )
    bad = ~np.isfinite(array)
    if bad.any():
        row, column = (int(index[0]) for index in np.nonzero(bad))
        raise GraphError(
            f"{field}[{row}, {column}] must be finite, got {array[row, column]}",
            cure="Drop or impute missing values first",
        )
    array.setflags(write=False)
    return array
