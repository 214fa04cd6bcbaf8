"""Loops over one row of hidden channels: the innermost, vectorised step of every primitive.

A row has one entry per hidden channel. The activation is switched once per row, never inside the loop.
Codes of activations: see `grnf.activations`.
"""

from __future__ import annotations

import math

from grnf.engine.jit import kernel
from grnf.typing import FloatArray

__all__ = ["add_activated", "add_product", "polynomial"]


@kernel
def polynomial(coefficient: FloatArray, u: float, start: int, stop: int, out: FloatArray) -> None:
    """Set out = c_0 + c_1 u + c_2 u^2 on channels start .. stop - 1; coefficient: shape (3, rows, H)."""
    v = out.dtype.type(u)
    for r in range(coefficient.shape[1]):
        for h in range(stop - start):
            low, middle, high = (
                coefficient[0, r, start + h],
                coefficient[1, r, start + h],
                coefficient[2, r, start + h],
            )
            out[r, h] = low + v * (middle + v * high)


@kernel
def add_product(row: FloatArray, matrix: FloatArray, out: FloatArray) -> None:
    """Add row @ matrix to out, where zeros of the row cost nothing (one-hot labels are a look-up)."""
    for r in range(len(row)):
        factor = row[r]
        if factor != 0:
            for h in range(len(out)):
                out[h] += factor * matrix[r, h]


@kernel
def add_activated(code: int, weight: float, x: FloatArray, y: FloatArray, out: FloatArray) -> None:
    """Add weight * rho(x + y) to out."""
    zero, one, half = out.dtype.type(0), out.dtype.type(1), out.dtype.type(0.5)
    w = out.dtype.type(weight)
    if code == 0:
        for h in range(len(out)):
            out[h] += w * (x[h] + y[h])
    elif code == 1:
        for h in range(len(out)):
            out[h] += w * max(x[h] + y[h], zero)
    elif code == 2:
        for h in range(len(out)):
            out[h] += w * min(max(x[h] + y[h], zero), one)
    elif code == 3:
        for h in range(len(out)):
            out[h] += w * (half * math.tanh(half * (x[h] + y[h])) + half)
    else:
        for h in range(len(out)):
            out[h] += w * math.tanh(x[h] + y[h])
