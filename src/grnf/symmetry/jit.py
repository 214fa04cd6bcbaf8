"""How the loops of this folder are compiled: as those of the engine, and again when any of them changes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba

from grnf.engine import jit

__all__ = ["compiled", "inlined", "inner"]

P = ParamSpec("P")
R = TypeVar("R")

_HERE = Path(__file__).parent


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop."""
    return _kept_here(jit.compiled, function)


def inner(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop that only other loops call."""
    return _kept_here(jit.inner, function)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Make a loop part of the only one that calls it."""
    return _kept_here(jit.inlined, function)


def _kept_here(how: Callable[[Callable[P, R]], Callable[P, R]], function: Callable[P, R]) -> Callable[P, R]:
    config: Any = numba.config  # its fields are not declared
    folder = config.CACHE_DIR
    config.CACHE_DIR = str(Path(folder or _HERE / "__pycache__") / f"symmetry-{_sources_hash()}")
    try:
        return how(function)
    finally:
        config.CACHE_DIR = folder


@cache
def _sources_hash() -> str:
    """Hash the sources of all loops: a loop contains those it calls, so a change in any outdates them all."""
    digest = hashlib.sha256()
    for name in ("jit", "partitions", "leaves", "trees"):
        digest.update((_HERE / f"{name}.py").read_bytes())
    return digest.hexdigest()[:16]
