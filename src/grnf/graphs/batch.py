"""Many attributed graphs as ragged arrays with offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from grnf._utils.arrays import offsets, positions_of, ragged_indices
from grnf._utils.words import counted
from grnf.errors import GraphError, invalid
from grnf.graphs.channels import ADJACENCY, Item, number_keys
from grnf.graphs.graph import Graph
from grnf.typing import BoolArray, FloatArray, IntArray, Keys


class Codes(NamedTuple):
    """Categories of nodes or edges: rows of numbers of keys, one column for each column of categories."""

    values: IntArray
    """The place of each category in `keys`, -1 if there is none, shape (n_items, n_columns)."""
    keys: Keys
    """One channel each, ascending. Keys that no item has may be among them."""

    @classmethod
    def none(cls, count: int) -> Codes:
        """Return the categories of `count` items without any column."""
        return cls(np.empty((count, 0), np.int64), np.empty(0, np.uint64))

    def take(self, rows: Any) -> Codes:
        """Return those of some items."""
        return Codes(self.values[rows], self.keys)

    def used(self) -> Codes:
        """Return the same without keys that no item has."""
        present = np.zeros(len(self.keys) + 1, np.bool_)
        present[self.values] = True  # -1 is the last place
        present[-1] = False
        places = np.cumsum(present) - 1
        places[-1] = -1
        return Codes(places[self.values], self.keys[present[:-1]])

    def among(self, keys: Keys) -> Codes:
        """Return the same with other keys, which must be ascending and hold all of these."""
        if len(keys) == len(self.keys):
            return self
        places = np.append(np.searchsorted(keys, self.keys), -1)
        return Codes(places[self.values], keys)


class ChannelKeys(NamedTuple):
    """The channels of A: those of nodes (numbers, then categories), those of edges (adjacency first)."""

    node: Keys
    edge: Keys

    @property
    def all(self) -> Keys:
        """All of them, in the order of the tensor."""
        return np.concatenate([self.node, self.edge])

    def __len__(self) -> int:  # the number of channels, not of fields
        return len(self.node) + len(self.edge)


@dataclass(frozen=True, eq=False, repr=False)
class GraphBatch:
    """A collection of graphs with equal widths of attributes, concatenated.

    Parameters
    ----------
    node_ptr, edge_ptr : array of int, shape (n_graphs + 1,)
        Graph g has nodes node_ptr[g] .. node_ptr[g + 1] - 1 and edges edge_ptr[g] .. edge_ptr[g + 1] - 1.
    edges : array of int, shape (n_edges, 2)
        Edges as listed by each graph, in the graph's own numbering of its nodes.
    node_attr : array, shape (n_nodes, node_width)
    edge_attr : array, shape (n_edges, edge_width)
    directed : array of bool, shape (n_graphs,)
    node_keys, edge_keys : array of uint64, optional
        What the columns of the attributes are, see `grnf.graphs.channels`, by default numbers without a name.
    node_codes, edge_codes : Codes, optional
        Categories in addition to the numbers: each is a channel of its own, 1 for its items.

    Examples
    --------
    >>> batch = GraphBatch.from_graphs([Graph(2, [(0, 1)]), Graph(3, [])])
    >>> batch
    GraphBatch(2 graphs, 5 nodes, 1 edges, node_width=0, edge_width=0)
    >>> batch[1]
    Graph(n_nodes=3, n_edges=0, node_width=0, edge_width=0, undirected)
    >>> batch.take([True, False]), batch.sizes
    (GraphBatch(1 graphs, 2 nodes, 1 edges, node_width=0, edge_width=0), array([2, 3]))
    >>> len(batch.channels()), batch.null().sizes
    (1, array([1]))
    >>> batch.with_used_codes().with_codes_among([], []).sizes  # no categories to remove or add
    array([2, 3])
    """

    node_ptr: IntArray
    edge_ptr: IntArray
    edges: IntArray
    node_attr: FloatArray
    edge_attr: FloatArray
    directed: BoolArray
    node_keys: Keys = None  # type: ignore[assignment]
    edge_keys: Keys = None  # type: ignore[assignment]
    node_codes: Codes = None  # type: ignore[assignment]
    edge_codes: Codes = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        items: tuple[tuple[Item, FloatArray], ...] = (("node", self.node_attr), ("edge", self.edge_attr))
        for item, values in items:
            if getattr(self, f"{item}_keys") is None:
                object.__setattr__(self, f"{item}_keys", number_keys(item, values.shape[1]))
            if getattr(self, f"{item}_codes") is None:
                object.__setattr__(self, f"{item}_codes", Codes.none(len(values)))
            keys, codes = getattr(self, f"{item}_keys"), getattr(self, f"{item}_codes")
            if len(keys) != values.shape[1] or len(codes.values) != len(values):
                found = f"{len(keys)} keys and {len(codes.values)} rows of codes"
                raise invalid(f"{item}_attr", f"match its keys and codes in shape {values.shape}", found)

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
        with a single atom needs no empty array of bonds.

        Parameters
        ----------
        graphs : sequence of Graph
        node_width, edge_width : int, optional
            Numbers of attributes that graphs must have. By default those of the first graph that has some.
        caller : str, default="X"
            Name of the argument, for messages.

        Returns
        -------
        GraphBatch
        """
        node_rows = [(g.node_attr, g.node_keys, g.n_nodes) for g in graphs]
        edge_rows = [(g.edge_attr, g.edge_keys, g.n_edges) for g in graphs]
        node_attr, node_keys = _joined_attributes(node_rows, "node", node_width, caller)
        edge_attr, edge_keys = _joined_attributes(edge_rows, "edge", edge_width, caller)
        edges = np.concatenate([g.edges for g in graphs]) if graphs else np.empty((0, 2), dtype=np.int64)
        return cls(
            node_ptr=offsets([g.n_nodes for g in graphs]),
            edge_ptr=offsets([g.n_edges for g in graphs]),
            edges=np.ascontiguousarray(edges),  # kernels are compiled for one layout
            node_attr=node_attr,
            edge_attr=edge_attr,
            directed=np.array([g.directed for g in graphs], dtype=np.bool_),
            node_keys=node_keys,
            edge_keys=edge_keys,
        )

    @property
    def node_width(self) -> int:
        """Number of node attributes."""
        return int(self.node_attr.shape[1])

    @property
    def edge_width(self) -> int:
        """Number of edge attributes, the adjacency not counted."""
        return int(self.edge_attr.shape[1])

    def channels(self, adjacency_channel: bool = True) -> ChannelKeys:
        """Return the channels of the tensors: numbers, then categories, of edges the adjacency first.

        Parameters
        ----------
        adjacency_channel : bool, default=True
            As in `GRNF`.

        Returns
        -------
        ChannelKeys
        """
        width = self.edge_width + self.edge_codes.values.shape[1]
        adjacency = [ADJACENCY] if edge_channels(width, adjacency_channel) > width else []
        return ChannelKeys(
            np.concatenate([self.node_keys, self.node_codes.keys]),
            np.concatenate([np.array(adjacency, np.uint64), self.edge_keys, self.edge_codes.keys]),
        )

    @property
    def sizes(self) -> IntArray:
        """Number of nodes of each graph."""
        return np.diff(self.node_ptr)

    def take(self, indices: npt.ArrayLike) -> GraphBatch:
        """Return the graphs of these numbers, in that order, or those where a mask is true.

        Parameters
        ----------
        indices : array-like of int or bool

        Returns
        -------
        GraphBatch
        """
        index = positions_of(indices, len(self))
        nodes = ragged_indices(self.node_ptr, index)
        edges = ragged_indices(self.edge_ptr, index)
        return GraphBatch(
            node_ptr=offsets(np.diff(self.node_ptr)[index]),
            edge_ptr=offsets(np.diff(self.edge_ptr)[index]),
            edges=self.edges[edges],
            node_attr=self.node_attr[nodes],
            edge_attr=self.edge_attr[edges],
            directed=self.directed[index],
            node_keys=self.node_keys,
            edge_keys=self.edge_keys,
            node_codes=self.node_codes.take(nodes),
            edge_codes=self.edge_codes.take(edges),
        )

    def with_used_codes(self) -> GraphBatch:
        """Return the same graphs without the channels of categories that none of them has.

        Returns
        -------
        GraphBatch
        """
        return replace(self, node_codes=self.node_codes.used(), edge_codes=self.edge_codes.used())

    def with_codes_among(self, node_keys: Keys, edge_keys: Keys) -> GraphBatch:
        """Return the same graphs with these channels of categories in addition to their own.

        Parameters
        ----------
        node_keys, edge_keys : array of uint64
            Keys of channels, as in `channels`.

        Returns
        -------
        GraphBatch
        """
        node_codes, edge_codes = self.node_codes, self.edge_codes
        if node_codes.values.shape[1]:
            node_codes = node_codes.among(np.union1d(node_codes.keys, node_keys))
        if edge_codes.values.shape[1]:
            edge_codes = edge_codes.among(np.union1d(edge_codes.keys, edge_keys))
        return replace(self, node_codes=node_codes, edge_codes=edge_codes)

    def null(self) -> GraphBatch:
        """Return 0_g, the graph with one node and a tensor of zeros, with the channels of these graphs.

        Returns
        -------
        GraphBatch
        """
        return replace(
            self,
            node_ptr=np.array([0, 1]),
            edge_ptr=np.array([0, 0]),
            edges=np.empty((0, 2), np.int64),
            node_attr=np.zeros((1, self.node_width)),
            edge_attr=np.empty((0, self.edge_width)),
            directed=np.zeros(1, np.bool_),
            node_codes=Codes(np.full((1, self.node_codes.values.shape[1]), -1), self.node_codes.keys),
            edge_codes=self.edge_codes.take(slice(0, 0)),
        )

    def __len__(self) -> int:
        return len(self.directed)

    @overload
    def __getitem__(self, index: int | np.integer[Any]) -> Graph: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | IntArray | BoolArray) -> GraphBatch: ...

    def __getitem__(self, index: Any) -> Graph | GraphBatch:
        if not isinstance(index, int | np.integer):
            return self.take(np.arange(len(self))[index] if isinstance(index, slice) else index)
        index = int(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"graph {index} of {len(self)}")
        index %= len(self)
        nodes = slice(self.node_ptr[index], self.node_ptr[index + 1])
        edges = slice(self.edge_ptr[index], self.edge_ptr[index + 1])
        node_attr, node_keys = _dense(self.node_attr[nodes], self.node_keys, self.node_codes.take(nodes))
        edge_attr, edge_keys = _dense(self.edge_attr[edges], self.edge_keys, self.edge_codes.take(edges))
        graph = Graph(
            int(nodes.stop - nodes.start),
            self.edges[edges],
            node_attr if len(node_keys) else None,
            edge_attr if len(edge_keys) else None,
            bool(self.directed[index]),
        )
        unnamed = number_keys("node", self.node_width), number_keys("edge", self.edge_width)
        if np.array_equal(node_keys, unnamed[0]) and np.array_equal(edge_keys, unnamed[1]):
            return graph
        return graph._named(node_keys, edge_keys)

    def __iter__(self) -> Iterator[Graph]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        return (
            f"GraphBatch({len(self)} graphs, {self.node_ptr[-1]} nodes, {self.edge_ptr[-1]} edges, "
            f"node_width={self.node_width}, edge_width={self.edge_width})"
        )


