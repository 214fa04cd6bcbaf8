"""What a test compares, for all shuffles at once: energy distance, MMD^2 with Gaussian kernels, mean vectors.

For weights w that sum to 0, such as 1 / m on one sample and -1 / n on the other,

    energy distance   2 mean d(x, y) - mean d(x, x') - mean d(y, y') = - w' D w,
    MMD^2             mean k(x, x') + mean k(y, y') - 2 mean k(x, y) = w' K w,
    means             |mean x - mean y|^2 = |w' Z|^2,

so the values of all shuffles are one product of a matrix of distances with a matrix of weights. Distances are
made some rows at a time, and only those of pairs i <= j: memory stays small however many graphs there are.
All of them are at least 0, and 0 where both samples hold the same graphs equally often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from grnf.stats.axes import PooledRows
from grnf.typing import FloatArray

__all__ = ["STATISTICS", "Member", "distances", "members", "pooled_statistics"]

STATISTICS = ("energy", "mmd", "linear")
WIDTHS = (0.5, 1.0, 2.0)
"""Widths of Gaussian kernels, in medians of the distances."""

ROWS = 512
"""Rows of distances that are held at a time."""

MANY = 1024
"""Graphs from which products are made in single precision: rounding is then 1e-3 of what shuffles change."""

SAMPLE = 512
"""Rows that show the typical distance."""


@dataclass(frozen=True)
class Member:
    """One of the statistics that a test looks at.

    Parameters
    ----------
    view : str
    axes : int, optional
        How many whitened axes; None for the vectors as they are.
    width : float, optional
        Of the Gaussian kernel, in medians of the distances.
    """

    view: str
    axes: int | None
    width: float | None = None

    def __str__(self) -> str:
        text = "as it is" if self.axes is None else f"{self.axes} axes"
        return f"{self.view}, {text}" + ("" if self.width is None else f", width {self.width:g}")


def members(view: str, rows: PooledRows, statistic: str) -> list[Member]:
    """Return the statistics of a view, in the order in which `pooled_statistics` has them."""
    widths: tuple[float | None, ...] = WIDTHS if statistic == "mmd" else (None,)
    sets = (*((None,) if rows.as_it_is else ()), *rows.numbers)
    return [Member(view, axes, width) for axes in sets for width in widths]


def pooled_statistics(rows: PooledRows, statistic: str, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the values of all members for all weights, and by how much equal ones may differ by rounding.

    Parameters
    ----------
    rows : PooledRows
    statistic : "energy", "mmd" or "linear"
    weights : array, shape (contrasts, N, ways)
        Each sums to 0 over the N graphs; values are summed over contrasts.

    Examples
    --------
    >>> rows = PooledRows(np.array([[0.0], [0.0], [3.0]]), np.empty((3, 0)), ())
    >>> weights = np.array([[[0.5], [0.5], [-1.0]]])
    >>> pooled_statistics(rows, "energy", weights)[0], pooled_statistics(rows, "linear", weights)[0]
    (array([[6.]]), array([[9.]]))
    """
    if statistic == "linear":
        values = []
        if rows.as_it_is:
            values.append(_means(rows.coordinates, (rows.coordinates.shape[1],), weights))
        if rows.numbers:
            values.append(_means(rows.whitened, rows.numbers, weights))
        T = np.concatenate(values)
        return T, 1e-11 * np.maximum(T.max(axis=1), 1e-300)
    maps = _maps(rows, statistic)
    dtype: Any = np.float64 if len(rows.coordinates) <= MANY else np.float32
    T = np.zeros((len(maps), weights.shape[2]))
    turned = [weight.astype(dtype) for weight in weights]
    for start, stop, squares in _upper_squares(rows):
        blocks: list[FloatArray] = [block.astype(dtype) for block in squares]
        for place, found in enumerate(maps):
            block = found.transform(blocks[found.kind])
            block -= dtype(found.level)
            block[:, stop - start :] *= 2  # the pairs (j, i) beside (i, j)
            for weight in turned:
                product = block @ weight[start:]
                T[place] += np.einsum("ij,ij->j", weight[start:stop], product, dtype=np.float64)
    size = float((np.abs(weights[:, :, 0]).sum(axis=1) ** 2).sum())
    spread = np.array([found.spread for found in maps])
    return T, 4 * float(np.finfo(dtype).eps) * spread * size


