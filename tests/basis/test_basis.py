"""Set partitions, the two bases of equivariant maps, and their slot form."""

from itertools import permutations, product

import numpy as np
import pytest

from grnf.basis import bell, indicator_tensor, overlapping_tensor, set_partitions
from grnf.basis.partitions import complies, n_slots, positions, stirling
from grnf.basis.slot_form import slot_map, slot_statistics

BELL = [1, 1, 2, 5, 15, 52, 203, 877, 4140]


@pytest.mark.parametrize("k", range(9))
def test_partitions_are_counted_by_bell_and_stirling(k):
    partitions = set_partitions(k)
    assert len(partitions) == len(set(partitions)) == bell(k) == BELL[k]
    assert sum(stirling(k, n) for n in range(k + 1)) == bell(k)
    for n in range(k + 1):
        assert sum(n_slots(gamma) == n for gamma in partitions) == stirling(k, n)


@pytest.mark.parametrize("k", range(7))
def test_slots_are_disjoint_and_cover(k):
    for gamma in set_partitions(k):
        items = [item for slot in range(n_slots(gamma)) for item, own in enumerate(gamma) if own == slot]
        assert sorted(items) == list(range(k))
        assert positions(k)[gamma] == set_partitions(k).index(gamma)


@pytest.mark.parametrize("k", range(1, 6))
def test_each_multi_index_complies_with_exactly_one_partition(k):
    for index in product(range(3), repeat=k):
        found = [gamma for gamma in set_partitions(k) if complies(index, gamma)]
        assert len(found) == 1
        for a, b in product(range(k), repeat=2):
            assert (index[a] == index[b]) == (found[0][a] == found[0][b])


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


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_the_indicator_basis_counts_terms_as_bell_does(k):
    used = [slot_map(pi, "indicator").columns for pi in set_partitions(k)]
    assert [len(columns) for columns in used] == [
        (n := n_slots(pi)) * n + 2 * n + 2 for pi in set_partitions(k)
    ]
    assert sorted(np.concatenate(used)) == list(range(bell(k + 2)))


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("basis", ["indicator", "overlapping"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_block_form_equals_the_contraction_with_dense_tensors(k, basis, normalized):
    n = 4
    u = 1 / n if normalized else 1.0
    A = np.random.default_rng(k).normal(size=(n, n))
    tensor = indicator_tensor if basis == "indicator" else overlapping_tensor
    for pi in set_partitions(k):
        mapping = slot_map(pi, basis)
        matrix = sum(power * u**d for d, power in enumerate(mapping.matrices))
        for nodes in permutations(range(n), n_slots(pi)):
            statistic = [_statistic(A, name, p, q, nodes) for name, p, q in slot_statistics(len(nodes))]
            index = tuple(nodes[b] for b in pi)
            for column, gamma in enumerate(set_partitions(k + 2)):
                free = n_slots(gamma) - n_slots(gamma[:k])
                expected = u**free * (tensor(gamma, n)[index] * A).sum()
                (position,) = np.nonzero(mapping.columns == column)
                found = float(statistic @ matrix[:, position[0]]) if len(position) else 0.0
                assert found == pytest.approx(expected, abs=1e-12)


def _statistic(A, name, p, q, nodes):
    return {
        "A": lambda: A[nodes[p], nodes[q]],
        "R": lambda: A[nodes[p]].sum(),
        "C": lambda: A[:, nodes[p]].sum(),
        "d": lambda: np.trace(A),
        "S": lambda: A.sum(),
    }[name]()


def test_unknown_basis_is_refused():
    with pytest.raises(ValueError, match="basis must be one of 'indicator', 'overlapping', got 'maron'"):
        slot_map((0,), "maron")
