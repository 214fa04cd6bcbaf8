"""Arcs in both directions as edges: where each has its reverse, in every usual order."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grnf.engine.arcs import without_reverses


def kept_once(n_nodes, arcs, values=None):
    """Edges of each graph, which arcs they are, and whether it stays directed; arcs: one array per graph."""
    node_ptr = np.concatenate([[0], np.cumsum(n_nodes)])
    arc_ptr = np.concatenate([[0], np.cumsum([len(some) for some in arcs])])
    ends = np.concatenate([some + first for some, first in zip(arcs, node_ptr, strict=False)])
    tails, heads = np.ascontiguousarray(ends.T)
    values = np.empty((len(ends), 0)) if values is None else values
    edge_ptr, edges = np.zeros(len(arcs) + 1, np.int64), np.empty((len(ends), 2), np.int64)
    kept, directed = np.empty(len(ends), np.int64), np.zeros(len(arcs), np.bool_)
    without_reverses(node_ptr, arc_ptr, tails, heads, values, edge_ptr, edges, kept, directed)
    cuts = [slice(*edge_ptr[g : g + 2]) for g in range(len(arcs))]
    return [edges[cut].tolist() for cut in cuts], [kept[cut].tolist() for cut in cuts], directed.tolist()


EDGES = np.array([(0, 1), (0, 1), (0, 3), (1, 1), (1, 2), (2, 3)])
BACK = EDGES[EDGES[:, 0] != EDGES[:, 1]][:, ::-1]
BOTH = np.concatenate([EDGES, BACK])
LAYOUTS = {
    "edges, then their reverses": BOTH,
    "reverses first": np.concatenate([BACK, EDGES]),
    "sorted by tails": BOTH[np.lexsort((BOTH[:, 1], BOTH[:, 0]))],
    "sorted by heads": BOTH[np.lexsort((BOTH[:, 0], BOTH[:, 1]))],
    "in pairs": np.array(
        [(2, 3), (3, 2), (0, 1), (1, 0), (1, 2), (2, 1), (1, 1), (1, 0), (0, 1), (3, 0), (0, 3)]
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_usual_order_is_recognised(layout):
    arcs = LAYOUTS[layout]
    (edges,), (kept,), (directed,) = kept_once([4], [arcs])
    assert not directed
    assert sorted(map(tuple, edges)) == sorted(map(tuple, EDGES.tolist()))
    assert arcs[kept].tolist() == edges


def test_values_must_agree():
    arcs, equal = np.array([(0, 1), (1, 0)]), np.array([[1.0, 2.0], [1.0, 2.0]])
    assert kept_once([2], [arcs], equal)[2] == [False]
    assert kept_once([2], [arcs], equal + 1e-9 * np.eye(2)[:, ::-1])[2] == [True]
    assert kept_once([2], [arcs], np.full((2, 1), np.nan))[2] == [True]
    one_way = np.array([(0, 2), (1, 2), (2, 0), (2, 0)])
    assert kept_once([3], [one_way]) == ([one_way.tolist()], [[0, 1, 2, 3]], [True])


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)))), max_size=6
    )
)
@example([(3, [(0, 2), (0, 2), (1, 0), (2, 0)])])  # a repeated arc has one reverse, and is the last one
def test_many_graphs_each_by_itself(drawn):
    """A graph counts as undirected only if it is, and always if its arcs are sorted."""
    n_nodes = [n for n, _ in drawn]
    arcs = [np.array([(i % n, j % n) for i, j in some if n], np.int64).reshape(-1, 2) for n, some in drawn]
    if not arcs:
        return
    edges, kept, directed = kept_once(n_nodes, arcs)
    sorted_too = [some[np.lexsort((some[:, 1], some[:, 0]))] for some in arcs]
    directed_sorted = kept_once(n_nodes, sorted_too)[2]
    first = 0
    for g, some in enumerate(arcs):
        there, back = sorted(map(tuple, some.tolist())), sorted(map(tuple, some[:, ::-1].tolist()))
        assert directed[g] or there == back
        assert directed_sorted[g] == (there != back)
        assert some[np.array(kept[g], int) - first].tolist() == edges[g]
        assert directed[g] == (len(edges[g]) == len(some)) or (some[:, 0] == some[:, 1]).all()
        first += len(some)
