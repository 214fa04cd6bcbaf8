"""W = (w_1 .. w_M): drawn parameters, gathered by order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grnf.basis import bell
from grnf.typing import FloatArray, IntArray

__all__ = ["Draw", "OrderDraw", "n_parameters"]


def n_parameters(k: int, channels: int, hidden_channels: int) -> int:
    """Return the number of coefficients of one feature of order k.

    F_{2,k} has Bell(k + 2) matrices of shape (F_h, F) and Bell(k) biases of length F_h; H_k has Bell(k)
    vectors of length F_h and one bias.

    Examples
    --------
    >>> n_parameters(2, channels=1, hidden_channels=4)
    77
    """
    return bell(k + 2) * hidden_channels * channels + 2 * bell(k) * hidden_channels + 1


@dataclass(frozen=True, eq=False)
class OrderDraw:
    """The drawn features of one order k, in the shapes of the paper.

    Parameters
    ----------
    k : int
    features : array of int, shape (m,)
        Which of the features w_1 .. w_M these are.
    theta : array, shape (m, n_parameters)
        All coefficients, one row per feature; the arrays below are views of it.
    channels, hidden_channels : int
        F and F_h.
    """

    k: int
    features: IntArray
    theta: FloatArray
    channels: int
    hidden_channels: int

    @property
    def equivariant(self) -> FloatArray:
        """theta_F, linear part: shape (m, Bell(k + 2), F_h, F)."""
        stop = bell(self.k + 2) * self.hidden_channels * self.channels
        return self.theta[:, :stop].reshape(-1, bell(self.k + 2), self.hidden_channels, self.channels)

    @property
    def equivariant_bias(self) -> FloatArray:
        """theta_F, bias: shape (m, Bell(k), F_h)."""
        return self._tail(2, 1)

    @property
    def invariant(self) -> FloatArray:
        """theta_H, linear part: shape (m, Bell(k), F_h)."""
        return self._tail(1, 0)

    @property
    def invariant_bias(self) -> FloatArray:
        """theta_H, bias theta_0: shape (m,)."""
        return self.theta[:, -1]

    def _tail(self, start: int, stop: int) -> FloatArray:
        size, last = bell(self.k) * self.hidden_channels, self.theta.shape[1] - 1
        rows = self.theta[:, last - start * size : last - stop * size]
        return rows.reshape(-1, bell(self.k), self.hidden_channels)


@dataclass(frozen=True, eq=False)
class Draw:
    """Features w_start .. w_(start + M - 1), gathered by order.

    Parameters
    ----------
    start : int
        Position of the first feature in the infinite sequence that a seed defines.
    orders : array of int, shape (M,)
        k of each feature.
    groups : tuple of OrderDraw
        The coefficients, one group per order that occurs, orders ascending. `OrderDraw.features` counts
        from 0 within this draw.
    """

    start: int
    orders: IntArray
    groups: tuple[OrderDraw, ...]

    def __len__(self) -> int:
        return len(self.orders)

    def feature(self, m: int) -> OrderDraw:
        """Return w_m alone."""
        for group in self.groups:
            (position,) = np.nonzero(group.features == m)
            if len(position):
                return OrderDraw(
                    group.k,
                    group.features[position],
                    group.theta[position],
                    group.channels,
                    group.hidden_channels,
                )
        raise IndexError(f"feature {m} of {len(self)}")
