"""Set partitions Gamma(k) of {0 .. k-1} and the Bell numbers that count them.

What others call the blocks of a partition are called slots here: in a sum over tuples each takes one node. A
partition is written as its restricted growth string: entry i is the number of the slot that holds i, slots
numbered in the order of their first members. {0, 2}, {1} is (0, 1, 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import comb
from typing import TypeAlias

Partition: TypeAlias = tuple[int, ...]


@cache
def set_partitions(k: int) -> tuple[Partition, ...]:
    """Return Gamma(k), all partitions of k items, in lexicographic order.

    Parameters
    ----------
    k : int

    Returns
    -------
    tuple of tuples of int
        The slot of each item.

    Examples
    --------
    >>> set_partitions(3)
    ((0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2))
    """
    if k == 0:
        return ((),)
    return tuple(
        (*shorter, slot) for shorter in set_partitions(k - 1) for slot in range(n_slots(shorter) + 1)
    )


@cache
def positions(k: int) -> dict[Partition, int]:
    """Return the position of each partition in `set_partitions(k)`."""
    return {gamma: index for index, gamma in enumerate(set_partitions(k))}


@cache
def bell(k: int) -> int:
    """Return Bell(k), the number of partitions of k items.

    Parameters
    ----------
    k : int

    Returns
    -------
    int

    Examples
    --------
    >>> [bell(k) for k in range(7)]
    [1, 1, 2, 5, 15, 52, 203]
    """
    return 1 if k == 0 else sum(comb(k - 1, j) * bell(j) for j in range(k))


@cache
def stirling(k: int, n: int) -> int:
    """Return the number of partitions of k items into n slots."""
    if k == 0 or n == 0:
        return int(k == n)
    return n * stirling(k - 1, n) + stirling(k - 1, n - 1)


def n_slots(gamma: Partition) -> int:
    """Return the number of slots of a partition."""
    return max(gamma, default=-1) + 1


def complies(index: Sequence[int], gamma: Partition) -> bool:
    """Whether two entries of the multi-index are equal if and only if they share a slot of gamma."""
    first: dict[int, int] = {}
    return tuple(first.setdefault(entry, len(first)) for entry in index) == gamma
