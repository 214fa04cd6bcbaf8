"""I_gamma and E_gamma as dense tensors, straight from the paper's appendix.

I_gamma has one axis per item of gamma in Gamma(k), E_gamma is the same object for gamma in Gamma(k + 2):
the first k axes are the output, the last two meet the two node axes of A.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

import numpy as np

from grnf.basis.partitions import Partition
from grnf.typing import BoolArray


@lru_cache(maxsize=1024)
def indicator_tensor(gamma: Partition, n: int) -> BoolArray:
    """Return the 0/1 tensor of the multi-indices over n nodes that comply with gamma.

    Parameters
    ----------
    gamma : tuple of int, length k
        A partition, as in `set_partitions`.
    n : int
        Number of nodes.

    Returns
    -------
    array of bool, k axes of length n

    Examples
    --------
    >>> indicator_tensor((0, 1), 2).astype(int)
    array([[0, 1],
           [1, 0]])
    """
    return _compare(gamma, n, only_equalities=False)


@lru_cache(maxsize=1024)
def overlapping_tensor(gamma: Partition, n: int) -> BoolArray:
    """Return the 0/1 tensor of the multi-indices whose entries are equal within each slot of gamma.

    Entries of different slots may be equal too, so these tensors overlap. They span the same space.

    Parameters
    ----------
    gamma : tuple of int, length k
        A partition, as in `set_partitions`.
    n : int
        Number of nodes.

    Returns
    -------
    array of bool, k axes of length n

    Examples
    --------
    >>> overlapping_tensor((0, 1), 2).astype(int)
    array([[1, 1],
           [1, 1]])
    """
    return _compare(gamma, n, only_equalities=True)


def _compare(gamma: Partition, n: int, only_equalities: bool) -> BoolArray:
    k = len(gamma)
    tensor = np.ones((n,) * k, dtype=np.bool_)
    axes = np.ogrid[(slice(n),) * k] if k else ()
    for a, b in combinations(range(k), 2):
        if gamma[a] == gamma[b]:
            tensor &= axes[a] == axes[b]
        elif not only_equalities:
            tensor &= axes[a] != axes[b]
    tensor.setflags(write=False)
    return tensor
