"""How loops are compiled: one place for all settings."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numba
from numba.core import event

__all__ = ["kernel"]

P = ParamSpec("P")
R = TypeVar("R")

logger = logging.getLogger("grnf")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop: cached on disk, free of the interpreter lock, multiply and add fused.

    Sums are not reassociated: the same call gives the same bits.
    """
    compiled: Callable[P, R] = numba.njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")(
        function
    )
    return compiled


class _Announcer(event.Listener):
    """Says once that loops are being compiled; loops that are read from the cache raise no such event."""

    told = False

    def on_start(self, event: Any) -> None:
        module = str(event.data["dispatcher"].py_func.__module__)
        if self.told or not module.startswith("grnf."):
            return
        self.told = True
        message = "compiling the loops; this happens once, later runs read them from the cache"
        logger.info(message)
        if sys.stderr.isatty():
            sys.stderr.write(f"grnf: {message}\n")

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Announcer())  # type: ignore[no-untyped-call]
