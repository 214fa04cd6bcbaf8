"""d_P of finitely many hidden channels by quasi-Monte Carlo: a fraction of the usual variance.

theta_H and theta_0 are integrated out, as in `grnf.metric.marginal`. What is left, a mean over theta_F, is
estimated from few points by these devices:

- Only inner products of theta with the vectors f(v) matter (`grnf.engine.moments`), so theta is drawn in the
  coordinates of their principal axes, the largest first, from Sobol sequences with random digital shifts.
- Hidden channels are independent and alike, so points are drawn for one channel, in a few dimensions, and
  dealt out to the F_h channels of a hidden sample at random, several times.
- Points come in antithetic pairs theta, -theta: rho_e(-t) follows from rho_e(t) without another sum.
- The means of U . U, U' . U' and U . U' over all ways to deal are sums over points, so these are control
  variates. Their coefficients are fitted on the other half of the replicates.
- The integral over theta_H takes 36 arcsines for tanh, and one for erf(0.85 x), which is nearly the same. So
  that one is estimated from all samples, and the difference from a few.

Points of the same sequence depend on each other, so standard errors come from independent shifts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtri
from scipy.stats import qmc

from grnf._utils.rules import Int, checked
from grnf.engine.gaussian_terms import N_SUMS, add_samples
from grnf.engine.moments import GraphTypes, partition_groups, type_vectors
from grnf.errors import invalid
from grnf.graphs import GraphBatch
from grnf.metric.exact import ExactMetric, with_same_channels
from grnf.metric.marginal import MOMENTS, gaussian_product, products_of_pairs
from grnf.typing import FloatArray, IntArray

ENTRIES = 2**16
"""Entries of arrays that are treated at once: few enough for the cache."""

SMALLEST = 1e-14
"""Share of the largest principal value below which an axis is rounding."""

DEALS = 3
"""How often the points of a replicate are dealt out to hidden samples."""

NEAR = {"tanh": 0.85, "sigmoid": 0.425}
"""a for which erf(a x) is nearly tanh(x), or 2 sigmoid(x) - 1: the terms differ by some hundredths."""

CORRECTED = 8
"""Hidden samples of a replicate for which the difference between the two is taken."""

BITS = 30
"""Random bits of a coordinate of a point."""

OPPOSITE = {"relu": (1.0, -1.0, 0.0), "sigmoid": (-1.0, 0.0, 1.0)}
"""a, b, c of rho(-t) = a rho(t) + b t + c. Other activations are odd: -1, 0, 0."""

SYMMETRIC = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])
"""Where six products of three variates are in their matrix."""

RIDGE, ROUNDING = 1e-8, 1e-13
"""What is added to the correlations of the control variates, and shares of variances that are rounding."""

CONTROLS = np.array([[-2.0, 1.0, 1.0], [0.0, 1.0, -1.0], [0.0, 1.0, 1.0]])
"""The control variates e, c, c' in coordinates of their own size: c + c' - 2 e is small for near graphs."""


Means: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
"""Of the control variates e, c and c'."""


class QuasiEstimate(NamedTuple):
    """Estimates of all pairs, and their standard errors."""

    values: FloatArray
    standard_errors: FloatArray
    n_replicates: int


class _Axes(NamedTuple):
    """One partition: f of all types along the principal axes, and how often each graph has each type."""

    vectors: FloatArray
    weights: csr_array


