from itertools import product

import numpy as np
import pytest

from grnf.basis import complies, indicator_tensor, overlapping_tensor, set_partitions


@pytest.mark.parametrize("n", [0, 1, 2, 3])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_indicator_tensors_split_all_multi_indices(k, n):
    total = np.zeros((n,) * k, dtype=int)
    for gamma in set_partitions(k):
        tensor = indicator_tensor(gamma, n)
        for index in product(range(n), repeat=k):
            assert tensor[index] == complies(index, gamma)
        total += tensor
    assert (total == 1).all()


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_overlapping_tensors_are_sums_of_indicators_of_coarser_partitions(k):
    def coarser(gamma, than):
        return all(gamma[a] == gamma[b] for a, b in product(range(k), repeat=2) if than[a] == than[b])

    for gamma in set_partitions(k):
        expected = sum(
            indicator_tensor(other, 3).astype(int) for other in set_partitions(k) if coarser(other, gamma)
        )
        np.testing.assert_array_equal(overlapping_tensor(gamma, 3), expected)


def test_both_bases_span_the_same_space():
    rows = [
        np.array([tensor(gamma, 4).ravel() for gamma in set_partitions(4)], dtype=float)
        for tensor in (indicator_tensor, overlapping_tensor)
    ]
    assert [np.linalg.matrix_rank(part) for part in rows] == [15, 15]
    assert np.linalg.matrix_rank(np.vstack(rows)) == 15
