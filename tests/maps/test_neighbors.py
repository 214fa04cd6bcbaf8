"""Intervals beside neighbours, and nodes that are marked."""

import numpy as np
import pytest

from grnf import GRNF
from grnf.datasets import make_sbm
from grnf.io.raw import raw_from_graph
from grnf.maps import neighbors
from grnf.maps.neighbors import intervals, marked_nodes, nearest_others, precision_of
from grnf.metric import distance

GRAPHS = [raw_from_graph(graph) for graph in make_sbm(12, random_state=0)[0]]
T = GRNF(64, heads=2, random_state=0).fit(GRAPHS)
Z = T.transform(GRAPHS)
NEAR = nearest_others(Z, 3, "plain")


@pytest.mark.parametrize(("method", "pairs"), [("betting", 10**6), ("bernstein", 0)])
def test_intervals_are_those_of_single_pairs(monkeypatch, method, pairs):
    monkeypatch.setattr(neighbors, "BETTING_PAIRS", pairs)
    found = intervals(Z, *NEAR, precision_of(T), 0.1)
    for i in range(len(Z)):
        for j, other in enumerate(NEAR[0][i]):
            low, high = distance(Z[i], Z[other], **T._precision()).interval(0.1, method)
            assert (found.low[i, j], found.high[i, j]) == pytest.approx((low, high), abs=1e-9)
    assert "every number of features" in found.words


def test_unbounded_features_have_approximate_intervals():
    grnf = GRNF(64, activation="relu", random_state=0).fit(GRAPHS)
    Y = grnf.transform(GRAPHS)
    assert (
        intervals(Y, *nearest_others(Y, 2, "plain"), precision_of(grnf), 0.05).words == "normal approximation"
    )


def test_marks_are_what_difference_says():
    near = NEAR[0]
    marks = marked_nodes(T, GRAPHS, Z, near, [g.n_nodes for g in GRAPHS])
    ends = np.cumsum([0, *marks.lengths.ravel().tolist()])
    marked = 0
    for i in range(4):
        for j in range(near.shape[1]):
            levels = marks.levels[ends[i * 3 + j] : ends[i * 3 + j + 1]]
            found = T.difference(GRAPHS[i], GRAPHS[near[i, j]])
            adds, errors = np.concatenate(found.nodes), np.concatenate(found.node_errors)
            sure = np.where(adds > 2 * errors, adds, 0)
            clear = np.abs(adds - 2 * errors) > 1e-6 * np.abs(adds).max()
            assert np.array_equal(levels[clear] > 0, sure[clear] > 0)
            if sure.max() > 0:
                marked += 1
                assert levels.max() == 15
                assert np.abs(levels - 15 * sure / sure.max())[clear].max() <= 1
    assert marked


def test_graphs_that_are_not_drawn_are_not_marked():
    shown = [0 if i == 0 else g.n_nodes for i, g in enumerate(GRAPHS)]
    marks = marked_nodes(T, GRAPHS, Z, NEAR[0], shown)
    assert (marks.lengths[0] == 0).all()
    assert (marks.lengths[NEAR[0] == 0] == 0).all()
    assert len(marks.levels) == marks.lengths.sum()
