"""d_P between two graphs, estimated from their vectors, with honest error bars."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from grnf.activations import get_activation
from grnf.metric.bounds import checked_probability
from grnf.typing import FloatArray

__all__ = ["DistanceEstimate", "distance"]


@dataclass(frozen=True)
class DistanceEstimate:
    """An estimate of d_P(g1, g2) from M random features.

    Attributes
    ----------
    squared : float
        The unbiased estimate of d_P^2, the mean of M terms (psi(g1; w_m) - psi(g2; w_m))^2 p / p-bar.
    standard_error : float
        The standard error of `squared`.
    n_components : int
        The number of independent terms: M, or M / R with R heads per hidden draw.
    largest_term : float
        An upper bound of each term; infinite for an unbounded activation.
    """

    squared: float
    standard_error: float
    n_components: int
    largest_term: float = field(repr=False)

    @property
    def value(self) -> float:
        """The estimate of d_P."""
        return math.sqrt(self.squared)

    def squared_interval(self, delta: float = 0.05, method: str = "bernstein") -> tuple[float, float]:
        """Return an interval that holds d_P^2 with probability at least 1 - delta.

        Parameters
        ----------
        delta : float, default=0.05
        method : "bernstein" or "clt"
            "bernstein" is the empirical Bernstein bound (Maurer and Pontil 2009, Theorem 4, both sides):
            valid for every M, it needs a bounded activation. "clt" is the normal approximation: shorter,
            valid for large M only.
        """
        delta = checked_probability(delta, "delta")
        if method == "clt":
            radius = float(norm.ppf(1 - delta / 2)) * self.standard_error
        elif method == "bernstein":
            if not math.isfinite(self.largest_term):
                raise ValueError(
                    "no bound of the terms is known (unbounded activation or importance weights), which "
                    "the empirical Bernstein interval needs: use method='clt' or give largest_term"
                )
            if self.n_components < 2:
                return 0.0, self.largest_term
            log = math.log(4 / delta)
            radius = self.standard_error * math.sqrt(2 * log)
            radius += 7 * self.largest_term * log / (3 * (self.n_components - 1))
        else:
            raise ValueError(f"method must be 'bernstein' or 'clt'; got {method!r}")
        return max(self.squared - radius, 0.0), min(self.squared + radius, self.largest_term)

    def interval(self, delta: float = 0.05, method: str = "bernstein") -> tuple[float, float]:
        """Return an interval that holds d_P with probability at least 1 - delta.

        Examples
        --------
        >>> low, high = distance(np.zeros(512), np.full(512, 0.02)).interval(delta=0.05)
        >>> round(low, 3), round(high, 3)
        (0.353, 0.534)
        """
        low, high = self.squared_interval(delta, method)
        return math.sqrt(low), math.sqrt(high)

    def __format__(self, spec: str) -> str:
        low, high = self.interval() if math.isfinite(self.largest_term) else self.interval(method="clt")
        spec = spec or ".4g"
        return f"{self.value:{spec}} (95 % interval {low:{spec}} to {high:{spec}})"


def distance(
    z1: npt.ArrayLike,
    z2: npt.ArrayLike,
    *,
    activation: str = "tanh",
    largest_term: float | None = None,
    heads: int = 1,
) -> DistanceEstimate:
    """Estimate d_P(g1, g2) = (E_w[(psi(g1; w) - psi(g2; w))^2])^(1/2) from the vectors of two graphs.

    Centred and uncentred vectors give the same.

    Parameters
    ----------
    z1, z2 : array-like, shape (M,)
        Vectors made by one transformer.
    activation : str, default="tanh"
        The outer activation rho_i of that transformer; its range bounds the terms.
    largest_term : float, optional
        A bound of each term (psi1 - psi2)^2 p / p-bar, in place of the one from the activation: that one
        holds for the plain map and the bounded-order map, not for other importance weights.
    heads : int, default=1
        R, the heads per hidden draw of that transformer. The features of one hidden draw depend on each
        other, so error bars come from their means: M / R independent terms.

    Examples
    --------
    >>> estimate = distance([0.1, 0.2, 0.3, 0.4], [0.1, 0.1, 0.2, 0.2])
    >>> round(estimate.value, 4), round(estimate.standard_error, 4)
    (0.2449, 0.0346)
    """
    x, y = _vector(z1, "z1"), _vector(z2, "z2")
    if x.shape != y.shape:
        raise ValueError(f"z1 and z2 must have one length; got {len(x)} and {len(y)}")
    if not isinstance(heads, (int, np.integer)) or heads < 1 or len(x) % heads:
        raise ValueError(f"heads must be an integer >= 1 that divides the length {len(x)}; got {heads!r}")
    terms = len(x) * np.square(x - y)
    spread = get_activation(activation).spread
    return estimate_from_terms(
        terms.reshape(-1, heads).mean(axis=1) if heads > 1 else terms,
        spread**2 if largest_term is None else float(largest_term),
    )


def estimate_from_terms(terms: FloatArray, largest_term: float) -> DistanceEstimate:
    """Return the estimate that independent terms, each of mean d_P^2, give."""
    n = len(terms)
    return DistanceEstimate(
        squared=float(terms.mean()),
        standard_error=float(terms.std(ddof=1) / math.sqrt(n)) if n > 1 else math.inf,
        n_components=n,
        largest_term=largest_term,
    )


def _vector(z: npt.ArrayLike, name: str) -> FloatArray:
    array = np.asarray(z, dtype=np.float64)
    if array.ndim == 2 and len(array) == 1:
        array = array[0]
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(f"{name} must be the vector of one graph, shape (M,); got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinity")
    return array
