"""Change points of lists: the level, several changes, and lists that are too short."""

import numpy as np
import pytest
from scipy.stats import binomtest

from grnf import GRNF, Graph, GraphError
from grnf.stats import change_points


def rows(seed, *parts):
    generator = np.random.default_rng(seed)
    return np.concatenate([generator.normal(shift, spread, size=(n, 4)) for n, shift, spread in parts])


@pytest.mark.parametrize("ties", [False, True])
def test_the_level(ties):
    found = 0
    for seed in range(100):
        Z = rows(seed, (30, 0, 1))
        Z = np.round(Z) if ties else Z
        found += bool(change_points(Z, alpha=0.2, n_permutations=49, random_state=seed))
    assert binomtest(found, 100, 0.2, alternative="greater").pvalue > 0.01
    assert found >= 5


def test_several_changes():
    Z = rows(0, (60, 0, 1), (40, 1.5, 1), (50, -1, 1), (60, -1, 3))
    found = change_points(Z, n_permutations=199)
    assert [abs(point.index - true) <= 4 for point, true in zip(found, (60, 100, 150), strict=True)] == [
        True
    ] * 3
    for point in found:
        assert point.interval[0] <= point.index <= point.interval[1]
        assert point.segment[0] < point.index < point.segment[1]
        assert point.p_value <= 0.05
        assert point.id == str(point.index)
    assert change_points(Z, n_permutations=199) == found


def test_graphs_with_names():
    cycle = Graph(6, [(i, (i + 1) % 6) for i in range(6)])
    path = Graph(6, [(i, i + 1) for i in range(5)])
    names = [f"g{i}" for i in range(30)]
    (point,) = change_points(
        iter([cycle] * 10 + [path] * 20), transformer=GRNF(16, random_state=0), ids=names
    )
    assert (point.index, point.id) == (10, "g10")


def test_lists_without_a_change_to_find():
    assert change_points(np.ones((50, 3))) == []
    assert change_points(np.ones((1, 3))) == []
    assert change_points(rows(0, (9, 0, 1))) == []


@pytest.mark.parametrize(
    ("X", "options", "what"),
    [
        (np.zeros((0, 3)), {}, "empty"),
        (np.array([[0.0], [np.nan], [1.0]]), {}, r"X\[1\]: .* NaN"),
        (np.ones((20, 3)), {"alpha": 2}, "alpha must be"),
        (np.ones((20, 3)), {"n_permutations": 9}, "take more"),
        (np.ones((20, 3)), {"min_size": 0}, "min_size must be"),
    ],
)
def test_refusals(X, options, what):
    with pytest.raises(ValueError, match=what):
        change_points(X, **options)
    assert issubclass(GraphError, ValueError)
