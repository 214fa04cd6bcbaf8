"""An index gives what a look at every row gives, whatever the rows."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grnf import GRNF, Graph
from grnf.datasets import make_sbm
from grnf.errors import GraphError
from grnf.search import GraphIndex
from optional import require
from random_graphs import complete, cycle, star


def all_squares(rows, query):
    return np.square(np.asarray(rows, np.float64) - np.asarray(query, np.float64)).sum(axis=1)


def assert_exact(index, rows, numbers, queries, k):
    """Each answer is one that a look at all rows allows: true distances, and nobody nearer left out."""
    hits = index.search(queries, k)
    for query, names, found in zip(queries, hits.ids, hits.distances, strict=True):
        true = np.sqrt(all_squares(rows, query))
        chosen = [numbers.index(name) for name in names]
        assert len(set(names)) == len(names) == min(k, len(rows))
        np.testing.assert_allclose(found, true[chosen], rtol=1e-12, atol=0)
        assert (np.diff(found) >= 0).all()
        others = np.delete(true, chosen)
        assert (others >= found[-1] * (1 - 1e-12)).all()


@st.composite
def collections(draw):
    seed = draw(st.integers(0, 2**32 - 1))
    n, M = draw(st.integers(1, 900)), draw(st.integers(1, 40))
    kind = draw(st.sampled_from(["normal", "decaying", "few values", "constant", "far", "tiny", "clusters"]))
    generator = np.random.default_rng(seed)
    Z = generator.normal(size=(n, M))
    if kind == "decaying":
        Z *= 0.5 ** np.arange(M)
    elif kind == "few values":
        Z = np.round(Z)
    elif kind == "constant":
        Z[:] = Z[0]
    elif kind == "far":
        Z = 1e6 + 1e-3 * Z
    elif kind == "tiny":
        Z *= 1e-30
    elif kind == "clusters":
        Z = Z[generator.integers(0, min(3, n), n)] + 1e-7 * Z
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    queries = np.concatenate([Z[:2], Z[:1] + 1e-9, generator.normal(size=(2, M))]).astype(dtype)
    return Z.astype(dtype), queries, draw(st.integers(1, 40))


@given(collections(), st.floats(0, 1))
def test_the_radius_finds_all_and_no_more(drawn, share):
    Z, queries, _ = drawn
    index = GraphIndex().add(Z)
    for query in queries:
        true = np.sort(np.sqrt(all_squares(Z, query)))
        radius = float(true[int(share * (len(Z) - 1))])
        hits = index.within(query, radius)
        sure, perhaps = (true <= radius * (1 - 1e-12)).sum(), (true <= radius * (1 + 1e-12)).sum()
        assert sure <= len(hits.ids[0]) <= perhaps


def test_equal_distances_come_in_the_order_of_adding():
    index = GraphIndex().add(np.ones((700, 3)))
    assert index.search(np.ones((1, 3)), n_neighbors=5).ids == [["0", "1", "2", "3", "4"]]
    assert index.within(np.ones(3), 0.0).ids[0] == [str(row) for row in range(700)]


def test_few_rows_are_looked_at():
    """Nothing is gained by bounds that rule nobody out: of 50,000 rows fewer than 1,000 are computed."""
    from grnf.search.scan import nearest

    generator = np.random.default_rng(0)
    Z = (generator.normal(size=(50_000, 64)) * 0.6 ** np.arange(64)).astype(np.float32)
    (segment,) = GraphIndex().add(Z)._segments.parts
    heap = np.full(10, np.inf), np.empty(10, np.int64), np.empty(10, np.int64)
    looked, blocks = nearest(*segment.scan_arguments(Z[0].astype(float)), 0, heap)
    assert looked < 1000
    assert blocks < 100


@given(collections(), st.data())
def test_growing_and_shrinking(drawn, data):
    Z, queries, k = drawn
    cuts = sorted(data.draw(st.lists(st.integers(0, len(Z)), max_size=4)))
    index = GraphIndex()
    for start, stop in zip([0, *cuts], [*cuts, len(Z)], strict=True):
        if stop > start:
            index.add(Z[start:stop])
    gone = data.draw(st.sets(st.integers(0, len(Z) - 1), max_size=len(Z) - 1))
    index.remove([str(row) for row in gone])
    left = [row for row in range(len(Z)) if row not in gone]
    assert len(index) == len(left)
    assert index.ids == [str(row) for row in left]
    assert_exact(index, Z[left], [str(row) for row in left], queries, k)
    assert_exact(index.compact(), Z[left], [str(row) for row in left], queries, k)


def test_whitened_distances_are_those_of_whitened_vectors():
    generator = np.random.default_rng(0)
    Z = generator.normal(size=(500, 12)) * 0.3 ** np.arange(12)
    index = GraphIndex(space="whitened", shrinkage=1e-3).add(Z)
    variances, axes = np.linalg.eigh(np.cov(Z.T, bias=True))
    white = (Z - Z.mean(axis=0)) @ axes / np.sqrt(variances + 1e-3 * variances[-1])
    hits = index.search(Z[:5], n_neighbors=7)
    for row in range(5):
        true = np.sqrt(all_squares(white, white[row]))
        order = np.argsort(true)[:7]
        assert hits.ids[row] == [str(place) for place in order]
        np.testing.assert_allclose(hits.distances[row], true[order], atol=1e-6 * np.abs(white).max() * 12)


@pytest.mark.parametrize("space", ["plain", "whitened"])
def test_a_constant_collection_has_a_defined_certified(space):
    hits = GraphIndex(space=space).add(np.full((4, 3), 2.0)).search(np.full((1, 3), 2.0), n_neighbors=10)
    assert hits.ids == [["0", "1", "2", "3"]]
    assert hits.distances[0].tolist() == [0, 0, 0, 0]


def test_graphs_of_any_kind():
    nx = require("networkx")
    graphs, _ = make_sbm(30, random_state=0)
    index = GraphIndex(GRNF(64, random_state=0), keep_graphs=True).add(graphs, [f"g{i}" for i in range(30)])
    other = nx.Graph([(int(i), int(j)) for i, j in graphs[7].edges])
    other.add_nodes_from(range(graphs[7].n_nodes))
    hits = index.search([other], n_neighbors=2, ids=["seven"])
    assert hits.queries == ["seven"]
    assert hits.ids[0][0] == "g7"
    assert hits.distances[0][0] < 1e-6
    assert index.graph("g7").n_nodes == graphs[7].n_nodes
    assert "g7" not in index.search([other], n_neighbors=2, ids=["g7"], others=True).ids[0]
    assert "GRNF" in repr(index)


def test_intervals_stand_beside_distances():
    graphs, _ = make_sbm(10, random_state=0)
    grnf = GRNF(128, random_state=0).fit(graphs)
    for keep_graphs in (False, True):
        index = GraphIndex(grnf, keep_graphs=keep_graphs).add(graphs)
        hits = index.search(graphs[:1], n_neighbors=3, confidence=0.95)
        low, high = hits.intervals[0].T
        assert ((low <= hits.distances[0]) & (hits.distances[0] <= high)).all()
        estimate = grnf.distance(graphs[0], graphs[int(hits.ids[0][1])])
        assert hits.standard_errors[0][1] == pytest.approx(estimate.value_error, rel=1e-4)
        if not keep_graphs:
            assert high[1] > 2 * estimate.interval()[1]  # without graphs there is no closed form
            estimate = replace(estimate, upper=None)
        assert high[1] == pytest.approx(estimate.interval()[1], rel=1e-4)
    plain = index.search(graphs[:1], n_neighbors=3)
    assert plain.intervals is None
    np.testing.assert_array_equal(plain.standard_errors, hits.standard_errors)


def test_threads_and_kneighbors_give_the_same():
    generator = np.random.default_rng(0)
    Z = generator.normal(size=(3000, 8)).astype(np.float32)
    index = GraphIndex(n_jobs=2).add(Z[:2000]).add(Z[2000:]).remove(["7"])
    one = GraphIndex().add(Z).remove(["7"]).search(Z[:100], n_neighbors=3)
    assert one.ids == index.search(Z[:100], n_neighbors=3).ids
    distances, rows = index.kneighbors(Z[:100], n_neighbors=3)
    assert rows.tolist() == [[int(name) for name in names] for names in one.ids]
    assert rows.dtype.kind == "i"
    np.testing.assert_array_equal(distances, one.distances)
    np.testing.assert_array_equal(index.kneighbors(Z[:100], 3, return_distance=False), rows)


Z = np.eye(3)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: GraphIndex().search(Z), "index is empty"),
        (lambda: GraphIndex().add(np.empty((0, 3))), "X is empty"),
        (lambda: GraphIndex(GRNF(8)).add([]), "X is empty"),
        (lambda: GraphIndex().add(Z).add([Graph(2, [])]), "nothing is known that makes vectors"),
        (lambda: GraphIndex().add(np.array([[1.0, np.nan]])), "X\\[0\\]: the vector holds NaN"),
        (
            lambda: GraphIndex().add(Z).search(np.array([[1.0, np.inf, 0]])),
            "queries\\[0\\]: the vector holds NaN",
        ),
        (lambda: GraphIndex().add(Z).search(np.eye(4)), "length 4.*length 3"),
        (lambda: GraphIndex().add(Z).add(np.eye(4)), "length 4.*length 3"),
        (lambda: GraphIndex().add(Z, ["a", "b", "a"]), "ids must be unique, got 'a' twice"),
        (lambda: GraphIndex().add(Z, ["a"]), "1 ids for 3 graphs"),
        (lambda: GraphIndex().add(Z, list("abc")).add(Z, list("cde")), "'c' is in the index already"),
        (lambda: GraphIndex().add(Z).remove(["7"]), "no graph in the index is called '7'"),
        (lambda: GraphIndex().add(Z).remove("1"), "must be a list of str"),
        (lambda: GraphIndex().add(Z).graph("1"), "keeps no graphs"),
        (lambda: GraphIndex().add(Z).row("9"), "no graph in the index is called '9'"),
        (lambda: GraphIndex(keep_graphs=True).add(Z), "needs graphs, got vectors"),
        (lambda: GraphIndex().add(Z).search(Z, confidence=0.9), "intervals are about d_P"),
        (lambda: GraphIndex().add(Z).search(Z, n_neighbors=0), "n_neighbors must be an integer >= 1"),
        (lambda: GraphIndex().add(Z).kneighbors(Z, 4), "n_neighbors must be at most 3"),
        (lambda: GraphIndex().add(Z).within(Z, -1.0), "radius must be a number >= 0"),
        (lambda: GraphIndex(space="round"), "space must be 'plain' or 'whitened'"),
        (lambda: GraphIndex(GRNF(8)).add([Graph(2, [], [[1.0], [2.0]])]).search([Graph(2, [])]), "queries|X"),
    ],
)
def test_bad_input_is_named(act, message):
    with pytest.raises(ValueError, match=message):
        act()


GRAPHS = [
    cycle(4), cycle(5), cycle(6), cycle(9), star(4), star(6), star(9), complete(3), complete(4), complete(5),
    complete(7), Graph(4, []), Graph(7, [(0, 1)]), cycle(6).permuted([3, 1, 5, 0, 4, 2]),
]  # fmt: skip
QUERY = complete(6)
SETTINGS = {"orders": {1: 0.5, 2: 0.5}, "hidden_activation": "ramp"}


def true_distances():
    """d_P from 2^16 features that no test uses."""
    psi = GRNF(2**16, random_state=1001, **SETTINGS).fit_transform([QUERY, *GRAPHS])
    return np.linalg.norm(psi[1:] - psi[0], axis=1)


def certified(seed, k=3, M=128, most=4096, confidence=0.8, **more):
    grnf = GRNF(M, random_state=seed, **SETTINGS)
    index = GraphIndex(grnf, keep_graphs=True).add(GRAPHS)
    return index.search([QUERY], k, certified=True, confidence=confidence, max_components=most, **more)


def test_wrong_answers_are_rarer_than_promised():
    nearest = set(np.argsort(true_distances())[:3].tolist())
    wrong, decided, certain = 0, 0, 0
    for seed in range(40):
        hits = certified(seed)
        names, status = [int(name) for name in hits.ids[0]], hits.status[0]
        sure = {name for name, word in zip(names, status, strict=True) if word == "certain"}
        wrong += not (sure <= nearest <= set(names))
        certain += len(sure) > 0
        decided += len(names) == 3
    assert wrong <= 40 * 0.2
    assert decided >= 20, "results without any decision are never wrong"
    assert certain >= 20


def test_all_are_certain_where_no_more_are_asked_for_than_there_are():
    hits = certified(0, k=20)
    assert set(hits.status[0]) == {"certain"}
    assert len(hits.ids[0]) == len(GRAPHS)
    assert hits.components == [128]


def test_copies_are_tied_and_cost_no_more_features():
    grnf = GRNF(256, random_state=0, **SETTINGS)
    index = GraphIndex(grnf, keep_graphs=True).add(
        [cycle(6), cycle(6).permuted([3, 1, 5, 0, 4, 2]), complete(6)]
    )
    hits = index.search([cycle(6)], 1, certified=True, max_components=2**14)
    assert sorted(hits.ids[0]) == ["0", "1"]
    assert hits.status[0] == ["tied", "tied"]
    assert hits.components[0] < 2**14


@pytest.mark.parametrize("heads", [1, 4])
def test_others_leaves_out_the_query_itself(heads):
    index = GraphIndex(GRNF(128, heads=heads, random_state=0, **SETTINGS), keep_graphs=True).add(GRAPHS)
    hits = index.search([GRAPHS[3]], 1, ids=["3"], others=True, certified=True, max_components=512)
    assert "3" not in hits.ids[0]
    hits = index.search([QUERY], 1, certified=True, max_components=512)
    assert hits.components[0] <= 512
    assert "10" in hits.ids[0]


def test_what_cannot_be_certified_is_said():
    with pytest.raises(GraphError, match="keep_graphs=True"):
        GraphIndex(GRNF(8, random_state=0)).add(GRAPHS).search([QUERY], certified=True)
    with pytest.raises(GraphError, match="bounded"):
        GraphIndex(GRNF(8, activation="relu"), keep_graphs=True).add(GRAPHS).search([QUERY], certified=True)
    index = GraphIndex(GRNF(8, random_state=0), space="whitened", keep_graphs=True).add(GRAPHS)
    with pytest.raises(GraphError, match="--space d_P"):
        index.search([QUERY], certified=True)
    with pytest.raises(ValueError, match="confidence"):
        certified(0, confidence=2.0)


def test_a_certified_search_ends_at_its_time_limit():
    hits = certified(0, time_limit=1e-9)
    assert hits.components == [128]
    assert set(hits.status[0]) == {"tied"}
    assert set(certified(0).ids[0]) <= set(hits.ids[0])
