"""Old names, which work for one more release and say what they are called now."""

from __future__ import annotations

import warnings
from typing import Any

__all__ = ["parameter", "warn_renamed"]

UNSET = "deprecated"
"""The default of a parameter that has another name now, as in scikit-learn."""


def warn_renamed(old: str, new: str, *, stacklevel: int = 3) -> None:
    """Warn whoever called what calls this."""
    warnings.warn(f"{old} is now {new}; the old name goes in 0.2", FutureWarning, stacklevel=stacklevel)


def parameter(estimator: Any, old: str, new: str) -> Any:
    """Return a parameter of an estimator, which may have been given by its old name."""
    value = getattr(estimator, old)
    if isinstance(value, str) and value == UNSET:
        return getattr(estimator, new)
    warn_renamed(f"the parameter {old} of {type(estimator).__name__}", new, stacklevel=4)
    return value
