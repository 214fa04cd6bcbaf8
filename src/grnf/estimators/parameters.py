"""Checks of parameters that estimators share; each says what was found and what is wanted."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

__all__ = ["checked_heads", "checked_hidden_channels", "memory_size"]

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
SMALLEST_MEMORY = 10**6


def memory_size(size: Any) -> int:
    """Return a number of bytes, given as such or like "500MB".

    Examples
    --------
    >>> memory_size("1.5 GB"), memory_size(2_000_000)
    (1500000000, 2000000)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]?B)?\s*", str(size).upper())
    if match is None:
        raise ValueError(f"max_memory must be a number of bytes or like '500MB'; got {size!r}")
    value = int(float(match[1]) * UNITS[match[2] or ""])
    if value < SMALLEST_MEMORY:
        raise ValueError(f"max_memory must be at least 1 MB; got {size!r}")
    return value


def checked_hidden_channels(hidden_channels: Any) -> int:
    """Return F_h if it is an integer >= 1."""
    if isinstance(hidden_channels, (int, np.integer)) and hidden_channels >= 1:
        return int(hidden_channels)
    raise ValueError(f"hidden_channels must be an integer >= 1; got {hidden_channels!r}")


def checked_heads(heads: Any) -> int:
    """Return R if it is an integer >= 1."""
    if isinstance(heads, (int, np.integer)) and not isinstance(heads, bool) and heads >= 1:
        return int(heads)
    raise ValueError(f"heads must be an integer >= 1; got {heads!r}")
