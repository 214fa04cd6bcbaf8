from itertools import permutations

import numpy as np
import pytest

from grnf.basis import (
    bell,
    indicator_tensor,
    n_slots,
    overlapping_tensor,
    set_partitions,
    slot_map,
    slot_statistics,
)


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
    with pytest.raises(ValueError, match="unknown basis 'maron'; choose one of 'indicator', 'overlapping'"):
        slot_map((0,), "maron")