def quasi_distances(
    metric: ExactMetric,
    X: GraphBatch,
    Y: GraphBatch | None = None,
    *,
    n_hidden: int = 1024,
    n_replicates: int = 8,
    seed: int = 0,
) -> QuasiEstimate:
    """Estimate d_P^2 of all pairs of graphs.

    Parameters
    ----------
    metric : ExactMetric
        The settings, with basis "indicator" and coefficients with a single scale.
    X, Y : GraphBatch
        Y defaults to X.
    n_hidden : int, default=1024
        Antithetic pairs of hidden samples that are dealt out at a time, over all orders and replicates.
    n_replicates : int, default=8
        Independent replicates.
    seed : int
    """
    R, n_hidden = checked(n_replicates, "n_replicates", Int(2)), checked(n_hidden, "n_hidden", Int(1))
    if metric.basis != "indicator":
        raise invalid("basis", "be 'indicator' for quasi-Monte Carlo", repr(metric.basis))
    (scale, *more) = metric.scales
    if more:
        raise invalid("coefficients", "have one scale for quasi-Monte Carlo", "a mixture of scales")
    X, Y = with_same_channels(X, Y)
    n1, n2 = len(X), len(X if Y is None else Y)
    i, j = np.triu_indices(n1) if Y is None else np.indices((n1, n2)).reshape(2, -1)
    total = np.zeros((R, len(i)))
    for k in metric.orders:
        p = metric.law.orders.probability(k)
        size, F_h = max(2, round(n_hidden * p / R)), metric.law.hidden_channels
        parts = _parts(metric, X, Y, k)
        generator = np.random.default_rng((seed, k))
        sequences = [_points(part, size * F_h, generator) for part in parts]
        sums, differences = np.zeros((R, len(i), N_SUMS)), np.zeros((R, len(i)))
        for r in range(R):
            generator = np.random.default_rng((seed, k, r))
            pools = [
                _pool(metric, part, scale, points, generator)
                for part, points in zip(parts, sequences, strict=True)
            ]
            table, means = np.zeros((n1, N_SUMS, n2)), _means(pools, F_h, scale, n1, Y is None)
            for _ in range(DEALS):
                U = _dealt(pools, 2 * size, F_h, scale, generator)
                _add_terms(metric.activation.name, U, Y is None, means, table)
            sums[r] = table[i, :, j] / (DEALS * len(U))
            if metric.activation.name in NEAR:
                U = U[:CORRECTED]
                table = np.zeros((n1, N_SUMS, n2))
                _add_terms(metric.activation.name, U, Y is None, means, table)
                exact = _exact_terms(metric.activation.name, U, i, j if Y is None else n1 + j)
                differences[r] = exact - table[i, 0, j] / len(U)
        total += p * (_controlled(sums) + differences)
    estimates = np.zeros((R, n1, n2))
    estimates[:, i, j] = total
    if Y is None:
        estimates[:, j, i] = total
    values, errors = estimates.mean(axis=0), estimates.std(axis=0, ddof=1) / math.sqrt(R)
    return QuasiEstimate(np.maximum(values, 0), errors, R)


def _parts(metric: ExactMetric, X: GraphBatch, Y: GraphBatch | None, k: int) -> list[_Axes]:
    """Return principal axes and types for each partition of k indices. Graphs of Y follow those of X."""
    parts = []
    for multiplicity, form in partition_groups(k, metric.basis):
        graphs: list[GraphTypes] = []
        for batch in (X, Y):
            graphs += [] if batch is None else metric.types(batch, form.slots, orbits=False)
        rows, counts = zip(
            *(type_vectors(g, len(X.channels().node), form, metric.normalize) for g in graphs), strict=True
        )
        parts += [_rotated(rows, counts)] * multiplicity
    return parts


def _rotated(rows: Sequence[FloatArray], counts: Sequence[FloatArray]) -> _Axes:
    """Return the vectors in the coordinates of their principal axes, the largest first."""
    width = rows[0].shape[1]
    second = np.zeros((width, width))
    for vectors, count in zip(rows, counts, strict=True):
        if len(count):
            second += (vectors.T * (count / count.sum())) @ vectors
    values, axes = np.linalg.eigh(second)
    axes = axes[:, values > SMALLEST * max(values[-1], np.finfo(float).tiny)][:, ::-1]
    lengths = np.array([len(count) for count in counts])
    graph_of = np.repeat(np.arange(len(counts)), lengths)
    weights = csr_array(
        (np.concatenate(counts), (graph_of, np.arange(len(graph_of)))), (len(counts), len(graph_of))
    )
    return _Axes(np.concatenate(rows) @ axes, weights)


def _points(part: _Axes, count: int, generator: np.random.Generator) -> IntArray:
    """Return scrambled Sobol points of which the coordinates are integers below 2^BITS."""
    sequence = qmc.Sobol(part.vectors.shape[1], rng=generator, bits=BITS)
    points = sequence.random_base2(math.ceil(math.log2(count)))
    return np.asarray(points * 2**BITS, dtype=np.int64)


