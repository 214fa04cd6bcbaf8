"""kappa_P and d_P with theta_H and theta_0 integrated out: less variance from the same hidden sums.

Given the hidden sums U and U' of two graphs at one hidden draw, theta_0 + theta_H . U and
theta_0 + theta_H . U' are jointly normal with mean 0 and covariances s^2 (1 + U . U'), so the mean of the
product of rho_i of both over theta_H and theta_0 is a Gaussian integral in two dimensions. With c, c' the
variances and e the covariance:

    identity   e
    relu       sqrt(c c') (sin t + (pi - t) cos t) / (2 pi),  cos t = e / sqrt(c c')
    erf        2 / pi asin(2 e / sqrt((1 + 2 c)(1 + 2 c')))
    tanh       the weighted sum over all pairs of nodes (a, b) of the erf formula with c, e, c' replaced by
               a^2 c, a b e, b^2 c'
    sigmoid    1 / 4 + (tanh formula with a quarter of the covariances) / 4

The logistic law is a mixture of normal laws over their scale (Andrews and Mallows 1974), so tanh is a mixture
of erf(a x). A quadrature of that mixture with 6 nodes is tanh to 2e-7 for every x. Unlike Gauss-Hermite
quadrature in two dimensions it does not lose accuracy if the covariances are large and tanh is steep, and
since it is itself an activation, Gram matrices stay positive semi-definite.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from grnf.activations import Activation, get_activation
from grnf.engine.moments import ARC_COSINE, ARCSINES, LINEAR, Moments
from grnf.errors import invalid
from grnf.features import HiddenSums
from grnf.metric.estimate import DistanceEstimate, estimate_from_terms
from grnf.typing import FloatArray, IntArray

BLOCK_ENTRIES = 2**17
"""Entries of the covariances that are treated at once: few enough for the cache."""

NODES = (0.381071770543, 0.518561809665, 0.700758468918, 0.945103392937, 1.268959190667, 1.712894078272)
WEIGHTS = (0.00907279117, 0.10887309528, 0.316914692537, 0.373941419284, 0.172739958491, 0.018458043238)
"""tanh(x) = sum of WEIGHTS erf(NODES x), to 2e-7 everywhere: fitted for the smallest largest error."""

TWO_OVER_PI = 2 / math.pi
MOMENTS = {
    "identity": Moments(LINEAR),
    "relu": Moments(ARC_COSINE),
    "erf": Moments(ARCSINES, (1.0,), (1.0,), 0.0, TWO_OVER_PI),
    "tanh": Moments(ARCSINES, NODES, WEIGHTS, 0.0, TWO_OVER_PI),
    "sigmoid": Moments(ARCSINES, tuple(a / 2 for a in NODES), WEIGHTS, 0.25, 0.25 * TWO_OVER_PI),
}
"""E[rho(x) rho(y)] of the activations with a closed form, tanh and sigmoid to 2e-7."""


def gaussian_product(
    activation: str | Activation, c1: FloatArray, c2: FloatArray, e: FloatArray
) -> FloatArray:
    """Return E[rho(x) rho(y)] for normal x, y with mean 0, variances c1, c2 and covariance e."""
    moments = _moments(activation)
    return _products_of_factors(moments, moments.factors(np.asarray(c1)), moments.factors(np.asarray(c2)), e)


def products_of_pairs(
    activation: str | Activation, c: FloatArray, e: FloatArray, i: IntArray, j: IntArray
) -> FloatArray:
    """Return E[rho(x_i) rho(x_j)] of pairs: c are the variances of all, e the covariances of the pairs."""
    moments = _moments(activation)
    factors = moments.factors(c)
    return _products_of_factors(moments, factors[..., i], factors[..., j], e)


def _moments(activation: str | Activation) -> Moments:
    rho = get_activation(activation)
    if rho.code is None or rho.name not in MOMENTS:
        names = ", ".join(map(repr, MOMENTS))
        raise invalid("activation", f"be one of {names} for a Gaussian integral", repr(rho.name))
    return MOMENTS[rho.name]


def _products_of_factors(
    moments: Moments, first: FloatArray, second: FloatArray, e: FloatArray
) -> FloatArray:
    """Return E[rho(x) rho(y)] given what e is multiplied with on either side, see `Moments`."""
    if moments.kind == LINEAR:
        return np.asarray(e, np.float64)
    if moments.kind == ARC_COSINE:
        both = first[0] * second[0]
        cosine = np.clip(e * both, -1, 1)
        sine = np.sqrt((1 - cosine) * (1 + cosine))
        return np.asarray((sine + (np.pi - np.arccos(cosine)) * cosine) / (2 * np.pi * both))
    total: FloatArray = np.zeros_like(first[0] * second[0] * e)
    half, sine = np.empty_like(total), np.empty_like(total)
    for w1, x in zip(moments.weights, first, strict=True):
        np.multiply(x, e, out=half)
        for w2, y in zip(moments.weights, second, strict=True):
            np.multiply(half, y, out=sine)
            np.arcsin(np.clip(sine, -1, 1, out=sine), out=sine)
            sine *= w1 * w2
            total += sine
    return np.asarray(moments.shift + moments.factor * total)


def marginal_kernel(
    U1: HiddenSums,
    U2: HiddenSums | None = None,
    *,
    activation: str | Activation = "tanh",
    return_error: bool = False,
) -> Any:  # one array or two
    """Estimate kappa_P between all pairs of graphs from hidden sums, theta_H and theta_0 integrated out.

    The estimate is unbiased like that of `kernel`, with a fraction of its variance, and a Gram matrix (no
    vectors). It is centered like the kernel: the null graph has kernel 0 with all.

    Parameters
    ----------
    U1, U2 : HiddenSums
        Of `GRNF.hidden_sums`, both from one transformer. U2 is by default U1.
    activation : "tanh", "sigmoid", "erf", "relu" or "identity", default="tanh"
        rho_i.
    return_error : bool, default=False
        Return also the standard errors, from the M terms of each estimate.

    Returns
    -------
    array, shape (n1, n2), or two of them

    Examples
    --------
    >>> from grnf import GRNF
    >>> from grnf.datasets import make_sbm
    >>> graphs, _ = make_sbm(10, random_state=0)
    >>> grnf = GRNF(512, random_state=0).fit(graphs)
    >>> K, error = marginal_kernel(grnf.hidden_sums(graphs), return_error=True)
    >>> K.shape, bool((error < 0.2 * K).all())
    ((10, 10), True)
    """
    K, errors = _means(_kernel_terms(U1, U2, activation))
    return (K, errors) if return_error else K


def marginal_distance(
    U1: HiddenSums,
    U2: HiddenSums | None = None,
    *,
    activation: str | Activation = "tanh",
    return_error: bool = False,
) -> Any:  # one array or two
    """Estimate d_P between all pairs of graphs from hidden sums, theta_H and theta_0 integrated out.

    Parameters
    ----------
    U1, U2 : HiddenSums
        Of `GRNF.hidden_sums`, both from one transformer. U2 is by default U1.
    activation : "tanh", "sigmoid", "erf", "relu" or "identity", default="tanh"
        rho_i.
    return_error : bool, default=False
        Return also the standard errors of the *squared* distances, from the M terms of each estimate.

    Returns
    -------
    array, shape (n1, n2), or two of them

    Examples
    --------
    >>> from grnf import GRNF
    >>> grnf = GRNF(256, random_state=0).fit(["CCO", "CCCO"])
    >>> marginal_distance(grnf.hidden_sums(["CCO", "CCCO"])).round(3)
    array([[0.   , 0.168],
           [0.168, 0.   ]])
    """
    squares, errors = _means(_distance_terms(U1, U2, activation))
    if U2 is None:
        np.fill_diagonal(squares, 0.0)
        np.fill_diagonal(errors, 0.0)
    D = np.sqrt(squares)
    return (D, errors) if return_error else D


def marginal_estimate(U: HiddenSums, activation: str | Activation = "tanh") -> DistanceEstimate:
    """Estimate d_P between the two graphs of U, with error bars."""
    if len(U) != 2:
        raise invalid("U", "be the hidden sums of two graphs", str(len(U)))
    terms_by_order = [
        weight * terms[:, 0, 0] for terms, weight in _distance_terms(U.take([0]), U.take([1]), activation)
    ]
    largest = get_activation(activation).spread ** 2 * U.largest_weight
    return estimate_from_terms(np.concatenate(terms_by_order), largest)


def streamed_kernel(
    pairs: Iterable[tuple[HiddenSums, HiddenSums | None]], activation: str | Activation
) -> FloatArray:
    """`marginal_kernel` of hidden sums that come in stretches of hidden draws, the same on both sides."""
    total, n_features = np.array(0.0), 0
    for U1, U2 in pairs:
        total = total + U1.n_features * marginal_kernel(U1, U2, activation=activation)
        n_features += U1.n_features
    return np.asarray(total / n_features)


def _means(stretches: Iterable[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    """Return the means of terms over hidden draws, and their standard errors."""
    count, first, second = 0, np.array(0.0), np.array(0.0)
    for terms, weight in stretches:
        weighted = weight[:, np.newaxis, np.newaxis] * terms
        count += len(terms)
        first = first + weighted.sum(axis=0)
        second = second + np.square(weighted, out=weighted).sum(axis=0)
    mean = np.asarray(first / count)
    if count < 2:
        return mean, np.full_like(mean, np.inf)
    return mean, np.sqrt(np.maximum(second / count - mean**2, 0) / (count - 1))


def _kernel_terms(
    U1: HiddenSums, U2: HiddenSums | None, activation: str | Activation
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield kernel values at some hidden draws, shape (m, n1, n2), and the weights of those draws."""
    for X, Y, weight in _stretches(U1, U2):
        k = _products(activation, X, Y)  # the null graph is the last on either side
        yield k[:, :-1, :-1] - k[:, :-1, -1:] - k[:, -1:, :-1] + k[:, -1:, -1:], weight


