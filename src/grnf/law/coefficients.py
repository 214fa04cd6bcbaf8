"""p(theta | k): the law of the coefficients given the order.

Both laws depend on a vector of coefficients through its length and its number of entries alone, which is what
their densities take: so the hidden part of a feature and any of its heads can be weighed apart or together.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import logsumexp

from grnf._utils.rules import Real, checked
from grnf.typing import FloatArray

__all__ = ["CoefficientLaw", "Gaussian", "ScaleMixture"]


class CoefficientLaw(ABC):
    """Normal coefficients with mean 0; their standard deviation may differ from feature to feature."""

    full_support = True

    @property
    @abstractmethod
    def probabilities(self) -> dict[float, float]:
        """The probability of each standard deviation."""

    @property
    def random_scale(self) -> bool:
        """Whether the standard deviation differs from feature to feature."""
        return len(self.probabilities) > 1

    def scales(self, uniform: FloatArray) -> FloatArray:
        """Return the standard deviations at these points of their distribution function, in [0, 1)."""
        scales, p = list(self.probabilities), list(self.probabilities.values())
        position = np.searchsorted(np.cumsum(p), uniform, side="right")
        return np.array(scales)[np.minimum(position, len(scales) - 1)]

    def log_density(self, theta: FloatArray) -> FloatArray:
        """Return the log density of each row of coefficients.

        Examples
        --------
        >>> Gaussian().log_density(np.zeros((1, 2))).round(4)
        array([-1.8379])
        """
        return self.log_density_of(np.square(theta).sum(axis=-1), theta.shape[-1])

    def log_density_of(self, squares: FloatArray, count: int) -> FloatArray:
        """Return the log density of `count` coefficients whose squares sum to `squares`."""
        terms = [
            math.log(p)
            - count * (math.log(scale) + 0.5 * math.log(2 * math.pi))
            - 0.5 * np.asarray(squares) / scale**2
            for scale, p in self.probabilities.items()
        ]
        return np.asarray(logsumexp(terms, axis=0)) if len(terms) > 1 else terms[0]

    def largest_ratio(self, target: CoefficientLaw) -> float:
        """Bound the density of the target over this one; infinite if no bound is known.

        Examples
        --------
        >>> ScaleMixture({1.0: 0.5, 3.0: 0.5}).largest_ratio(Gaussian(1.0))
        2.0
        >>> Gaussian(2.0).largest_ratio(Gaussian(1.0))
        inf
        """
        own = self.probabilities
        if not set(target.probabilities) <= set(own):
            return math.inf
        return max(p / own[scale] for scale, p in target.probabilities.items())

    @abstractmethod
    def to_config(self) -> dict[str, Any]:
        """Return the law as plain JSON values."""

    @staticmethod
    def from_config(config: Mapping[str, Any]) -> CoefficientLaw:
        """Make the law again from what `to_config` returned."""
        if config.get("law") == "gaussian":
            return Gaussian(float(config["scale"]))
        if config.get("law") == "scale_mixture":
            return ScaleMixture({float(scale): float(p) for scale, p in config["probabilities"]})
        raise ValueError(f"unknown law of the coefficients: {config.get('law')!r}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CoefficientLaw) and self.probabilities == other.probabilities

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.probabilities.items())))


class Gaussian(CoefficientLaw):
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

    def __init__(self, scale: float = 1.0) -> None:
        self.scale: float = checked(scale, "scale", Real())

    @property
    def probabilities(self) -> dict[float, float]:  # noqa: D102
        return {self.scale: 1.0}

    def to_config(self) -> dict[str, Any]:  # noqa: D102
        return {"law": "gaussian", "scale": self.scale}

    def __repr__(self) -> str:
        return f"Gaussian({self.scale:g})"


class ScaleMixture(CoefficientLaw):
    """One of several standard deviations for each feature, then independent normal coefficients.

    As a proposal it reaches small and large coefficients in one draw, and with the scale of the target among
    its own the weights p / p-bar stay below the reciprocal of that scale's probability.

    Parameters
    ----------
    probabilities : mapping from standard deviation to probability

    Examples
    --------
    >>> ScaleMixture({1.0: 0.75, 3.0: 0.25})
    ScaleMixture({1: 0.75, 3: 0.25})
    """

    def __init__(self, probabilities: Mapping[float, float]) -> None:
        if not isinstance(probabilities, Mapping) or not probabilities:
            raise ValueError(f"probabilities must be a dict {{scale: probability}}; got {probabilities!r}")
        values = {checked(scale, "scale", Real()): float(p) for scale, p in probabilities.items()}
        total = math.fsum(values.values())
        if not min(values.values()) >= 0 or abs(total - 1) > 1e-9:
            raise ValueError(f"probabilities must be >= 0 and sum to 1; got {dict(probabilities)}")
        self._probabilities = {scale: p for scale, p in sorted(values.items()) if p > 0}

    @property
    def probabilities(self) -> dict[float, float]:  # noqa: D102
        return self._probabilities

    def to_config(self) -> dict[str, Any]:  # noqa: D102
        return {"law": "scale_mixture", "probabilities": [list(item) for item in self.probabilities.items()]}

    def __repr__(self) -> str:
        inside = ", ".join(f"{scale:g}: {p:.4g}" for scale, p in self.probabilities.items())
        return f"ScaleMixture({{{inside}}})"
