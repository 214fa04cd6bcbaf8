"""Graphs as the search sees them: entries of A by channel, hashed to colors of nodes and labels of pairs.

Two graphs are the same if their tensors A are, up to the order of the nodes: repeated edges are summed, an
undirected edge is an arc each way, what is 0 is not there, and -0.0 is 0.0. Channels are known by their
keys, so it does not matter which reader made a graph, nor which channels other graphs have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from grnf._utils.arrays import offsets, ragged_indices
from grnf._utils.hashing import hash_pairs, mix
from grnf.graphs import ADJACENCY, Codes, GraphBatch
from grnf.typing import BoolArray, FloatArray, IntArray, Keys


@dataclass(frozen=True, eq=False)
class Entries:
    """What stands in rows of A (nodes, or arcs): entries with channel and value, row by row, by key."""

    ptr: IntArray
    keys: Keys
    values: FloatArray
    hashes: Keys
    clear: BoolArray
    """Whether a row has a hash that no other row of other entries has."""


@dataclass(frozen=True, eq=False)
class Stacked:
    """Graphs as arrays of the search (see `refinement`), one after the other.

    `node_ptr` has the nodes of each graph. `ptr` runs over all graphs, `nbr` is in their own numbering.
    """

    node_ptr: IntArray
    ptr: IntArray
    nbr: Any
    label: Keys
    color: Keys

    def graph(self, index: int) -> tuple[Any, Any, Keys, Keys]:
        """Return ptr, nbr, label, color of a graph."""
        start, stop = self.node_ptr[index], self.node_ptr[index + 1]
        ptr = self.ptr[start : stop + 1]
        pairs = slice(ptr[0], ptr[-1])
        return ptr - ptr[0], self.nbr[pairs], self.label[pairs], self.color[start:stop]


@dataclass(frozen=True, eq=False)
class EncodedGraphs:
    """A batch of graphs: hashed for the search, and unchanged.

    An arc is an ordered pair of nodes with an entry in A, self-loops too. `arcs` (n_arcs, 2) are sorted, in
    the graphs' own numbering, and `arc_ptr` has those of each graph. `nodes` and `between` are the entries at
    nodes and arcs. A graph is `clear` if no two of its different rows have one hash.
    """

    stacked: Stacked
    arc_ptr: IntArray
    arcs: IntArray
    nodes: Entries
    between: Entries
    clear: BoolArray

    def form(self, index: int, order: IntArray) -> bytes:
        """Return a graph with its nodes in this order as bytes: equal bytes are equal tensors A."""
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        start, stop = self.arc_ptr[index], self.arc_ptr[index + 1]
        ends = place[self.arcs[start:stop]]
        parts = [np.array([len(order), stop - start]).tobytes()]
        parts += _in_order(self.nodes, self.stacked.node_ptr[index], np.asarray(order))
        ranks = np.lexsort((ends[:, 1], ends[:, 0]))
        return b"".join([*parts, ends[ranks].tobytes(), *_in_order(self.between, start, ranks)])


def encoded(batch: GraphBatch) -> EncodedGraphs:
    """Return graphs as arrays of the search."""
    n_nodes = int(batch.node_ptr[-1])
    nodes = _entries(n_nodes, np.arange(n_nodes), batch.node_attr, batch.node_keys, batch.node_codes, None)
    n_edges = np.diff(batch.edge_ptr)
    first = np.repeat(batch.node_ptr[:-1], n_edges)
    ends = batch.edges + first[:, np.newaxis]
    back = ~np.repeat(batch.directed, n_edges) & (ends[:, 0] != ends[:, 1])
    listed = np.concatenate([np.arange(len(ends)), np.flatnonzero(back)])
    both = np.concatenate([ends, ends[back, ::-1]])
    pairs, row = np.unique(both[:, 0] * n_nodes + both[:, 1], return_inverse=True)
    between = _entries(
        len(pairs), row, batch.edge_attr[listed], batch.edge_keys, batch.edge_codes.take(listed), ADJACENCY
    )
    arcs = np.column_stack([pairs // max(n_nodes, 1), pairs % max(n_nodes, 1)])
    graph = np.repeat(np.arange(len(batch)), batch.sizes)
    loop = arcs[:, 0] == arcs[:, 1]
    at_node = np.zeros(n_nodes, np.uint64)
    at_node[arcs[loop, 0]] = between.hashes[loop]
    color, clear_color = _joined(nodes.hashes, at_node)
    ptr, nbr, label, clear_label = _neighbors(pairs[~loop], between.hashes[~loop], n_nodes)
    clear = np.ones(len(batch), np.bool_)
    owner = np.repeat(np.arange(n_nodes), np.diff(ptr))
    for ok, where in (
        (nodes.clear & clear_color, graph),
        (between.clear, graph[arcs[:, 0]]),
        (clear_label, graph[owner]),
    ):
        clear[where[~ok]] = False
    origin = batch.node_ptr[graph]
    return EncodedGraphs(
        Stacked(batch.node_ptr, ptr, (nbr - origin[owner]).astype(np.int32), label, color),
        offsets(np.bincount(graph[arcs[:, 0]], minlength=len(batch))),
        arcs - origin[arcs[:, :1]],
        nodes,
        between,
        clear,
    )


def _joined(one: Keys, other: Keys) -> tuple[Keys, BoolArray]:
    """Hash pairs of numbers. Tell whether no other pair has the same hash."""
    hashes = hash_pairs(one, other)
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    return hashes, (one == one[first][group]) & (other == other[first][group])


def _neighbors(pairs: IntArray, hashes: Keys, n_nodes: int) -> tuple[IntArray, IntArray, Keys, BoolArray]:
    """Return the pairs that have an arc in either direction, by their first node, with hashes of both."""
    size = max(n_nodes, 1)
    turned = pairs % size * size + pairs // size
    both = np.union1d(pairs, turned)
    there, back = np.zeros(len(both), np.uint64), np.zeros(len(both), np.uint64)
    there[np.searchsorted(both, pairs)] = hashes
    back[np.searchsorted(both, turned)] = hashes
    label, clear = _joined(there, back)
    ptr = offsets(np.bincount(both // size, minlength=n_nodes))
    return ptr, both % size, label, clear & (label != 0)


def _entries(
    count: int, row: IntArray, numbers: FloatArray, number_keys: Keys, codes: Codes, always: int | None
) -> Entries:
    """Sum the channels of all items of a row: numbers, categories (1 each), and one that every item has."""
    item, column = np.nonzero(numbers)
    owner = [row[item]]
    keys = [number_keys[column]]
    values = [numbers[item, column].astype(np.float64)]
    item, column = np.nonzero(codes.values >= 0)
    owner.append(row[item])
    keys.append(codes.keys[codes.values[item, column]])
    values.append(np.ones(len(item)))
    if always is not None:
        owner.append(row)
        keys.append(np.full(len(row), always, np.uint64))
        values.append(np.ones(len(row)))
    return _summed(count, np.concatenate(owner), np.concatenate(keys), np.concatenate(values))


def _summed(count: int, owner: IntArray, keys: Keys, values: FloatArray) -> Entries:
    order = np.lexsort((values, keys, owner))  # by value too: the order of a sum decides its last bit
    owner, keys, values = owner[order], keys[order], values[order]
    new = np.ones(len(owner), np.bool_)
    new[1:] = (owner[1:] != owner[:-1]) | (keys[1:] != keys[:-1])
    starts = np.flatnonzero(new)
    if len(starts) < len(owner):
        with np.errstate(over="ignore"):  # infinite is a value as any other here
            values = np.add.reduceat(values, starts)
        owner, keys = owner[starts], keys[starts]
        kept = values != 0
        owner, keys, values = owner[kept], keys[kept], values[kept]
    each = hash_pairs(keys, values.view(np.uint64))
    running = np.zeros(len(each) + 1, np.uint64)
    np.cumsum(mix(each), out=running[1:])
    ptr = offsets(np.bincount(owner, minlength=count))
    hashes = running[ptr[1:]] - running[ptr[:-1]]  # modulo 2^64
    return Entries(ptr, keys, values, hashes, told_apart(ptr, owner, keys, values, hashes))


def told_apart(
    ptr: IntArray, owner: IntArray, keys: Keys, values: FloatArray | Keys, hashes: Keys
) -> BoolArray:
    """Tell which rows of entries (key, value) equal the first row of the same hash."""
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    like, counts = first[group], np.diff(ptr)
    clear = counts == counts[like]
    mine = np.flatnonzero(clear[owner])
    other = ptr[like][owner[mine]] + mine - ptr[owner[mine]]
    clear[owner[mine[(keys[mine] != keys[other]) | (values[mine] != values[other])]]] = False
    return np.asarray(clear)


def _in_order(entries: Entries, start: int, order: IntArray) -> list[bytes]:
    """Return the entries of the rows start + order as bytes: counts, keys, values."""
    rows = start + order
    index = ragged_indices(entries.ptr, rows)
    counts = np.diff(entries.ptr)[rows]
    return [counts.tobytes(), entries.keys[index].tobytes(), entries.values[index].tobytes()]
