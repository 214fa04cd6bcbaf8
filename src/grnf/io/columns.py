"""From the values that objects and tables carry to columns: numbers, vectors or categories."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError
from grnf.typing import BoolArray, FloatArray, IntArray

__all__ = [
    "as_column",
    "as_numbers",
    "column_of_payloads",
    "columns_of_rows",
    "is_missing",
    "undirected_once",
]

NOT_A_VALUE = ("NAType", "NaTType")
"""What pandas calls its missing values, known by name so that pandas need not be imported."""


def is_missing(value: Any) -> bool:
    """Whether a value stands for nothing: None, NaN, or the missing values of pandas.

    Examples
    --------
    >>> [is_missing(value) for value in (None, float("nan"), 0, "")]
    [True, True, False, False]
    """
    if value is None or type(value).__name__ in NOT_A_VALUE:
        return True
    return isinstance(value, (float, np.floating)) and bool(value != value)


def as_column(values: Sequence[Any]) -> npt.NDArray[Any]:
    """Return numbers as a float array, vectors of one length as a matrix, anything else as categories.

    Missing values are NaN among numbers and None among categories. True and False are 1 and 0.

    Examples
    --------
    >>> as_column([1, None, True])
    array([ 1., nan,  1.])
    >>> as_column([(0, 1), None])
    array([[ 0.,  1.],
           [nan, nan]])
    >>> as_column(["C", None, 6])
    array(['C', None, 6], dtype=object)
    """
    given = [None if is_missing(value) else _plain(value) for value in values]
    present = [value for value in given if value is not None]
    if present and all(isinstance(value, numbers.Real) for value in present):
        return np.array([np.nan if value is None else float(value) for value in given])
    width = _common_length(present)
    if width is not None:
        gap = [np.nan] * width
        return np.array([gap if value is None else value for value in given], dtype=np.float64)
    column = np.empty(len(given), dtype=object)
    column[:] = given
    return column


def _plain(value: Any) -> Any:
    """Turn scalars of numpy and torch into Python's, and their vectors into lists."""
    if isinstance(value, (str, bytes)):
        return value
    if hasattr(value, "tolist") and hasattr(value, "shape"):
        return value.tolist()
    return value


def _common_length(values: list[Any]) -> int | None:
    """Return the length of the vectors of numbers that all values are, or None."""
    if not values or not all(isinstance(value, (list, tuple)) for value in values):
        return None
    lengths = {len(value) for value in values}
    if len(lengths) > 1 or not all(isinstance(entry, numbers.Real) for value in values for entry in value):
        return None
    return int(lengths.pop())


def columns_of_rows(rows: Sequence[Mapping[Any, Any]]) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of dictionaries, one for each key that any of them has.

    Examples
    --------
    >>> columns_of_rows([{"charge": 1}, {}])
    {'charge': array([ 1., nan])}
    """
    keys = dict.fromkeys(key for row in rows for key in row)
    names = unique_names(keys)
    return {name: as_column([row.get(key) for row in rows]) for name, key in zip(names, keys, strict=True)}


def unique_names(keys: Iterable[Any]) -> list[str]:
    """Return the keys as strings, which must not become equal."""
    names = [str(key) for key in keys]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise GraphError(f"two attributes are both called {twice!r} when written as text; rename one")
    return names


def column_of_payloads(payloads: Sequence[Any], number: str, other: str) -> dict[str, npt.NDArray[Any]]:
    """Return columns of free objects: the keys of dictionaries, or one column of anything else.

    Parameters
    ----------
    payloads : sequence
    number, other : str
        Name of the column where payloads are single numbers, and where they are not.
    """
    if all(payload is None for payload in payloads):
        return {}
    if all(payload is None or isinstance(payload, Mapping) for payload in payloads):
        return columns_of_rows([payload or {} for payload in payloads])
    column = as_column(payloads)
    return {number if column.dtype != object and column.ndim == 1 else other: column}


def as_numbers(values: Any, field: str) -> npt.NDArray[Any]:
    """Return an array or tensor of real numbers as a numpy array, or say which field is none."""
    if hasattr(values, "detach"):
        tensor = values.detach().cpu()
        values = (tensor.double() if tensor.is_floating_point() else tensor).numpy()
    try:
        array = np.asarray(values)
    except ValueError:
        raise GraphError(f"{field} must be an array of numbers, rows of one length") from None
    if array.dtype.kind not in "biuf":
        raise GraphError(f"{field} must hold real numbers; got {type(values).__name__} of {array.dtype}")
    return array


def undirected_once(arcs: IntArray, values: FloatArray) -> BoolArray | None:
    """Return which arcs to keep if each has its reverse with equal values, so that the graph is undirected.

    None if it is not. Self-loops are their own reverse and are all kept.

    Parameters
    ----------
    arcs : array of int, shape (n_arcs, 2)
    values : array, shape (n_arcs, width)
        What must agree.

    Examples
    --------
    >>> undirected_once(np.array([[0, 1], [1, 0], [1, 1]]), np.empty((3, 0)))
    array([ True, False,  True])
    >>> undirected_once(np.array([[0, 1], [1, 0]]), np.array([[1.0], [2.0]])) is None
    True
    """
    n_nodes = int(arcs.max(initial=0)) + 1
    if values.shape[1] == 0 and arcs.min(initial=0) >= 0 and n_nodes < 2**31:  # numbers sort much faster
        there, back = arcs[:, 0] * n_nodes + arcs[:, 1], arcs[:, 1] * n_nodes + arcs[:, 0]
        same = np.array_equal(np.sort(there), np.sort(back))
        return np.asarray(arcs[:, 0] <= arcs[:, 1]) if same else None
    keys = tuple(values.T)
    forth = np.lexsort((*keys, arcs[:, 1], arcs[:, 0]))
    back = np.lexsort((*keys, arcs[:, 0], arcs[:, 1]))
    if np.array_equal(arcs[forth], arcs[back][:, ::-1]) and np.array_equal(
        values[forth], values[back], equal_nan=True
    ):
        return np.asarray(arcs[:, 0] <= arcs[:, 1])
    return None
