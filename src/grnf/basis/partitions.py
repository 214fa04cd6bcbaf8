"""Set partitions Gamma(k) of {0 .. k-1} and the Bell numbers that count them.

A partition is written as its restricted growth string: entry i is the number of the block that holds i,
blocks numbered in the order of their first members. {0, 2}, {1} is (0, 1, 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import comb
from typing import TypeAlias

__all__ = [
    "Partition",
    "bell",
    "blocks",
    "complies",
    "n_blocks",
    "pattern",
    "positions",
    "set_partitions",
    "stirling",
]

Partition: TypeAlias = tuple[int, ...]


@cache
def set_partitions(k: int) -> tuple[Partition, ...]:
    """Return Gamma(k), all partitions of k items, in lexicographic order.

    Examples
    --------
    >>> set_partitions(3)
    ((0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2))
    """
    if k == 0:
        return ((),)
    return tuple(
        (*shorter, block) for shorter in set_partitions(k - 1) for block in range(n_blocks(shorter) + 1)
    )


@cache
def positions(k: int) -> dict[Partition, int]:
    """Return the position of each partition in `set_partitions(k)`.

    Examples
    --------
    >>> positions(3)[(0, 1, 0)]
    2
    """
    return {gamma: index for index, gamma in enumerate(set_partitions(k))}


@cache
def bell(k: int) -> int:
    """Return Bell(k), the number of partitions of k items.

    Examples
    --------
    >>> [bell(k) for k in range(7)]
    [1, 1, 2, 5, 15, 52, 203]
    """
    return 1 if k == 0 else sum(comb(k - 1, j) * bell(j) for j in range(k))


@cache
def stirling(k: int, n: int) -> int:
    """Return the number of partitions of k items into n blocks.

    Examples
    --------
    >>> [stirling(3, n) for n in (1, 2, 3)]
    [1, 3, 1]
    """
    if k == 0 or n == 0:
        return int(k == n)
    return n * stirling(k - 1, n) + stirling(k - 1, n - 1)


def n_blocks(gamma: Partition) -> int:
    """Return the number of blocks of a partition.

    Examples
    --------
    >>> n_blocks((0, 1, 0))
    2
    """
    return max(gamma, default=-1) + 1


def blocks(gamma: Partition) -> list[list[int]]:
    """Return the blocks of a partition as lists of items.

    Examples
    --------
    >>> blocks((0, 1, 0))
    [[0, 2], [1]]
    """
    return [[item for item, b in enumerate(gamma) if b == block] for block in range(n_blocks(gamma))]


def pattern(index: Sequence[int]) -> Partition:
    """Return the one partition that a multi-index complies with: equal entries share a block.

    Examples
    --------
    >>> pattern((7, 4, 7))
    (0, 1, 0)
    """
    seen: dict[int, int] = {}
    return tuple(seen.setdefault(entry, len(seen)) for entry in index)


def complies(index: Sequence[int], gamma: Partition) -> bool:
    """Whether two entries of the multi-index are equal if and only if they share a block of gamma.

    Examples
    --------
    >>> complies((7, 4, 7), (0, 1, 0)), complies((7, 7, 7), (0, 1, 0))
    (True, False)
    """
    return pattern(index) == gamma
