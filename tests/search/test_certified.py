"""The promise of certified answers, as statistics: over many draws of features, wrong ones are rare."""

import numpy as np
import pytest

from grnf import GRNF, Graph
from grnf.errors import GraphError
from grnf.search import GraphIndex


def ring(n):
    return Graph(n, [(i, (i + 1) % n) for i in range(n)])


def star(n):
    return Graph(n, [(0, i) for i in range(1, n)])


def complete(n):
    return Graph(n, [(i, j) for j in range(n) for i in range(j)])


GRAPHS = [
    ring(4), ring(5), ring(6), ring(9), star(4), star(6), star(9), complete(3), complete(4), complete(5),
    complete(7), Graph(4, []), Graph(7, [(0, 1)]), ring(6).permuted([3, 1, 5, 0, 4, 2]),
]  # fmt: skip
QUERY = complete(6)
SETTINGS = {"orders": {1: 0.5, 2: 0.5}, "hidden_activation": "ramp"}


def true_distances():
    """d_P from 2^16 features that no test uses."""
    psi = GRNF(2**16, random_state=1001, **SETTINGS).fit_transform([QUERY, *GRAPHS])
    return np.linalg.norm(psi[1:] - psi[0], axis=1)


def answer(seed, k=3, M=128, most=4096, delta=0.2, **more):
    grnf = GRNF(M, random_state=seed, **SETTINGS)
    index = GraphIndex(grnf, keep_graphs=True).add(GRAPHS)
    return index.search([QUERY], k, certified=True, delta=delta, max_components=most, **more)


def test_wrong_answers_are_rarer_than_promised():
    nearest = set(np.argsort(true_distances())[:3].tolist())
    wrong, decided, certain = 0, 0, 0
    for seed in range(60):
        hits = answer(seed)
        names, status = [int(name) for name in hits.ids[0]], hits.status[0]
        sure = {name for name, word in zip(names, status, strict=True) if word == "certain"}
        wrong += not (sure <= nearest <= set(names))
        certain += len(sure) > 0
        decided += len(names) == 3
    assert wrong <= 60 * 0.2
    assert decided >= 30, "answers that say nothing are never wrong"
    assert certain >= 30


def test_all_are_certain_where_no_more_are_asked_for_than_there_are():
    hits = answer(0, k=20)
    assert set(hits.status[0]) == {"certain"}
    assert len(hits.ids[0]) == len(GRAPHS)
    assert hits.components == [128]


def test_copies_are_tied_and_cost_no_more_features():
    grnf = GRNF(256, random_state=0, **SETTINGS)
    index = GraphIndex(grnf, keep_graphs=True).add(
        [ring(6), ring(6).permuted([3, 1, 5, 0, 4, 2]), complete(6)]
    )
    hits = index.search([ring(6)], 1, certified=True, max_components=2**14)
    assert sorted(hits.ids[0]) == ["0", "1"]
    assert hits.status[0] == ["tied", "tied"]
    assert hits.components[0] < 2**14


def test_others_leaves_out_the_query_itself():
    grnf = GRNF(128, random_state=0, **SETTINGS)
    index = GraphIndex(grnf, keep_graphs=True).add(GRAPHS)
    hits = index.search([GRAPHS[3]], 1, ids=["3"], others=True, certified=True, max_components=512)
    assert "3" not in hits.ids[0]


def test_heads_count_hidden_draws():
    index = GraphIndex(GRNF(128, heads=4, random_state=0, **SETTINGS), keep_graphs=True).add(GRAPHS)
    hits = index.search([QUERY], 1, certified=True, max_components=512)
    assert hits.components[0] <= 512
    assert "10" in hits.ids[0]


def test_what_cannot_be_certified_is_said():
    with pytest.raises(GraphError, match="keep_graphs=True"):
        GraphIndex(GRNF(8, random_state=0)).add(GRAPHS).search([QUERY], certified=True)
    with pytest.raises(GraphError, match="bounded"):
        GraphIndex(GRNF(8, activation="relu"), keep_graphs=True).add(GRAPHS).search([QUERY], certified=True)
    index = GraphIndex(GRNF(8, random_state=0), space="whitened", keep_graphs=True).add(GRAPHS)
    with pytest.raises(GraphError, match="space='plain'"):
        index.search([QUERY], certified=True)
    with pytest.raises(ValueError, match="delta"):
        answer(0, delta=2.0)
