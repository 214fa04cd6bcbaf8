"""Old public names: they work for one more release, and say what to write instead."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

__all__ = ["renamed"]

P = ParamSpec("P")
R = TypeVar("R")


def renamed(old: str, new: str, function: Callable[P, R]) -> Callable[P, R]:
    """Return the function under its old name, with a warning that tells the new one."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        warnings.warn(f"{old} will go; write {new}", DeprecationWarning, stacklevel=2)
        return function(*args, **kwargs)

    call.__doc__ = f"Deprecated: write `{new}`."
    return call