def _pool(
    metric: ExactMetric, part: _Axes, scale: float, points: IntArray, generator: np.random.Generator
) -> FloatArray:
    """Return U of single channels at shifted points and at their opposites: (2 points, n_graphs)."""
    rho, shift = metric.hidden_activation, generator.integers(2**BITS, size=points.shape[1])
    theta = scale * ndtri(((points ^ shift) + 0.5).T / 2**BITS)
    sums, linear = np.zeros((2, part.weights.shape[0], len(points)))
    step = max(1, ENTRIES // len(part.vectors))
    for start in range(0, len(points), step):
        some = slice(start, start + step)
        t = part.vectors @ theta[:, some]
        linear[:, some] = part.weights @ t
        sums[:, some] = part.weights @ rho(t)
    a, b, c = OPPOSITE.get(rho.name, (-1.0, 0.0, 0.0))
    opposite = a * sums + b * linear + c * part.weights.sum(axis=1)[:, np.newaxis]
    return np.concatenate([sums, opposite], axis=1).T


def _means(pools: list[FloatArray], F_h: int, scale: float, n1: int, symmetric: bool) -> Means:
    """Return the means of e, c and c' over all ways to deal the pools out."""
    e = scale**2 * (1 + F_h * np.sum([pool.T @ pool / len(pool) for pool in pools], axis=0))
    c = np.diagonal(e).copy()
    return (e, c, c) if symmetric else (e[:n1, n1:].copy(), c[:n1], c[n1:])


def _dealt(
    pools: list[FloatArray], n_samples: int, F_h: int, scale: float, generator: np.random.Generator
) -> FloatArray:
    """Return s [U, 1] of hidden samples with channels dealt out at random: (samples, width, n_graphs)."""
    columns = [
        generator.permutation(pool)[: n_samples * F_h].reshape(-1, F_h, pool.shape[1]) for pool in pools
    ]
    return scale * np.concatenate([*columns, np.ones_like(columns[0][:, :1])], axis=1)


def _add_terms(name: str, U: FloatArray, symmetric: bool, means: Means, out: FloatArray) -> None:
    """Add the sums of `add_samples`: of the activation, or of the erf that is nearly the same."""
    moments, n1 = MOMENTS[name], len(out)
    rows = np.ascontiguousarray(U[:, :, :n1])
    columns = rows if symmetric else np.ascontiguousarray(U[:, :, n1:])
    node = NEAR.get(name, moments.nodes[0])
    add_samples(moments.kind, node, moments.factor, rows, columns, symmetric, means, out)


def _exact_terms(name: str, U: FloatArray, i: IntArray, j: IntArray) -> FloatArray:
    """Return the mean terms of pairs of graphs over some samples, by the formula of the activation."""
    c, e = np.square(U).sum(axis=1), np.matmul(U.transpose(0, 2, 1), U)[:, i, j]
    own, products = gaussian_product(name, c, c, c), products_of_pairs(name, c, e, i, j)
    return np.asarray((own[:, i] + own[:, j] - 2 * products).mean(axis=0))


def _controlled(sums: FloatArray) -> FloatArray:
    """Return the estimate of each replicate and pair from the means of `add_samples`."""
    result, half = np.empty(sums.shape[:2]), len(sums) // 2
    for own, others in ((slice(half), slice(half, None)), (slice(half, None), slice(half))):
        fit = sums[others].mean(axis=0)
        t, z, products, crossed = fit[:, :1], fit[:, 1:4], fit[:, 4:10], fit[:, 10:]
        covariance = CONTROLS @ (products[:, SYMMETRIC] - z[:, :, np.newaxis] * z[:, np.newaxis]) @ CONTROLS.T
        variances = np.diagonal(covariance, axis1=1, axis2=2)
        least = ROUNDING * variances.max(axis=1, keepdims=True) + np.finfo(float).tiny
        size = np.sqrt(np.maximum(variances, least))
        covariance = covariance / (size[:, :, np.newaxis] * size[:, np.newaxis]) + RIDGE * np.eye(3)
        cross = (crossed - z * t) @ CONTROLS.T / size
        coefficients = np.linalg.solve(covariance, cross[..., np.newaxis])[..., 0] / size @ CONTROLS
        result[own] = sums[own, :, 0] - (sums[own, :, 1:4] * coefficients).sum(axis=2)
    return result
