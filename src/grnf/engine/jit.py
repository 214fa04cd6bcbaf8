"""How loops are compiled: one place for all settings."""

from __future__ import annotations

import gc
import hashlib
import logging
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
from numba.core import event

__all__ = ["compiled", "inlined", "inner"]

P = ParamSpec("P")
R = TypeVar("R")

_HERE = Path(__file__).parent
logger = logging.getLogger("grnf")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop: cached on disk, free of the interpreter lock, multiply and add fused.

    Sums are not reassociated: the same call gives the same bits.
    """
    return _compiled(function)


def inner(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop that only other loops call: what Python would need to call it is left out."""
    return _compiled(function, no_cpython_wrapper=True)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Make a loop part of the one that calls it, in place of compiling it by itself and there again."""
    return _compiled(function, no_cpython_wrapper=True, inline="always")


def _compiled(function: Callable[P, R], **more: Any) -> Callable[P, R]:
    options: dict[str, Any] = {"nogil": True, "fastmath": {"contract"}, "error_model": "numpy", **more}
    options["no_cfunc_wrapper"] = True  # nobody calls the loops from C
    config: Any = numba.config  # its fields are not declared
    folder = config.CACHE_DIR
    config.CACHE_DIR = str(Path(folder or _HERE / "__pycache__") / f"engine-{_sources_hash()}")
    try:
        loop: Callable[P, R] = numba.njit(cache=True, **options)(function)
    finally:
        config.CACHE_DIR = folder
    return loop


@cache
def _sources_hash() -> str:
    """Hash the sources of all loops: a loop contains those it calls, so a change in any outdates them all.

    The cache of numba looks at the file of the loop alone, and would serve old code.
    """
    digest = hashlib.sha256()
    for path in sorted(_HERE.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class _Compiling(event.Listener):
    """Holds the garbage collector back while loops are compiled: it would take an eighth of the time.

    A loop compiles others on its way; numba lets one thread at a time compile.
    """

    depth = 0
    collects = False

    def on_start(self, event: Any) -> None:  # noqa: ARG002 their signature
        if self.depth == 0:
            self.collects = gc.isenabled()
            gc.disable()
        self.depth += 1

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        self.depth -= 1
        if self.depth == 0 and self.collects:
            gc.enable()


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
        if sys.stderr.isatty() and not logger.handlers:  # a handler has said it
            sys.stderr.write(f"grnf: {message}\n")

    def on_end(self, event: Any) -> None:
        pass


for listener in (_Announcer(), _Compiling()):
    event.register("numba:compile", listener)  # type: ignore[no-untyped-call]
