"""d_P and kappa_P of two graphs, estimated from their vectors, with standard errors and intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from scipy.stats import t

from grnf._utils.rules import Int, OneOf, Real, checked
from grnf.activations import Activation, get_activation
from grnf.errors import invalid
from grnf.metric.betting import betting_interval
from grnf.typing import FloatArray

ROUNDING = 256
"""Units of rounding by which distances of vectors may be off. Features of normalized maps stay well below."""


class _Estimate:
    """What both estimates share: a value with error bars."""

    value: float
    standard_error: float
    n_components: int
    largest_term: float
    exact: bool
    terms: FloatArray | None

    def __float__(self) -> float:
        return self.value

    def __format__(self, spec: str) -> str:
        spec = spec or ".4g"
        if self.exact:
            return f"{self.value:{spec}}"
        return f"{self.value:{spec}} ± {self.value_error:{spec}}"

    def __str__(self) -> str:
        return format(self)

    @property
    def value_error(self) -> float:
        """The standard error of `value`."""
        return self.standard_error

    def _ends(
        self, mean: float, low: float, high: float, confidence: float, method: str | None
    ) -> tuple[float, float]:
        """Return an interval for the mean of terms between `low` and `high`."""
        delta = 1 - checked(confidence, "confidence", Real(1))
        if method is None and self.terms is None:
            method = "bernstein" if math.isfinite(high) else "clt"
        method = method or "betting"
        if self.exact:
            return mean, mean
        if method != "betting" or not math.isfinite(high):
            radius = self._radius(high - low, delta, method)
            return max(mean - radius, low), min(mean + radius, high)
        if self.terms is None:
            raise invalid("method", "be 'bernstein' or 'clt' for an estimate without its terms", "'betting'")
        length = high - low
        ends = betting_interval((self.terms - low) / length, delta)
        return low + length * ends[0], low + length * ends[1]

    def _radius(self, length: float, delta: float, method: str) -> float:
        """Return how far a mean of independent terms in a range of this length may be off, both sides."""
        n = self.n_components
        if method == "clt":
            return float(t.ppf(1 - delta / 2, n - 1)) * self.standard_error if n > 1 else math.inf
        if not math.isfinite(length):
            unbounded = "be 'clt' for terms without a bound (unbounded activation or importance weights)"
            raise invalid("method", unbounded, repr(method), "Or pass largest_term")
        if method == "hoeffding":
            return length * math.sqrt(math.log(2 / delta) / (2 * n))
        if n < 2:
            return math.inf
        log = math.log(4 / delta)
        return self.standard_error * math.sqrt(2 * log) + 7 * length * log / (3 * (n - 1))


@dataclass(frozen=True)
class DistanceEstimate(_Estimate):
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
        An upper bound of each term, or infinite for an unbounded activation.
    exact : bool
        Whether there is no sampling error, since the distribution is one on these features alone.
    terms : array, shape (n_components,), optional
        The independent terms, for the betting interval.
    rounding : float
        How far `value` may be off by rounding.
    upper : callable, optional
        Computes an upper bound of d_P^2 that holds with certainty. Intervals do not go beyond it.

    Examples
    --------
    >>> from grnf import GRNF
    >>> estimate = GRNF(4096, random_state=0).fit(["CCO", "CCCO"]).distance("CCO", "CCCO")
    >>> print(f"{estimate:.2f}")
    0.16 ± 0.01
    >>> [round(bound, 2) for bound in estimate.interval(0.95)]
    [0.14, 0.18]
    >>> [round(bound, 3) for bound in estimate.squared_interval(0.95)]
    [0.019, 0.031]
    """

    squared: float
    standard_error: float
    n_components: int
    largest_term: float = field(repr=False)
    exact: bool = field(default=False, repr=False)
    terms: FloatArray | None = field(default=None, repr=False, compare=False)
    rounding: float = field(default=0.0, repr=False, compare=False)
    upper: Callable[[], float] | None = field(default=None, repr=False, compare=False)

    @property
    def value(self) -> float:  # type: ignore[override]
        """The estimate of d_P."""
        return math.sqrt(self.squared)

    @property
    def value_error(self) -> float:
        """The standard error of `value`, by the slope of the root."""
        return self.standard_error / (2 * self.value) if self.squared > 0 else 0.0

    def squared_interval(self, confidence: float = 0.95, method: str | None = None) -> tuple[float, float]:
        """Return an interval that holds d_P^2 with probability at least `confidence`.

        Parameters
        ----------
        confidence : float, default=0.95
        method : "betting", "bernstein" or "clt", optional
            "betting" (see `grnf.metric.betting`) and "bernstein", the empirical Bernstein bound (Maurer and
            Pontil 2009, Theorem 4, both sides), are valid for every M and need a bounded activation. The
            first is shorter, and the default if the terms are known. "clt" is the normal approximation:
            shorter still, valid for large M only.

        Returns
        -------
        low, high : float
        """
        low, high = self.interval(confidence, method)
        return low**2, high**2

    def interval(self, confidence: float = 0.95, method: str | None = None) -> tuple[float, float]:
        """Return an interval that contains d_P with probability at least `confidence`.

        Parameters
        ----------
        confidence : float, default=0.95
        method : "betting", "bernstein" or "clt", optional
            As in `squared_interval`.

        Returns
        -------
        low, high : float

        Examples
        --------
        >>> low, high = distance(np.zeros(512), np.full(512, 0.02)).interval(confidence=0.95)
        >>> round(low, 3), round(high, 3)
        (0.45, 0.482)
        """
        checked(method, "method", OneOf("betting", "bernstein", "clt", None))
        low, high = self._ends(self.squared, 0.0, self.largest_term, confidence, method)
        if self.upper is not None:
            high = self.upper() if self.exact else max(low, min(high, self.upper()))
        low, high = math.sqrt(low), math.sqrt(high)
        largest = max(high, math.sqrt(self.largest_term))
        return max(0.0, low - self.rounding), min(high + self.rounding, largest)