def _distance_terms(
    U1: HiddenSums, U2: HiddenSums | None, activation: str | Activation
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield squared distances at some hidden draws, shape (m, n1, n2), and the weights of those draws."""
    for X, Y, weight in _stretches(U1, U2):
        rows = X[:, :-1]
        columns = rows if Y is X else Y[:, :-1]
        c1, c2 = (np.square(Z).sum(axis=2) for Z in (rows, columns))
        one, two = (gaussian_product(activation, c, c, c) for c in (c1, c2))
        own = one[:, :, np.newaxis] + two[:, np.newaxis, :]
        squares = own - 2 * _products(activation, rows, columns)
        yield np.maximum(squares, 0, out=squares), weight


def _products(activation: str | Activation, X: FloatArray, Y: FloatArray) -> FloatArray:
    """Return E[rho(x) rho(y)] at each hidden draw, for all rows x of X and y of Y."""
    c1, c2, e = np.square(X).sum(axis=2), np.square(Y).sum(axis=2), np.matmul(X, Y.transpose(0, 2, 1))
    if X is not Y:
        return gaussian_product(activation, c1[:, :, np.newaxis], c2[:, np.newaxis, :], e)
    i, j = np.triu_indices(X.shape[1])
    e[:, i, j] = e[:, j, i] = products_of_pairs(activation, c1, e[:, i, j], i, j)
    return np.asarray(e)


def _stretches(U1: HiddenSums, U2: HiddenSums | None) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
    """Yield s [U, 1] of both sides and the null graph, shapes (m, n + 1, width), a few draws at a time."""
    other = U1 if U2 is None else U2
    if U1.weights.shape != other.weights.shape or not np.array_equal(U1.weights, other.weights):
        raise invalid("U1 and U2", "be hidden sums of the same transformer")
    if not U1.scale > 0:
        cure = "Use Gaussian coefficients as the target. A mixture may be the proposal"
        raise invalid("theta_H", "be Gaussian with a single scale to be integrated out", cure=cure)
    step = max(1, BLOCK_ENTRIES // ((len(U1) + 1) * (len(other) + 1)))
    for one, two in zip(U1.groups, other.groups, strict=True):
        for start in range(0, len(one.features), step):
            some = slice(start, start + step)
            X = U1.scale * _with_null_and_bias(one.sums[:, some], one.null[some])
            Y = X if two is one else U1.scale * _with_null_and_bias(two.sums[:, some], two.null[some])
            yield X, Y, U1.weights[one.features[some]]


def _with_null_and_bias(sums: FloatArray, null: FloatArray) -> FloatArray:
    """Append the null graph as a last row, and 1 as a last entry, for theta_0."""
    rows = np.concatenate([sums, null[np.newaxis]]).transpose(1, 0, 2)
    return np.concatenate([rows, np.ones((*rows.shape[:2], 1))], axis=2)
