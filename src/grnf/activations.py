"""The activations rho_e (hidden) and rho_i (outer), with the properties that the theorems require.

A function is *squashing* if it is non-decreasing with limits 0 and 1 up to an affine map, so it is bounded.
Theorem 1 requires a squashing, continuous rho_e and a continuous, non-constant rho_i.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import erf

from grnf.errors import invalid

__all__ = ["ACTIVATIONS", "Activation", "get_activation"]


def _identity(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.asarray(x)


def _relu(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.asarray(np.maximum(x, 0))


def _ramp(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.asarray(np.clip(x, 0, 1))


def _sigmoid(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    # tanh never overflows, whatever the sign and size of x
    return np.asarray(0.5 * np.tanh(0.5 * np.asarray(x)) + 0.5)


@dataclass(frozen=True)
class Activation:
    """A named activation with its range. Your own can be passed to `GRNF` like the name of a built-in one.

    Parameters
    ----------
    name : str
    function : callable
        The activation of each entry of a NumPy array.
    low, high : float
        The infimum and supremum of its values.
    squashing : bool, default=False
        Whether Theorem 1 accepts it as rho_e.
    code : int, optional
        The number by which compiled kernels know a built-in activation. Sums of other hidden activations are
        computed by NumPy, which takes much longer.

    Examples
    --------
    >>> get_activation("tanh")
    tanh: R -> [-1, 1], squashing
    >>> get_activation("relu").bounded
    False
    """

    name: str
    function: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
    low: float = -math.inf
    high: float = math.inf
    squashing: bool = False
    code: int | None = None

    def __call__(self, x: npt.ArrayLike) -> npt.NDArray[Any]:
        """Apply the activation entry by entry."""
        return self.function(np.asarray(x))

    @property
    def bounded(self) -> bool:
        """Whether the range is bounded."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def spread(self) -> float:
        """Length of the range: the largest difference of two values."""
        return self.high - self.low

    @property
    def largest(self) -> float:
        """C of the paper: the largest absolute value."""
        return max(abs(self.low), abs(self.high))

    def __repr__(self) -> str:
        return f"{self.name}: R -> [{self.low:g}, {self.high:g}]" + (", squashing" if self.squashing else "")


ACTIVATIONS: dict[str, Activation] = {
    a.name: a
    for a in (
        Activation("identity", _identity, -math.inf, math.inf, False, 0),
        Activation("relu", _relu, 0.0, math.inf, False, 1),
        Activation("ramp", _ramp, 0.0, 1.0, True, 2),
        Activation("sigmoid", _sigmoid, 0.0, 1.0, True, 3),
        Activation("tanh", np.tanh, -1.0, 1.0, True, 4),
        Activation("erf", erf, -1.0, 1.0, True, 5),
    )
}


def get_activation(name: str | Activation) -> Activation:
    """Return the activation of that name."""
    if isinstance(name, Activation):
        return name
    try:
        return ACTIVATIONS[name]
    except (KeyError, TypeError):
        known = ", ".join(repr(known) for known in ACTIVATIONS)
        raise invalid("the activation", f"be one of {known} or a grnf.Activation", repr(name)) from None
