"""Sums of relu or ramp over all pairs of rows, by sorting, and their derivatives.

As if there were no edges: sum_ij relu(a_i + b_j) needs only sorted a and sorted b, since the set of b_j above
-a_i grows with a_i, and its size and sum are kept. ramp(x) = relu(x) - relu(x - 1). Exact, in O(n log n) per
channel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from grnf._utils.jit import compiled
from grnf.engine.rows import RAMP, ActivationCode
from grnf.typing import FloatArray


def columns_of(*rows: FloatArray) -> FloatArray:
    """Return arrays of rows (n, channels) as columns: one row per channel of the first, then of the next."""
    width = rows[0].shape[1]
    columns = np.empty((len(rows) * width, len(rows[0])), rows[0].dtype)
    for place, array in enumerate(rows):
        transpose(array, columns[place * width : (place + 1) * width])
    return columns


def pair_sums(rho: ActivationCode, a: FloatArray, b: FloatArray, weight: FloatArray) -> FloatArray:
    """Return sum_ij w_i w_j rho(a_i + b_j) of each channel, for rows a_i, b_j, rho: relu or ramp."""
    return pair_sums_of_columns(rho, columns_of(a, b), weight)


def pair_sums_of_columns(
    rho: ActivationCode, columns: npt.NDArray[Any], weight: npt.NDArray[Any]
) -> FloatArray:
    """Do the same for `columns`, with a row per channel of a, then of b. They are overwritten."""
    if (weight == 1).all():
        columns.sort(axis=1)
        weights = weight[np.newaxis]  # one row for all
    else:
        order = np.argsort(columns, axis=1)
        columns, weights = np.take_along_axis(columns, order, axis=1), weight[order]
    half = len(columns) // 2
    wx, wy = (weights, weights) if len(weights) == 1 else (weights[:half], weights[half:])
    U = _merge(columns[:half], wx, columns[half:], wy, 0.0)
    if len(rho) == RAMP:
        U -= _merge(columns[:half], wx, columns[half:], wy, -1.0)
    return U


def pair_masses(
    rho: ActivationCode, a: FloatArray, b: FloatArray, weight: npt.NDArray[Any]
) -> tuple[FloatArray, FloatArray]:
    """Return sum_j w_j rho'(a_i + b_j) and sum_i w_i rho'(a_i + b_j), in the shapes of a and b."""
    width, columns = a.shape[1], columns_of(a, b)
    order: Any = np.argsort(columns, axis=1)
    ranked, weights = np.take_along_axis(columns, order, axis=1), weight[order]
    result = np.zeros(columns.shape)
    for shift, sign in ((0.0, 1.0), (-1.0, -1.0)) if len(rho) == RAMP else ((0.0, 1.0),):
        _add_masses(ranked[:width], ranked[width:], weights[width:], shift, sign, result[:width])
        _add_masses(ranked[width:], ranked[:width], weights[:width], shift, sign, result[width:])
    masses = np.empty_like(columns)
    np.put_along_axis(masses, order, result.astype(columns.dtype), axis=1)
    return masses[:width].T, masses[width:].T


@compiled
def transpose(a: FloatArray, out: FloatArray) -> None:
    """Set out[h, i] = a[i, h], reading a row by row: faster than numpy."""
    for first in range(0, a.shape[0], 64):
        last = min(first + 64, a.shape[0])
        for h in range(a.shape[1]):
            for i in range(first, last):
                out[h, i] = a[i, h]


@compiled
def _merge(x: FloatArray, wx: FloatArray, y: FloatArray, wy: FloatArray, shift: float) -> FloatArray:
    """Return sum_ij wx_i wy_j relu(x_i + y_j + shift) of each row, both sorted ascending."""
    U = np.zeros(len(x))
    for h in range(len(x)):
        u, v = h % len(wx), h % len(wy)
        j = y.shape[1]
        mass = total = result = 0.0
        for i in range(x.shape[1]):
            xi = x[h, i] + shift
            while j > 0 and xi + y[h, j - 1] > 0:
                j -= 1
                mass += wy[v, j]
                total += wy[v, j] * y[h, j]
            result += wx[u, i] * (xi * mass + total)
        U[h] = result
    return U


@compiled
def _add_masses(
    x: FloatArray, y: FloatArray, wy: FloatArray, shift: float, sign: float, out: FloatArray
) -> None:
    """Add sign times the weight of all j with x_i + y_j + shift > 0 to out_i. Rows sorted ascending."""
    for h in range(len(x)):
        j, mass = y.shape[1], 0.0
        for i in range(x.shape[1]):
            while j > 0 and x[h, i] + shift + y[h, j - 1] > 0:
                j -= 1
                mass += wy[h, j]
            out[h, i] += sign * mass
