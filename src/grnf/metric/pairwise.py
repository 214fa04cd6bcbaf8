"""d_P and kappa_P between collections of vectors, some rows at a time, and the identities between the two."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf.errors import invalid
from grnf.typing import BoolArray, FloatArray, IntArray

BYTES_OF_ROWS = 2**25
CANCELLED = 1e-6
"""Share of |z|^2 + |z'|^2 below which |z - z'|^2 has lost too many digits by subtracting 2 z . z' from it."""


def pairwise_distances(
    Z1: npt.ArrayLike, Z2: npt.ArrayLike | None = None, *, out: npt.NDArray[Any] | None = None
) -> npt.NDArray[Any]:
    """Estimate d_P between all pairs: |z - z'| for z in Z1 and z' in Z2, shape (n1, n2).

    Products of matrices give most entries. Pairs so close that their difference would drown in rounding
    are computed from their differences, so equal vectors are at distance 0.

    Parameters
    ----------
    Z1 : array-like, shape (n1, M)
    Z2 : array-like, shape (n2, M), optional
        By default Z1.
    out : array, shape (n1, n2), optional
        Where to write, for example a memory map. Apart from it, memory does not grow with n1.

    Returns
    -------
    array, shape (n1, n2)

    Examples
    --------
    >>> pairwise_distances([[0.0, 0.0], [3.0, 4.0]])
    array([[0., 5.],
           [5., 0.]])
    """
    X, Y = _matrices(Z1, Z2)
    out = _output(out, (len(X), len(Y)))
    y_norms = _square_norms(Y)
    largest = y_norms.max(where=~np.isnan(y_norms), initial=0.0)
    y_codes: IntArray | None = None
    for rows in _some_rows(len(X), Y.shape[0] + Y.shape[1]):
        x = np.asarray(X[rows], dtype=np.float64)
        x_norms = _square_norms(x)
        squares = _product(x, Y)
        squares *= -2
        squares += x_norms[:, np.newaxis]
        squares += y_norms
        if X is Y:
            own = np.arange(len(x)), np.arange(rows.start, rows.stop)
            squares[own] = np.where(np.isfinite(x_norms), 0, np.nan)
        near = squares <= (CANCELLED * (x_norms + largest))[:, np.newaxis]  # these, and perhaps more
        (some,) = np.nonzero(np.count_nonzero(near, axis=1) > (X is Y))
        if len(some):
            if y_codes is None:
                y_codes, known = _codes(Y, {})
            x_codes = y_codes[rows] if X is Y else _codes(x, known)[0]
            part = slice(None) if len(some) == len(x) else some
            close = squares[part]
            near = close <= CANCELLED * (x_norms[part, np.newaxis] + y_norms)
            equal = near & (x_codes[part, np.newaxis] == y_codes)
            np.copyto(close, 0, where=equal)
            _refine(x[part], Y, close, near & ~equal)
            squares[part] = close
        out[rows] = np.sqrt(squares, out=squares)
    return out


def _refine(x: FloatArray, Y: FloatArray, squares: FloatArray, near: BoolArray) -> None:
    """Compute |x - y|^2 again for pairs that are near, in place, from their differences."""
    for i in np.flatnonzero(near.any(axis=1)):
        (columns,) = np.nonzero(near[i])
        for some in _some_rows(len(columns), Y.shape[1]):
            differences = np.asarray(Y[columns[some]], dtype=np.float64) - x[i]
            squares[i, columns[some]] = _square_norms(differences)


def _codes(Z: FloatArray, known: dict[bytes, int]) -> tuple[IntArray, dict[bytes, int]]:
    """Return numbers that are equal for equal rows. `known` are those given before, and get the new ones."""
    codes = np.empty(len(Z), dtype=np.int64)
    for rows in _some_rows(len(Z), Z.shape[1]):
        for place, row in enumerate(np.asarray(Z[rows], dtype=np.float64, order="C"), rows.start):
            codes[place] = known.setdefault(blake2b(row.data, digest_size=16).digest(), len(known))
    return codes, known