def edge_channels(edge_width: int, adjacency_channel: bool = True) -> int:
    """Return the number of edge channels of A: edge attributes, and the adjacency if it is kept."""
    return edge_width + 1 if adjacency_channel or edge_width == 0 else edge_width


def _dense(values: FloatArray, keys: Keys, codes: Codes) -> tuple[FloatArray, Keys]:
    """Return numbers and the categories that occur side by side, and what the columns are."""
    codes = codes.used()
    if not len(codes.keys):
        return values, keys
    rows, columns = np.nonzero(codes.values >= 0)
    one_hot = np.zeros((len(values), len(codes.keys)))
    one_hot[rows, codes.values[rows, columns]] = 1.0
    return np.hstack([values, one_hot]), np.concatenate([keys, codes.keys])


def _joined_attributes(
    rows: list[tuple[FloatArray | None, Keys | None, int]], item: Item, width: int | None, caller: str
) -> tuple[FloatArray, Keys]:
    """Join attributes, given with keys and number of items of each graph, and return what the columns are.

    If any graph has keys, there is a column for each channel that any of them has.
    """
    widths = [0 if values is None else int(values.shape[1]) for values, _, _ in rows]
    if all(keys is None for _, keys, _ in rows):
        counts = [count for _, _, count in rows]
        width = _common_width(list(zip(widths, counts, strict=True)), width, item, caller)
        filled = [values for values, _, count in rows if values is not None and count and width]
        return np.concatenate(filled or [np.empty((sum(counts), width))]), number_keys(item, width)
    given = [
        number_keys(item, own) if keys is None else keys
        for own, (_, keys, _) in zip(widths, rows, strict=True)
    ]
    places = {key: place for place, key in enumerate(dict.fromkeys(np.concatenate(given).tolist()))}
    _common_width([(len(places), count) for _, _, count in rows], width, item, caller)
    parts = [np.zeros((count, len(places))) for _, _, count in rows]
    for part, own, (values, _, _) in zip(parts, given, rows, strict=True):
        if values is not None:
            part[:, [places[key] for key in own.tolist()]] = values
    return np.concatenate(parts), np.array(list(places), np.uint64)


