"""p(theta | k): the law of the coefficients given the order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from grnf.typing import FloatArray

__all__ = ["Gaussian"]


class Gaussian:
    """Independent normal coefficients with mean 0 and one standard deviation.

    Parameters
    ----------
    scale : float, default=1.0
        Standard deviation.

    Examples
    --------
    >>> Gaussian(2.0)
    Gaussian(2)
    """

    full_support = True

    def __init__(self, scale: float = 1.0) -> None:
        if not (isinstance(scale, (int, float, np.floating, np.integer)) and 0 < scale < math.inf):
            raise ValueError(f"scale must be a positive number; got {scale!r}")
        self.scale = float(scale)

    def sample(self, generator: np.random.Generator, size: int) -> FloatArray:
        """Draw that many coefficients."""
        return self.scale * generator.standard_normal(size)

    def log_density(self, theta: FloatArray) -> FloatArray:
        """Return the log density of each row, summed over its coefficients.

        Examples
        --------
        >>> Gaussian().log_density(np.zeros((1, 2))).round(4)
        array([-1.8379])
        """
        n_coefficients = theta.shape[-1]
        constant = n_coefficients * (math.log(self.scale) + 0.5 * math.log(2 * math.pi))
        quadratic = np.square(theta / self.scale).sum(axis=-1)
        return np.asarray(-0.5 * quadratic - constant)

    def to_config(self) -> dict[str, Any]:
        """Return the law as plain JSON values."""
        return {"law": "gaussian", "scale": self.scale}

    @staticmethod
    def from_config(config: Mapping[str, Any]) -> Gaussian:
        """Make the law again from what `to_config` returned."""
        if config.get("law") != "gaussian":
            raise ValueError(f"unknown law of the coefficients: {config.get('law')!r}")
        return Gaussian(float(config["scale"]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Gaussian) and self.scale == other.scale

    def __hash__(self) -> int:
        return hash(("gaussian", self.scale))

    def __repr__(self) -> str:
        return f"Gaussian({self.scale:g})"
