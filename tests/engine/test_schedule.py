"""How the work is cut: chunks of features that keep within the memory and cover all."""

import numpy as np

from grnf.engine import Schedule
from grnf.engine.schedule import COEFFICIENT_BYTES
from grnf.law import ParameterLaw

LAW = ParameterLaw({1: 2 / 3, 2: 1 / 3})
ONE = {"seed": 5, "channels": 1, "heads": 1, "n_graphs": 1}


def rows(draw):
    return [draw.feature(m).theta[0] for m in range(len(draw))]


def test_chunks_are_bounded_and_cover():
    schedule = Schedule(max_memory=8_000 * 2 * COEFFICIENT_BYTES)
    chunks = schedule.chunks(LAW, 1000, **ONE)
    draws = [LAW.sample(size, channels=1, seed=5, start=start) for start, size in chunks]
    assert len(draws) > 2
    assert max(sum(group.theta.size for group in draw.groups) for draw in draws) < 16_000
    whole = rows(LAW.sample(1000, channels=1, seed=5))
    for one, other in zip([row for draw in draws for row in rows(draw)], whole, strict=True):
        np.testing.assert_array_equal(one, other)


def test_chunks_shrink_with_what_must_be_held():
    schedule = Schedule(max_memory=2**24)
    largest = [
        max(size for _, size in schedule.chunks(LAW, 10**5, **{**ONE, **more}))
        for more in (
            {},
            {"n_graphs": 500},
            {"n_graphs": 500, "heads": 16},
            {"n_graphs": 500, "keep_hidden": True},
        )
    ]
    assert largest[0] > largest[1] > largest[2]
    assert largest[1] > largest[3] >= 64
    assert len(schedule.chunks(LAW, 1000, **ONE, at_least=4)) >= 4