def _means(Z: FloatArray, numbers: tuple[int, ...], weights: FloatArray) -> FloatArray:
    """Return |w' Z|^2 over the first so many columns of Z, for all weights."""
    squares = sum((weight.T @ Z) ** 2 for weight in weights)
    running = np.cumsum(squares, axis=1)
    if not Z.shape[1]:
        return np.zeros((len(numbers), weights.shape[2]))
    return np.ascontiguousarray(running[:, [number - 1 for number in numbers]].T)


class _Map(NamedTuple):
    """What a member makes of squared distances.

    The typical value (`level`) is subtracted, which changes nothing but rounding, since weights sum to 0.
    """

    kind: int
    transform: Callable[[FloatArray], FloatArray]
    level: float
    spread: float


def _maps(rows: PooledRows, statistic: str) -> list[_Map]:
    """Return for each member which squared distances it takes, and what it makes of them."""
    some = np.unique(np.linspace(0, len(rows.coordinates) - 1, SAMPLE).astype(np.int64))
    shown = PooledRows(rows.coordinates[some], rows.whitened[some], rows.numbers, rows.as_it_is)
    found: list[_Map] = []
    for kind, squares in enumerate(_squares(shown, slice(None), slice(None))):
        apart = squares[np.triu_indices(len(squares), 1)]
        apart = apart if len(apart) else np.zeros(1)
        made: list[Callable[[FloatArray], FloatArray]] = [_energy]
        if statistic == "mmd":
            median = float(np.median(apart[apart > 0])) if (apart > 0).any() else 1.0
            made = [_gaussian(-0.5 / (width**2 * median)) for width in WIDTHS]
        for transform in made:
            values = transform(apart)
            level = float(values.mean())
            found.append(_Map(kind, transform, level, float(np.abs(values - level).mean())))
    return found


def _energy(squares: FloatArray) -> FloatArray:
    return np.asarray(-np.sqrt(squares))


def _gaussian(scale: float) -> Callable[[FloatArray], FloatArray]:
    return lambda squares: np.asarray(np.exp(scale * squares))


def _upper_squares(rows: PooledRows) -> Iterator[tuple[int, int, list[FloatArray]]]:
    """Yield squared distances of rows start .. stop - 1 to all from `start` on, for each set of axes."""
    N = len(rows.coordinates)
    for start in range(0, N, ROWS):
        stop = min(start + ROWS, N)
        yield start, stop, _squares(rows, slice(start, stop), slice(start, None))


def _squares(rows: PooledRows, some: slice, others: slice) -> list[FloatArray]:
    """Return squared distances: of the vectors as they are, and along the first whitened axes."""
    found = [_square(rows.coordinates[some], rows.coordinates[others])] if rows.as_it_is else []
    before, running = 0, None
    for number in rows.numbers:
        more = _square(rows.whitened[some, before:number], rows.whitened[others, before:number])
        running = more if running is None else running + more
        found.append(running)
        before = number
    return found


def _square(X: FloatArray, Y: FloatArray) -> FloatArray:
    squares = X @ Y.T
    squares *= -2
    squares += np.einsum("ij,ij->i", X, X)[:, np.newaxis]
    squares += np.einsum("ij,ij->i", Y, Y)
    # equal rows are 0 apart, not the root of a rounding error
    squares[squares < 1e-13 * max(float(np.abs(squares).max(initial=0)), 1e-300)] = 0
    return squares


def distances(X: FloatArray, Y: FloatArray) -> FloatArray:
    """Return the Euclidean distances between rows.

    Examples
    --------
    >>> distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]))
    array([[5.]])
    """
    return np.asarray(np.sqrt(_square(X, Y)))
