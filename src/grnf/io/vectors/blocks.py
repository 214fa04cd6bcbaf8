"""Rows of an embedding, some at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf.io.raw import Cell
from grnf.typing import FloatArray

__all__ = [
    "Kind",
    "Survey",
    "VectorBlock",
    "array_of",
    "as_text",
    "check_column_name",
    "plain",
    "survey",
    "typed",
]

OUR_NAMES = re.compile("graph_id|y|embedding|grnf[0-9]+")
"""Columns that vectors have of their own."""


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
    columns : mapping from name to sequence
        What else is known of the graphs, one entry each, None where one is missing; a `Cell` is a number if
        all entries of its column are.
    """

    ids: Sequence[str]
    y: Sequence[Any]
    Z: FloatArray
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.Z.ndim != 2 or not len(self.ids) == len(self.y) == len(self.Z):
            raise ValueError(
                f"a block needs one id, one y and one row each; got {len(self.ids)} ids, {len(self.y)} y "
                f"and Z of shape {self.Z.shape}"
            )
        for name, values in self.columns.items():
            check_column_name(name)
            if len(values) != len(self.Z):
                raise ValueError(f"column {name!r} has {len(values)} entries for {len(self.Z)} rows")


def check_column_name(name: str) -> None:
    """Refuse a column that is called as one that vectors have of their own.

    Examples
    --------
    >>> check_column_name("logP")
    >>> check_column_name("grnf0")
    Traceback (most recent call last):
    ...
    ValueError: a column cannot be called 'grnf0': vectors are written with a column of that name
    """
    if OUR_NAMES.fullmatch(name):
        raise ValueError(
            f"a column cannot be called {name!r}: vectors are written with a column of that name"
        )


@dataclass(frozen=True)
class Kind:
    """What a column holds: "int", "float", "string" or None for nothing; if any is missing; longest text."""

    type: str | None
    missing: bool
    longest: int


@dataclass(frozen=True)
class Survey:
    """What must be known of all blocks before the first is written."""

    n_rows: int
    n_components: int
    dtype: np.dtype[Any]
    longest_id: int
    y: Kind
    columns: Mapping[str, Kind]


class _Look:
    """Goes through the values of a column."""

    def __init__(self) -> None:
        self.kinds: set[str] = set()
        self.absent_word = False
        self.missing = False
        self.longest = 1
        self.count = 0

    def add(self, values: Iterable[Any]) -> None:
        for value in values:
            self.count += 1
            if value is None:
                self.missing = True
                continue
            self.longest = max(self.longest, len(as_text(value)))
            if isinstance(value, Cell) and value.is_absent:
                self.absent_word = True
            else:
                self.kinds.add(_kind(value))

    def kind(self) -> Kind:
        common = _common(self.kinds)
        if self.absent_word and common is None:
            common = "string"
        return Kind(common, self.missing or (self.absent_word and common != "string"), self.longest)


def survey(blocks: Iterable[VectorBlock]) -> Survey:
    """Read shapes, types and lengths of all blocks; the vectors themselves are not touched.

    Examples
    --------
    >>> first = VectorBlock(["a", "b"], [1, None], np.zeros((2, 3)), {"code": [Cell("1"), Cell("x")]})
    >>> found = survey([first, VectorBlock(["c"], [2.5], np.zeros((1, 3)))])
    >>> found.n_rows, found.n_components, found.y
    (3, 3, Kind(type='float', missing=True, longest=3))
    >>> found.columns
    {'code': Kind(type='string', missing=True, longest=1)}
    """
    n_rows = longest_id = 0
    widths: set[int] = set()
    dtypes: set[np.dtype[Any]] = set()
    y = _Look()
    columns: dict[str, _Look] = {}
    for block in blocks:
        n_rows += len(block.Z)
        widths.add(block.Z.shape[1])
        dtypes.add(block.Z.dtype)
        longest_id = max(longest_id, *map(len, block.ids), 1)
        y.add(block.y)
        for name, values in block.columns.items():
            columns.setdefault(name, _Look()).add(values)
    if len(widths) != 1 or len(dtypes) != 1:
        found = f"lengths {sorted(widths)}, types {sorted(map(str, dtypes))}"
        raise ValueError(f"blocks of one embedding must have vectors of one length and type; got {found}")
    for look in columns.values():
        look.missing |= look.count < n_rows  # blocks that do not have it
    kinds = {name: look.kind() for name, look in columns.items()}
    return Survey(n_rows, widths.pop(), dtypes.pop(), longest_id, y.kind(), kinds)


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


def typed(values: Iterable[Any], kind: Kind) -> list[Any]:
    """Return values in the type of their column, None where one is missing.

    Examples
    --------
    >>> typed([Cell("1.50"), Cell("NA")], Kind("float", True, 4))
    [1.5, None]
    >>> typed([Cell("1.50"), Cell("NA"), Cell("x")], Kind("string", False, 4))
    ['1.50', 'NA', 'x']
    """
    if kind.type not in ("int", "float"):
        return [None if value is None else str(as_text(value)) for value in values]
    convert: Callable[[Any], Any] = int if kind.type == "int" else float
    numbers = (value.number() if isinstance(value, Cell) else value for value in values)
    return [None if value is None else convert(value) for value in numbers]


def array_of(values: Iterable[Any], kind: Kind) -> npt.NDArray[Any]:
    """Return values as an array of the common type; missing ones are NaN or the empty string."""
    entries = typed(values, kind)
    if kind.type == "int" and not kind.missing:
        return np.array(entries, dtype=np.int64)
    if kind.type in ("int", "float"):
        return np.array([np.nan if value is None else value for value in entries], dtype=np.float64)
    return np.array(["" if value is None else value for value in entries], dtype=f"<U{kind.longest}")


def _kind(value: Any) -> str:
    if isinstance(value, Cell):
        number = value.number()
        value = str(value) if number is None else number
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
