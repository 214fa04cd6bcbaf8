"""How many keys sets share, counted into a dense matrix."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from grnf._utils.jit import compiled
from grnf.typing import FloatArray

__all__ = ["count_shared", "count_shared_among"]

Places: TypeAlias = npt.NDArray[np.integer[Any]]
"""32 or 64 bits, as scipy chooses."""


@compiled
def count_shared(ptr: Places, keys: Places, key_ptr: Places, rows: Places, out: FloatArray) -> None:
    """out[i, j] += the number of keys that sets i and j share.

    Set i has the keys ptr[i] .. ptr[i + 1] - 1 of `keys`; key c is in the sets key_ptr[c] .. of `rows`.
    """
    for i in range(len(ptr) - 1):
        for place in range(ptr[i], ptr[i + 1]):
            for entry in range(key_ptr[keys[place]], key_ptr[keys[place] + 1]):
                out[i, rows[entry]] += 1


@compiled
def count_shared_among(ptr: Places, keys: Places, key_ptr: Places, rows: Places, out: FloatArray) -> None:
    """Do so for sets and themselves, each pair once; the sets of a key ascend."""
    later = key_ptr[:-1].copy()  # the first set of each key from i on: i itself if it has the key
    for i in range(len(ptr) - 1):
        for place in range(ptr[i], ptr[i + 1]):
            key = keys[place]
            for entry in range(later[key], key_ptr[key + 1]):
                out[i, rows[entry]] += 1
            later[key] += 1
    for i in range(len(out)):
        for j in range(i):
            out[i, j] = out[j, i]
