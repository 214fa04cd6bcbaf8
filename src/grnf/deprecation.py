"""Old names, which work for one more release and say what they are called now."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

__all__ = ["parameter", "renamed", "warn_renamed"]

UNSET = "deprecated"
"""The default of a parameter that has another name now, as in scikit-learn."""

P = ParamSpec("P")
R = TypeVar("R")


def warn_renamed(old: str, new: str, *, stacklevel: int = 3) -> None:
    """Warn whoever called what calls this."""
    warnings.warn(f"{old} is now {new}; the old name goes in 0.2", FutureWarning, stacklevel=stacklevel)


def renamed(old: str, new: str, function: Callable[P, R]) -> Callable[P, R]:
    """Return the function under its old name, with a warning that tells the new one."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        warn_renamed(old, new)
        return function(*args, **kwargs)

    call.__doc__ = f"Deprecated: write `{new}`."
    return call


def parameter(estimator: Any, old: str, new: str) -> Any:
    """Return a parameter of an estimator, which may have been given by its old name."""
    value = getattr(estimator, old)
    if isinstance(value, str) and value == UNSET:
        return getattr(estimator, new)
    warn_renamed(f"the parameter {old} of {type(estimator).__name__}", new, stacklevel=4)
    return value
