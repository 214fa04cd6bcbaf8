"""Random graphs with named columns, and what it means that two of them are the same."""

import string

import numpy as np
from hypothesis import strategies as st

from grnf.io import RawGraph

NAMES = st.text(string.ascii_letters, min_size=2, max_size=6).map(lambda name: "c" + name)
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cn", "Co"]), max_size=8)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
WHOLE = st.integers(-(2**63), 2**63 - 1)


def numeric(values, count, dtype):
    return st.lists(values, min_size=count, max_size=count).map(
        lambda entries: np.array(entries, dtype=dtype)
    )


@st.composite
def with_gaps(draw, values, count, missing, dtype):
    """At least one value is there, so that the type of the column can be seen."""
    entries = draw(st.lists(st.one_of(values, st.just(missing)), min_size=count, max_size=count))
    entries[draw(st.integers(0, count - 1))] = draw(values)
    array = np.empty(count, dtype=dtype)
    array[:] = entries
    return array


def column(draw, count, kinds):
    kind = draw(st.sampled_from(kinds))
    if kind == "float":
        return draw(with_gaps(FLOATS, count, np.nan, np.float64))
    if kind == "int":
        return draw(numeric(WHOLE, count, np.int64))
    if kind == "bool":
        return draw(numeric(st.booleans(), count, np.bool_))
    if kind == "text":
        return draw(with_gaps(TEXTS, count, None, object))
    if kind == "vector":
        width = draw(st.integers(1, 3))
        flat = draw(with_gaps(FLOATS, count * width, np.nan, np.float64))
        return flat.reshape(count, width)
    mixed = st.one_of(TEXTS, st.booleans(), WHOLE, FLOATS, st.tuples(WHOLE, TEXTS))
    return draw(with_gaps(mixed, count, None, object))


@st.composite
def raw_graphs(draw, kinds=(), *, directed=None, loops=True, repeats=True, y=True, graph_id=True):
    """Any small graph with columns of these kinds."""
    n = draw(st.integers(0, 6))
    pairs = [(i, j) for i in range(n) for j in range(n) if loops or i != j]
    is_directed = draw(st.booleans()) if directed is None else directed
    key = None if repeats else (lambda pair: pair if is_directed else frozenset(pair))
    some = st.lists(st.sampled_from(pairs), max_size=8, unique_by=key) if pairs else st.just([])
    edges = np.array(draw(some), dtype=np.int64).reshape(-1, 2)

    def columns(count):
        if not kinds or not count:
            return {}
        return {name: column(draw, count, kinds) for name in draw(st.lists(NAMES, max_size=3, unique=True))}

    return RawGraph(
        n,
        edges,
        columns(n),
        columns(len(edges)),
        is_directed,
        draw(st.one_of(st.none(), NAMES)) if graph_id else None,
        draw(st.one_of(st.none(), WHOLE, FLOATS, NAMES)) if y else None,
    )


def canonical_edges(graph):
    edges = np.asarray(graph.edges).reshape(-1, 2)
    if not graph.directed:
        edges = np.sort(edges, axis=1)
    return edges[np.lexsort(edges.T)].tolist()


def assert_same_column(found, wanted, exact):
    assert found.shape == wanted.shape
    if exact:
        assert found.dtype == wanted.dtype
    if wanted.dtype == object:
        assert found.tolist() == wanted.tolist()
        assert [type(value) for value in found] == [type(value) for value in wanted]
    else:
        assert found.dtype.kind == wanted.dtype.kind
        np.testing.assert_array_equal(found, wanted)


def assert_same(found, wanted, *, exact=True):
    """Same sizes, edges in the same order, same columns, same id and target."""
    assert isinstance(found, RawGraph)
    assert found.n_nodes == wanted.n_nodes
    assert found.directed == wanted.directed
    np.testing.assert_array_equal(found.edges, wanted.edges)
    assert found.graph_id == wanted.graph_id
    assert found.y == wanted.y
    assert type(found.y) is type(wanted.y)
    for ours, theirs in (
        (found.node_columns, wanted.node_columns),
        (found.edge_columns, wanted.edge_columns),
    ):
        assert set(ours) == set(theirs)
        if exact:
            assert list(ours) == list(theirs)
        for name in theirs:
            assert_same_column(ours[name], theirs[name], exact)