@dataclass(frozen=True)
class KernelEstimate(_Estimate):
    """An estimate of kappa_P(g1, g2) from M random features.

    Attributes
    ----------
    value : float
        The unbiased estimate of kappa_P, the mean of M terms xi(g1; w_m) xi(g2; w_m) p / p-bar.
    standard_error : float
        The standard error of `value`.
    n_components : int
        The number of independent terms: M, or M / R with R heads per hidden draw.
    largest_term : float
        An upper bound of each term; infinite for an unbounded activation. No term is below minus a quarter of
        it: xi1 and xi2 are differences to one number psi(0_g), and all three lie in the range of rho_i.
    exact : bool
        Whether there is no sampling error, since the distribution is one on these features alone.
    terms : array, shape (n_components,), optional
        The independent terms, for the betting interval.

    Examples
    --------
    >>> from grnf import GRNF
    >>> estimate = GRNF(4096, random_state=0).fit(["CCO", "CCCO"]).kernel("CCO", "CCCO")
    >>> print(f"{estimate:.2f}")
    0.75 ± 0.02
    """

    value: float
    standard_error: float
    n_components: int
    largest_term: float = field(repr=False)
    exact: bool = field(default=False, repr=False)
    terms: FloatArray | None = field(default=None, repr=False, compare=False)

    def interval(self, confidence: float = 0.95, method: str | None = None) -> tuple[float, float]:
        """Return an interval that holds kappa_P with probability at least `confidence`.

        Parameters
        ----------
        confidence : float, default=0.95
        method : "betting", "bernstein", "hoeffding" or "clt", optional
            The first three are valid for every M and need a bounded activation. "betting" is the shortest
            if terms vary little, and the default. "clt" is the normal approximation, for large M only.

        Returns
        -------
        low, high : float

        Examples
        --------
        >>> estimate = kernel_estimate(np.full(512, 0.02), np.full(512, 0.01))
        >>> [round(bound, 3) for bound in estimate.interval(0.95)]
        [0.091, 0.131]
        """
        checked(method, "method", OneOf("betting", "bernstein", "hoeffding", "clt", None))
        return self._ends(self.value, -self.largest_term / 4, self.largest_term, confidence, method)


def distance(
    z1: npt.ArrayLike,
    z2: npt.ArrayLike,
    *,
    activation: str | Activation = "tanh",
    largest_term: float | None = None,
    heads: int = 1,
    exact: bool = False,
    upper: Callable[[], float] | None = None,
) -> DistanceEstimate:
    """Estimate d_P(g1, g2) = (E_w[(psi(g1; w) - psi(g2; w))^2])^(1/2) from the vectors of two graphs.

    Centered and uncentered vectors give the same.

    Parameters
    ----------
    z1, z2 : array-like, shape (M,)
        Vectors made by one transformer.
    activation : str, default="tanh"
        The outer activation rho_i of that transformer. Its range bounds the terms.
    largest_term : float, optional
        A bound of each term (psi1 - psi2)^2 p / p-bar, instead of that of the activation: that one
        holds for the plain map and the bounded-order map, not for other importance weights.
    heads : int, default=1
        R, the heads per hidden draw of that transformer. The features of the same hidden draw depend on each
        other, so error bars come from their means: M / R independent terms.
    exact : bool, default=False
        Whether the vectors are those of a distribution on these features alone (`ReweightedGRNF`): no
        sampling error.
    upper : callable, optional
        Computes a bound of d_P^2 that holds with certainty, for the upper ends of intervals.

    Returns
    -------
    DistanceEstimate

    Examples
    --------
    >>> estimate = distance([0.1, 0.2, 0.3, 0.4], [0.1, 0.1, 0.2, 0.2])
    >>> round(estimate.value, 4), round(estimate.standard_error, 4)
    (0.2449, 0.0346)
    """
    x, y = _pair(z1, z2, heads)
    terms = distance_terms(x, y, heads)
    types = [np.asarray(z).dtype for z in (z1, z2)]
    single = any(dtype.kind == "f" and dtype.itemsize < 8 for dtype in types)
    rounding = ROUNDING * float(np.finfo(np.float32 if single else np.float64).eps)
    return replace(
        estimate_from_terms(terms, _largest(largest_term, activation), exact), rounding=rounding, upper=upper
    )


