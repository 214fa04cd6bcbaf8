"""Columns of nodes or edges, made of the values that objects and tables carry."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError
from grnf.io.raw import RawGraph
from grnf.typing import BoolArray, FloatArray, IntArray

__all__ = [
    "as_column",
    "check_columns",
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
    columns: dict[str, npt.NDArray[Any]] = {}
    for key in dict.fromkeys(key for row in rows for key in row):
        if str(key) in columns:
            raise GraphError(f"two attributes are both called {str(key)!r} when written as text; rename one")
        columns[str(key)] = as_column([row.get(key) for row in rows])
    return columns


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


def check_columns(raw: RawGraph) -> None:
    """Raise a `GraphError` if a column is neither numbers, nor vectors of one length, nor categories."""
    for item, columns in (("node", raw.node_columns), ("edge", raw.edge_columns)):
        for name, values in columns.items():
            array = np.asarray(values)
            if array.dtype.kind in "biuf" and array.ndim in (1, 2):
                continue
            if array.ndim != 1:
                raise GraphError(f"the {item} column {name!r} has shape {array.shape} and type {array.dtype}")
            try:
                set(array.tolist())
            except TypeError:
                index = [_is_hashable(value) for value in array].index(False)
                raise GraphError(
                    f"the {item} column {name!r} holds {array[index]!r:.60} for {item} {index}; it must hold "
                    "numbers, vectors of one length, or categories such as text"
                ) from None


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
