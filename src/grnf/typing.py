"""Types that all folders share: arrays, and the policies that users choose."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = [
    "BoolArray",
    "FloatArray",
    "HandleMissing",
    "HandleUnknown",
    "IntArray",
    "Keys",
    "OnError",
    "ShortArray",
]

FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
IntArray: TypeAlias = npt.NDArray[np.int64]
ShortArray: TypeAlias = npt.NDArray[np.int32] | npt.NDArray[np.uint32]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Keys: TypeAlias = npt.NDArray[np.uint64]

OnError: TypeAlias = Literal["raise", "nan", "skip"]
HandleUnknown: TypeAlias = Literal["open", "error", "ignore"]
HandleMissing: TypeAlias = Literal["error", "zero"]
