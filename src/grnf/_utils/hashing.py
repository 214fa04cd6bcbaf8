"""Hashes of 64-bit numbers (splitmix64): the same in every process and on every machine."""

from __future__ import annotations

import numpy as np

from grnf.typing import Keys

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mix(x: Keys) -> Keys:
    """Mix the bits of each number (the output function of splitmix64).

    Examples
    --------
    >>> hex(int(mix(np.array([0], np.uint64))[0]))
    '0xe220a8397b1dcdaf'
    """
    z = x + GOLDEN
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def hash_pairs(one: Keys, other: Keys) -> Keys:
    """Hash ordered pairs of numbers."""
    return mix(mix(one) * np.uint64(3) + other)
