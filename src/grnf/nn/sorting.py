"""U_2 of one large graph by sorting, for relu and ramp: O(n log n) per channel, with derivatives.

sum_ij relu(a_i + b_j) = sum_i (a_i #{j: b_j > -a_i} + sum of those b_j), by binary search in the sorted b
and its sums from the end; the derivative by a_i is the number of those j. ramp(x) = relu(x) - relu(x - 1).
Edges are left to the caller.
"""

from __future__ import annotations

import torch
from torch import Tensor

from grnf.engine.rows import RAMP
from grnf.nn.rho import rho, slope

__all__ = ["pair_slopes", "pair_sums"]


def pair_sums(code: int, a: Tensor, b: Tensor) -> Tensor:
    """Return sum_{i != j} rho(a_i + b_j) of each channel: shapes (n, h) to (h,), in double precision."""
    x, y = a.T.contiguous(), _sorted_columns(b)
    above = y.new_zeros(y.shape[0], y.shape[1] + 1, dtype=torch.float64)
    above[:, :-1] = y.flip(1).cumsum(1, dtype=torch.float64).flip(1)
    result = -rho(code, a + b).sum(0, dtype=torch.float64)
    for shift, sign in _shifts(code):
        first = _first_above(y, x + shift)
        count = y.shape[1] - first
        result += sign * ((x + shift).double() * count + above.gather(1, first)).sum(1)
    return result


def pair_slopes(code: int, a: Tensor, b: Tensor, dU: Tensor) -> tuple[Tensor, Tensor]:
    """Return the derivatives of `pair_sums` by a and b, times dU of shape (h,)."""
    own = slope(code, rho(code, a + b))
    return tuple((_counts(code, one, other) - own) * dU for one, other in ((a, b), (b, a)))  # type: ignore[return-value]


def _counts(code: int, a: Tensor, b: Tensor) -> Tensor:
    """Return sum_j rho'(a_i + b_j), shape (n, h)."""
    x, y = a.T.contiguous(), _sorted_columns(b)
    counts = torch.zeros_like(x)
    for shift, sign in _shifts(code):
        counts += sign * (y.shape[1] - _first_above(y, x + shift))
    return counts.T


def _sorted_columns(b: Tensor) -> Tensor:
    """Return the columns as rows, each sorted; by numpy where it can, which has no indices to carry along."""
    columns = b.T.contiguous()
    if columns.device.type == "cpu" and columns.dtype in (torch.float32, torch.float64):
        columns = columns.clone() if columns.data_ptr() == b.data_ptr() else columns
        columns.numpy().sort(axis=1)
        return columns
    return columns.sort(dim=1).values


def _shifts(code: int) -> list[tuple[float, float]]:
    return [(0.0, 1.0), (-1.0, -1.0)] if code == RAMP else [(0.0, 1.0)]


def _first_above(y: Tensor, x: Tensor) -> Tensor:
    """Return where in each sorted row y the entries begin for which x + y > 0."""
    return torch.searchsorted(y, -x, right=True)
