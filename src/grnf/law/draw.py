"""W = (w_1 .. w_M): drawn parameters, gathered by order."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from grnf.basis import bell
from grnf.typing import FloatArray, IntArray

__all__ = [
    "Draw",
    "OrderDraw",
    "n_head_parameters",
    "n_parameters",
]


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


def n_head_parameters(k: int, hidden_channels: int) -> int:
    """Return the number of coefficients of one head H_k: Bell(k) vectors of length F_h and one bias.

    Examples
    --------
    >>> n_head_parameters(2, hidden_channels=4)
    9
    """
    return bell(k) * hidden_channels + 1


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
    more_heads : array, shape (m, R - 1, n_head_parameters), optional
        Further theta_H, theta_0 beside the one in `theta`, all on the same hidden draw theta_F.
    """

    k: int
    features: IntArray
    theta: FloatArray
    channels: int
    hidden_channels: int
    more_heads: FloatArray | None = None

    @property
    def equivariant(self) -> FloatArray:
        """theta_F, linear part: shape (m, Bell(k + 2), F_h, F)."""
        stop = bell(self.k + 2) * self.hidden_channels * self.channels
        shape = len(self.theta), bell(self.k + 2), self.hidden_channels, self.channels
        return self.theta[:, :stop].reshape(shape)

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

    @property
    def heads(self) -> FloatArray:
        """All R heads, shape (m, R, n_head_parameters): Bell(k) F_h coefficients, then theta_0."""
        first = self.theta[:, np.newaxis, -n_head_parameters(self.k, self.hidden_channels) :]
        return first if self.more_heads is None else np.concatenate([first, self.more_heads], axis=1)

    def with_head(self, head: int) -> OrderDraw:
        """Return the same hidden draws with one of their heads alone."""
        size = n_head_parameters(self.k, self.hidden_channels)
        theta = np.concatenate([self.theta[:, :-size], self.heads[:, head]], axis=1)
        return replace(self, theta=theta, more_heads=None)

    def take(self, members: IntArray, features: IntArray) -> OrderDraw:
        """Return some of the features, renumbered."""
        more = None if self.more_heads is None else self.more_heads[members]
        return replace(self, features=features, theta=self.theta[members], more_heads=more)

    def _tail(self, start: int, stop: int) -> FloatArray:
        size, last = bell(self.k) * self.hidden_channels, self.theta.shape[1] - 1
        rows = self.theta[:, last - start * size : last - stop * size]
        return rows.reshape(-1, bell(self.k), self.hidden_channels)


@dataclass(frozen=True, eq=False)
class Draw:
    """Features w_start .. w_(start + M - 1), gathered by order; each is a hidden draw with one head or more.

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

    @property
    def n_heads(self) -> int:
        """R, the number of heads of each hidden draw."""
        more = self.groups[0].more_heads if self.groups else None
        return 1 if more is None else 1 + more.shape[1]

    def feature(self, m: int, head: int = 0) -> OrderDraw:
        """Return w_m alone, with one of its heads."""
        for group in self.groups:
            (position,) = np.nonzero(group.features == m)
            if len(position):
                return group.take(position, group.features[position]).with_head(head)
        raise IndexError(f"feature {m} of {len(self)}")
