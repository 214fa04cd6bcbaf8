from itertools import product

import pytest

from grnf import basis
from grnf.basis import bell, complies, n_slots, positions, set_partitions, slots, stirling

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
        items = [item for slot in slots(gamma) for item in slot]
        assert sorted(items) == list(range(k))
        assert positions(k)[gamma] == set_partitions(k).index(gamma)


@pytest.mark.parametrize("k", range(1, 6))
def test_each_multi_index_complies_with_exactly_one_partition(k):
    for index in product(range(3), repeat=k):
        found = [gamma for gamma in set_partitions(k) if complies(index, gamma)]
        assert len(found) == 1
        for a, b in product(range(k), repeat=2):
            assert (index[a] == index[b]) == (found[0][a] == found[0][b])


@pytest.mark.parametrize(
    ("old", "new"), [("n_blocks", "n_slots"), ("blocks", "slots"), ("block_map", "slot_map")]
)
def test_old_names_still_work(old, new):
    with pytest.warns(FutureWarning, match=f"grnf.basis.{new}"):
        assert getattr(basis, old) is getattr(basis, new)
