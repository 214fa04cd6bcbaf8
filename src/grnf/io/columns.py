"""Columns from plain values and back: what text formats have in common."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError

__all__ = ["check_names", "column", "columns_of_rows", "number", "plain_rows", "scalar_y"]


def column(values: Sequence[Any], title: str = "column") -> npt.NDArray[Any]:
    """Return values, None where missing, as an array: numbers where all are numbers, else categories.

    Lists of numbers of one length become rows. Anything else that is not a number, truth value or text is
    kept as a category under its JSON text.

    Examples
    --------
    >>> column([1, None, 2.5])
    array([1. , nan, 2.5])
    >>> column(["C", None])
    array(['C', None], dtype=object)
    >>> column([[0, 1], [2, 3]])
    array([[0, 1],
           [2, 3]])
    """
    kinds = {type(value) for value in values}
    present = kinds - {type(None)}
    try:
        if present == {bool} and present == kinds:
            return np.array(values, dtype=np.bool_)
        if present and present <= {int, float}:
            return _numbers(values, present == kinds)
        if present and present <= {list, tuple}:
            rows = _rows_of_numbers(values)
            if rows is not None:
                return rows
    except OverflowError:
        raise GraphError(f"{title} holds a number that does not fit in 64 bits") from None
    categories = np.empty(len(values), dtype=object)
    categories[:] = [_category(value) for value in values]
    return categories


def _numbers(values: Sequence[Any], complete: bool) -> npt.NDArray[Any]:
    if complete and all(type(value) is int and -(2**63) <= value < 2**63 for value in values):
        return np.array(values, dtype=np.int64)
    return np.array([np.nan if value is None else float(value) for value in values])


def _rows_of_numbers(values: Sequence[Any]) -> npt.NDArray[Any] | None:
    lengths = {len(value) for value in values if value is not None}
    if len(lengths) != 1:
        return None
    (width,) = lengths
    flat = [entry for value in values for entry in ([None] * width if value is None else value)]
    kinds = {type(entry) for entry in flat}
    if not kinds - {type(None)} <= {int, float}:
        return None
    return _numbers(flat, type(None) not in kinds).reshape(len(values), width)


def _category(value: Any) -> Any:
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    return json.dumps(value, sort_keys=True, default=str)


def columns_of_rows(rows: Sequence[Mapping[str, Any]], item: str) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of rows that name their values, in order of first appearance.

    Examples
    --------
    >>> columns_of_rows([{"a": 1}, {"a": 2, "b": "x"}], "node")
    {'a': array([1, 2]), 'b': array([None, 'x'], dtype=object)}
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: column([row.get(name) for row in rows], f"{item} column {name!r}") for name in names}


def plain_rows(
    columns: Mapping[str, Any], count: int, *, vectors: bool = False
) -> tuple[list[str], list[dict[str, Any]]]:
    """Return column names and, for each node or edge, its values that are not missing, as plain Python.

    Where a format has no vectors, column x of width 2 becomes the columns x_0 and x_1.
    """
    flat: dict[str, list[Any]] = {}
    for name, values in columns.items():
        array = np.asarray(values)
        if array.ndim == 2 and not vectors:
            parts = {f"{name}_{index}": array[:, index] for index in range(array.shape[1])}
        else:
            parts = {name: array}
        for part, entries in parts.items():
            if part in flat:
                raise GraphError(f"two columns would be called {part!r}; rename one of them")
            flat[part] = [_none_for_nan(entry) for entry in entries.tolist()]
    rows = [
        {name: values[index] for name, values in flat.items() if values[index] is not None}
        for index in range(count)
    ]
    return list(flat), rows


def _none_for_nan(value: Any) -> Any:
    if isinstance(value, list):
        return [_none_for_nan(entry) for entry in value]
    return None if isinstance(value, float) and value != value else value


def check_names(names: Collection[str], reserved: Collection[str], kind: str) -> None:
    """Refuse column names that mean something else in a format."""
    for name in names:
        if name in reserved:
            raise GraphError(f"a column called {name!r} cannot be written: {kind} uses that name; rename it")


def number(text: str) -> Any:
    """Return the number that a text is, or the text; None where it is empty.

    Examples
    --------
    >>> [number(text) for text in ("1", "-2.5e3", "C", "1_0", "")]
    [1, -2500.0, 'C', '1_0', None]
    """
    if not text:
        return None
    if text[-1] not in "0123456789.fnyFNY" or "_" in text:
        return text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def scalar_y(y: Any, kind: str) -> Any:
    """Return a label or target as a plain number, truth value or text."""
    value = y.item() if isinstance(y, np.generic) or (isinstance(y, np.ndarray) and y.size == 1) else y
    if not isinstance(value, (str, bool, int, float)):
        raise GraphError(f"y is {type(y).__name__}; {kind} carries a number or a text")
    return value