def _common_width(widths: list[tuple[int, int]], expected: int | None, item: str, caller: str) -> int:
    """Return the width that all graphs have. `widths` holds (width, number of items) of each graph."""
    for index, (width, count) in enumerate(widths):
        if count == 0 and width == 0:
            continue
        if expected is None:
            expected = width
        elif width != expected:
            columns = counted(expected, "columns")
            raise GraphError(
                f"{item}_attr must have {columns}, as in the graphs before it, got {width}",
                index=index,
                where=caller,
                cure="Give all graphs the same attributes",
            )
    return expected or 0


def check_graphs(
    X: Any, *, node_width: int | None = None, edge_width: int | None = None, caller: str = "X"
) -> GraphBatch:
    """Return a collection of graphs as one `GraphBatch`, or raise an error that names the wrong graph.

    Parameters
    ----------
    X : GraphBatch or iterable of Graph
        The graphs, at least one.
    node_width, edge_width : int, optional
        The widths of the attributes that every graph must have. By default those of the first graph
        that has nodes (edges).
    caller : str
        Name of the argument, for messages.

    Returns
    -------
    GraphBatch

    Raises
    ------
    GraphError
        If an entry is not a `Graph`, or has attributes of another width. It has the number of the graph.

    Examples
    --------
    >>> check_graphs([Graph(2, [(0, 1)]), Graph(0, [])])
    GraphBatch(2 graphs, 2 nodes, 1 edges, node_width=0, edge_width=0)
    """
    if isinstance(X, GraphBatch):
        graphs: list[Graph] | GraphBatch = X
    elif isinstance(X, Graph):
        raise GraphError(f"{caller} must be a collection of graphs, got one Graph: pass [graph]")
    elif isinstance(X, (str, bytes, dict)) or not isinstance(X, Iterable):
        raise GraphError(f"{caller} must be a list of grnf.Graph, got {type(X).__name__}")
    else:
        graphs = list(X)
        for index, graph in enumerate(graphs):
            if not isinstance(graph, Graph):
                raise GraphError(
                    f"must be a grnf.Graph, got {type(graph).__name__}", index=index, where=caller
                )
    if len(graphs) == 0:
        raise GraphError(f"{caller} is empty: it must contain at least one graph")
    if isinstance(graphs, GraphBatch):
        _common_width([(graphs.node_width, 1)], node_width, "node", caller)
        _common_width([(graphs.edge_width, 1)], edge_width, "edge", caller)
        return graphs
    return GraphBatch.from_graphs(graphs, node_width=node_width, edge_width=edge_width, caller=caller)