def kernel_estimate(
    z1: npt.ArrayLike,
    z2: npt.ArrayLike,
    *,
    activation: str | Activation = "tanh",
    largest_term: float | None = None,
    heads: int = 1,
    exact: bool = False,
) -> KernelEstimate:
    """Estimate kappa_P(g1, g2) = E_w[xi(g1; w) xi(g2; w)], xi = psi - psi(0_g), from two centered vectors.

    Parameters
    ----------
    z1, z2 : array-like, shape (M,)
        Vectors made by one transformer, centered: `GRNF(center=True)`, or less its `null_vector()`.
    activation : str, default="tanh"
    largest_term : float, optional
        That of the squared distance, which bounds xi1 xi2 too.
    heads : int, default=1
    exact : bool, default=False
        As in `distance`.

    Returns
    -------
    KernelEstimate

    Examples
    --------
    >>> estimate = kernel_estimate([0.1, 0.2, 0.3, 0.4], [0.1, 0.1, 0.2, 0.2])
    >>> round(estimate.value, 4), round(estimate.standard_error, 4)
    (0.17, 0.0661)
    """
    x, y = _pair(z1, z2, heads)
    terms = _head_means(len(x) * (x * y), heads)
    largest = _largest(largest_term, activation)
    error = 0.0 if exact else float(standard_errors(terms))
    return KernelEstimate(float(terms.mean()), error, len(terms), largest, exact, terms)


def _pair(z1: npt.ArrayLike, z2: npt.ArrayLike, heads: int) -> tuple[FloatArray, FloatArray]:
    x, y = _vector(z1, "z1"), _vector(z2, "z2")
    if x.shape != y.shape:
        raise invalid("z1 and z2", "have equal lengths", f"{len(x)} and {len(y)}")
    if len(x) % checked(heads, "heads", Int(1)):
        raise invalid("heads", f"divide the length {len(x)} of the vectors", str(heads))
    return x, y


def distance_terms(x: FloatArray, y: FloatArray, heads: int = 1) -> FloatArray:
    """Return the independent terms whose mean is the estimate of d_P^2, in the last axis."""
    return _head_means(x.shape[-1] * np.square(np.subtract(x, y, dtype=np.float64)), heads)


def distance_errors(x: FloatArray, y: FloatArray, heads: int = 1, exact: bool = False) -> FloatArray:
    """Return the standard errors of d_P between the rows of x and those of y."""
    terms = distance_terms(x, y, heads)
    values = np.sqrt(terms.mean(axis=-1))
    errors = standard_errors(terms) if not exact else np.zeros_like(values)
    return np.asarray(np.divide(errors, 2 * values, out=np.zeros_like(values), where=values > 0))


def standard_errors(terms: FloatArray) -> FloatArray:
    """Return the standard errors of means over the last axis, or infinite for a single term."""
    count = terms.shape[-1]
    if count == 1:
        return np.full(terms.shape[:-1], np.inf)
    return np.asarray(terms.std(axis=-1, ddof=1) / math.sqrt(count))


def _head_means(terms: FloatArray, heads: int) -> FloatArray:
    return np.asarray(terms.reshape(*terms.shape[:-1], -1, heads).mean(axis=-1)) if heads > 1 else terms


def _largest(largest_term: float | None, activation: str | Activation) -> float:
    return float(get_activation(activation).spread ** 2 if largest_term is None else largest_term)


def estimate_from_terms(terms: FloatArray, largest_term: float, exact: bool = False) -> DistanceEstimate:
    """Return the estimate that independent terms, each of mean d_P^2, give."""
    error = 0.0 if exact else float(standard_errors(terms))
    return DistanceEstimate(float(terms.mean()), error, len(terms), largest_term, exact, terms)


def _vector(z: npt.ArrayLike, name: str) -> FloatArray:
    array = np.asarray(z, dtype=np.float64)
    if array.ndim == 2 and len(array) == 1:
        array = array[0]
    if array.ndim != 1 or len(array) == 0:
        raise invalid(name, "be the vector of a single graph, shape (M,)", f"shape {array.shape}")
    if not np.isfinite(array).all():
        raise invalid(name, "hold finite numbers", "NaN or infinity")
    return array
