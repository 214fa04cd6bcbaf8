"""The activations rho_e (hidden) and rho_i (outer), with the facts that the theorems ask for.

A function is *squashing* when it is non-decreasing with limits 0 and 1 up to an affine map, so bounded;
Theorem 1 asks for a squashing, continuous rho_e and a continuous, non-constant rho_i.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import erf

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
    """A named activation with its range.

    Parameters
    ----------
    name : str
        What users write.
    code : int
        What the engines switch on.
    function : callable
        The activation on numpy arrays.
    low, high : float
        The infimum and supremum of its values.
    squashing : bool
        Whether Theorem 1 accepts it as rho_e.

    Examples
    --------
    >>> get_activation("tanh")
    tanh: R -> [-1, 1], squashing
    >>> get_activation("relu").bounded
    False
    """

    name: str
    code: int
    function: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
    low: float
    high: float
    squashing: bool

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
        Activation("identity", 0, _identity, -math.inf, math.inf, False),
        Activation("relu", 1, _relu, 0.0, math.inf, False),
        Activation("ramp", 2, _ramp, 0.0, 1.0, True),
        Activation("sigmoid", 3, _sigmoid, 0.0, 1.0, True),
        Activation("tanh", 4, np.tanh, -1.0, 1.0, True),
        Activation("erf", 5, erf, -1.0, 1.0, True),
    )
}


def get_activation(name: str | Activation) -> Activation:
    """Return the activation of that name.

    Examples
    --------
    >>> get_activation("ramp")([-1.0, 0.25, 7.0])
    array([0.  , 0.25, 1.  ])
    """
    if isinstance(name, Activation):
        return name
    try:
        return ACTIVATIONS[name]
    except (KeyError, TypeError):
        known = ", ".join(repr(known) for known in ACTIVATIONS)
        raise ValueError(f"unknown activation {name!r}; choose one of {known}") from None
