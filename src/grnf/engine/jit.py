"""How loops are compiled: one place for all settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba

__all__ = ["kernel"]

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop: cached on disk, free of the interpreter lock, multiply and add fused.

    Sums are not reassociated: the same call gives the same bits.
    """
    compiled: Callable[P, R] = numba.njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")(
        function
    )
    return compiled
