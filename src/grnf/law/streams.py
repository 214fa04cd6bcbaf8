"""Random streams: counter-based, keyed by the seed, one per page of features."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

__all__ = ["draw_seed", "page_generator"]


@lru_cache(maxsize=64)
def _key(seed: int) -> tuple[int, int]:
    low, high = np.random.SeedSequence(seed).generate_state(2, np.uint64)
    return int(low), int(high)


def page_generator(seed: int, page: int, stream: int = 0) -> np.random.Generator:
    """Return the generator of one page; pages of one seed never overlap (2^192 numbers apart).

    A page has streams of its own for what is drawn beside its features (2^128 numbers apart).

    Examples
    --------
    >>> bool(page_generator(7, 3).random() == page_generator(7, 3).random())
    True
    """
    key = np.array(_key(seed), dtype=np.uint64)
    counter = np.array([0, 0, stream, page], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


def draw_seed(random_state: Any) -> int:
    """Turn a `random_state` (None, int, RandomState or Generator) into one integer seed.

    Examples
    --------
    >>> draw_seed(42)
    42
    """
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1)
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ValueError(f"random_state must be >= 0; got {random_state}")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63 - 1))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise ValueError(
        f"random_state must be None, an int >= 0, a numpy Generator or RandomState; got {random_state!r}"
    )
