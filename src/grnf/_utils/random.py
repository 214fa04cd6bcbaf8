"""Random streams: counter-based, keyed by the seed, one per page of features."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from grnf._utils.rules import Instance, Int, OneOf, Rule, checked
from grnf.typing import FloatArray, Keys

__all__ = ["SEED_RULES", "channel_normals", "draw_seed", "page_generator"]

SEED_RULES: tuple[Rule | str, ...] = (
    OneOf(None),
    Int(0),
    Instance("a numpy Generator or RandomState", np.random.Generator, np.random.RandomState),
)


@lru_cache(maxsize=64)
def _key(seed: int) -> tuple[int, int]:
    low, high = np.random.SeedSequence(seed).generate_state(2, np.uint64)
    return int(low), int(high)


def page_generator(seed: int, page: int, stream: int = 0, channel: int = 0) -> np.random.Generator:
    """Return the generator of one page; pages of one seed never overlap (2^192 numbers apart).

    A page has streams of its own for what is drawn beside its features (2^128 numbers apart), and in one of
    them a part for each channel, by its key (2^64 numbers apart).

    Examples
    --------
    >>> bool(page_generator(7, 3).random() == page_generator(7, 3).random())
    True
    """
    key = np.array(_key(seed), dtype=np.uint64)
    counter = np.array([0, channel, stream, page], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


def channel_normals(seed: int, page: int, stream: int, keys: Keys, count: int) -> FloatArray:
    """Return so many normal numbers for each channel, those of its own generator, shape (F, count).

    Examples
    --------
    >>> drawn = channel_normals(7, 3, 1, np.array([5, 6], np.uint64), 4)
    >>> np.array_equal(drawn[1], page_generator(7, 3, 1, 6).standard_normal(4))
    True
    """
    drawn = np.empty((len(keys), count))
    generator = page_generator(seed, page, stream)
    state = generator.bit_generator.state  # to go on elsewhere is faster than another generator
    for row, key in zip(drawn, keys, strict=True):
        state["state"]["counter"][1] = key
        generator.bit_generator.state = state
        generator.standard_normal(out=row)
    return drawn


def draw_seed(random_state: Any) -> int:
    """Turn a `random_state` (None, int, RandomState or Generator) into one integer seed.

    Examples
    --------
    >>> draw_seed(42)
    42
    """
    random_state = checked(random_state, "random_state", *SEED_RULES)
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1)
    if isinstance(random_state, int):
        return random_state
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63 - 1))
    return int(random_state.randint(2**31 - 1))