def pairwise_kernels(
    Z1: npt.ArrayLike,
    Z2: npt.ArrayLike | None = None,
    *,
    null: npt.ArrayLike | None = None,
    out: npt.NDArray[Any] | None = None,
) -> npt.NDArray[Any]:
    """Estimate kappa_P between all pairs: (z - z(0)) . (z' - z(0)), shape (n1, n2).

    Parameters
    ----------
    Z1 : array-like, shape (n1, M)
    Z2 : array-like, shape (n2, M), optional
        By default Z1.
    null : array-like, shape (M,), optional
        z(0), the vector of the null graph, for vectors made with ``center=False``. By default vectors are
        taken as centered.
    out : array, shape (n1, n2), optional
        Where to write, for example a memory map.

    Returns
    -------
    array, shape (n1, n2)

    Examples
    --------
    >>> pairwise_kernels([[1.0, 0.0], [1.0, 2.0]])
    array([[1., 1.],
           [1., 5.]])
    """
    X, Y = _matrices(Z1, Z2)
    if null is not None:
        zero = np.asarray(null, dtype=np.float64)
        X, Y = X - zero, Y - zero
    out = _output(out, (len(X), len(Y)))
    for rows in _some_rows(len(X), Y.shape[0] + Y.shape[1]):
        out[rows] = _product(np.asarray(X[rows], dtype=np.float64), Y)
    return out


def distances_from_kernel(K: npt.ArrayLike) -> npt.NDArray[Any]:
    """d_P from kappa_P: d(g1, g2)^2 = kappa(g1, g1) + kappa(g2, g2) - 2 kappa(g1, g2).

    Parameters
    ----------
    K : array-like, shape (n, n)
        The kernel of all pairs of n graphs.

    Returns
    -------
    array, shape (n, n)

    Examples
    --------
    >>> distances_from_kernel([[1.0, 1.0], [1.0, 5.0]])
    array([[0., 2.],
           [2., 0.]])
    """
    K = np.asarray(K, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise invalid("K", "be a square Gram matrix", f"shape {K.shape}")
    diagonal = np.diag(K)
    return np.asarray(np.sqrt(np.maximum(diagonal[:, np.newaxis] + diagonal - 2 * K, 0)))


def kernel_from_distances(
    D: npt.ArrayLike, to_null: npt.ArrayLike, to_null_2: npt.ArrayLike | None = None
) -> npt.NDArray[Any]:
    """kappa_P from d_P: kappa(g1, g2) = (d(g1, 0)^2 + d(g2, 0)^2 - d(g1, g2)^2) / 2.

    Parameters
    ----------
    D : array-like, shape (n1, n2)
        Distances.
    to_null, to_null_2 : array-like, shapes (n1,) and (n2,)
        Distances to the null graph. The second is by default the first.

    Returns
    -------
    array, shape (n1, n2)

    Examples
    --------
    >>> kernel_from_distances([[0.0, 2.0], [2.0, 0.0]], to_null=[1.0, 2.2])
    array([[1.  , 0.92],
           [0.92, 4.84]])
    """
    first = np.asarray(to_null, dtype=np.float64)
    second = first if to_null_2 is None else np.asarray(to_null_2, dtype=np.float64)
    squares = np.square(np.asarray(D, dtype=np.float64))
    return np.asarray(0.5 * (np.square(first)[:, np.newaxis] + np.square(second) - squares))


def _matrices(Z1: npt.ArrayLike, Z2: npt.ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    X = np.asarray(Z1)
    Y = X if Z2 is None else np.asarray(Z2)
    for name, Z in (("Z1", X), ("Z2", Y)):
        if Z.ndim != 2 or Z.dtype.kind not in "fiu":
            found = f"{Z.dtype} of shape {Z.shape}"
            raise invalid(name, "be vectors, shape (n_graphs, M)", found)
    if X.shape[1] != Y.shape[1]:
        found = f"vectors of length {X.shape[1]} and {Y.shape[1]}"
        raise invalid("Z1 and Z2", "come from the same transformer", found)
    return X, Y


def _output(out: npt.NDArray[Any] | None, shape: tuple[int, int]) -> npt.NDArray[Any]:
    if out is None:
        return np.empty(shape)
    if out.shape != shape:
        raise invalid("out", f"have shape {shape}", str(out.shape))
    return out


def _some_rows(n_rows: int, row_size: int) -> list[slice]:
    step = max(1, BYTES_OF_ROWS // (8 * max(row_size, 1)))
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def _square_norms(Z: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->i", Z, Z, dtype=np.float64))


def _product(x: FloatArray, Y: FloatArray) -> FloatArray:
    """Return x @ Y.T in float64, converting some rows of Y at a time."""
    if Y.dtype == np.float64:
        return np.asarray(x @ Y.T)
    result = np.empty((len(x), len(Y)))
    for rows in _some_rows(len(Y), Y.shape[1]):
        result[:, rows] = x @ Y[rows].astype(np.float64).T
    return result
