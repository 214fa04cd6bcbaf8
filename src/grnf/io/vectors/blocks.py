"""Rows of an embedding, some at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf.typing import FloatArray

__all__ = ["Survey", "VectorBlock", "as_text", "plain", "survey"]


@dataclass(frozen=True, eq=False)
class VectorBlock:
    """Some rows of an embedding.

    Parameters
    ----------
    ids : sequence of str
        What the graphs are called.
    y : sequence
        Their labels or targets; None where a graph has none.
    Z : array, shape (n_rows, M)
        Their vectors; it may be a memory map.
    """

    ids: Sequence[str]
    y: Sequence[Any]
    Z: FloatArray

    def __post_init__(self) -> None:
        if self.Z.ndim != 2 or not len(self.ids) == len(self.y) == len(self.Z):
            raise ValueError(
                f"a block needs one id, one y and one row each; got {len(self.ids)} ids, {len(self.y)} y "
                f"and Z of shape {self.Z.shape}"
            )


@dataclass(frozen=True)
class Survey:
    """What must be known of all blocks before the first is written."""

    n_rows: int
    n_components: int
    dtype: np.dtype[Any]
    y_type: str | None
    y_missing: bool
    longest_id: int
    longest_y: int


def survey(blocks: Iterable[VectorBlock]) -> Survey:
    """Read shapes, types and lengths of all blocks; the vectors themselves are not touched.

    Examples
    --------
    >>> first = VectorBlock(["a", "b"], [1, None], np.zeros((2, 3)))
    >>> found = survey([first, VectorBlock(["c"], [2.5], np.zeros((1, 3)))])
    >>> found.n_rows, found.n_components, found.y_type, found.y_missing
    (3, 3, 'float', True)
    """
    n_rows = longest_id = longest_y = 0
    widths: set[int] = set()
    dtypes: set[np.dtype[Any]] = set()
    kinds: set[str] = set()
    missing = False
    for block in blocks:
        n_rows += len(block.Z)
        widths.add(block.Z.shape[1])
        dtypes.add(block.Z.dtype)
        longest_id = max(longest_id, *map(len, block.ids), 1)
        for value in block.y:
            if value is None:
                missing = True
            else:
                kinds.add(_kind(value))
                longest_y = max(longest_y, len(as_text(value)))
    if len(widths) != 1 or len(dtypes) != 1:
        found = f"lengths {sorted(widths)}, types {sorted(map(str, dtypes))}"
        raise ValueError(f"blocks of one embedding must have vectors of one length and type; got {found}")
    return Survey(n_rows, widths.pop(), dtypes.pop(), _common(kinds), missing, longest_id, max(longest_y, 1))


def plain(value: Any) -> Any:
    """Turn numpy numbers and arrays into what JSON knows.

    Examples
    --------
    >>> plain(np.int64(3)), plain(np.array([1.5, 2.0]))
    (3, [1.5, 2.0])
    """
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value


def as_text(value: Any) -> str:
    """Return a label as text: strings as they are, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(plain(value), default=str)


def y_array(values: Iterable[Any], found: Survey) -> npt.NDArray[Any]:
    """Return labels as an array of the common type; missing ones are NaN or the empty string."""
    if found.y_type == "int" and not found.y_missing:
        return np.array(list(values), dtype=np.int64)
    if found.y_type in ("int", "float"):
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    texts = ["" if value is None else as_text(value) for value in values]
    return np.array(texts, dtype=f"<U{found.longest_y}")


def _kind(value: Any) -> str:
    value = plain(value)
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return "int"
    return "float" if isinstance(value, float) else "string"


def _common(kinds: set[str]) -> str | None:
    if not kinds:
        return None
    if len(kinds) == 1:
        return next(iter(kinds))
    return "float" if kinds == {"int", "float"} else "string"
