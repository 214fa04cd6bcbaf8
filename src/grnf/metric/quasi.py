"""d_P and kappa_P of finitely many hidden channels by quasi-Monte Carlo: a fraction of the usual variance.

theta_H and theta_0 are integrated out, as in `grnf.metric.marginal`. What is left, a mean over theta_F, is
estimated from few points by four devices:

- Only inner products of theta with the vectors f(v) matter (`grnf.engine.moments`), so theta is drawn in the
  coordinates of their principal axes, the largest first, from scrambled Sobol sequences.
- Hidden channels are independent and alike, so points are drawn for one channel, in a few dimensions, and
  dealt out to the F_h channels of a hidden sample at random, several times.
- Points come in antithetic pairs theta, -theta: rho_e(-t) follows from rho_e(t) without another sum.
- U . U, U' . U' and U . U' have known means, so they are control variates. Their coefficients are fitted on
  the other replicates.

Points of the same sequence depend on each other, so standard errors come from independent scramblings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtri
from scipy.stats import qmc

from grnf._utils.rules import Int, checked
from grnf.engine.moments import GraphTypes, partition_groups, type_vectors
from grnf.graphs import GraphBatch
from grnf.metric.exact import ExactMetric, with_same_channels
from grnf.metric.marginal import gaussian_product, products_of_pairs
from grnf.typing import FloatArray, IntArray

__all__ = ["QuasiEstimate", "quasi_distances", "quasi_kernel"]

ENTRIES = 2**16
"""Entries of arrays that are treated at once: few enough for the cache."""

SMALLEST = 1e-14
"""Share of the largest principal value below which an axis is rounding."""

DEALS = 4
"""How often the points of a replicate are dealt out to hidden samples."""

OPPOSITE = {"relu": (1.0, -1.0, 0.0), "sigmoid": (-1.0, 0.0, 1.0)}
"""a, b, c of rho(-t) = a rho(t) + b t + c. Other activations are odd: -1, 0, 0."""


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
        Antithetic pairs of hidden samples, over all orders and replicates.
    n_replicates : int, default=8
        Independent scramblings.
    seed : int
    """
    return _estimate(metric, X, Y, "distance", n_hidden, n_replicates, seed)


def quasi_kernel(
    metric: ExactMetric,
    X: GraphBatch,
    Y: GraphBatch | None = None,
    *,
    n_hidden: int = 1024,
    n_replicates: int = 8,
    seed: int = 0,
) -> QuasiEstimate:
    """Estimate kappa_P of all pairs of graphs. Parameters as in `quasi_distances`."""
    return _estimate(metric, X, Y, "kernel", n_hidden, n_replicates, seed)


def _estimate(
    metric: ExactMetric,
    X: GraphBatch,
    Y: GraphBatch | None,
    quantity: str,
    n_hidden: int,
    n_replicates: int,
    seed: int,
) -> QuasiEstimate:
    R, n_hidden = checked(n_replicates, "n_replicates", Int(2)), checked(n_hidden, "n_hidden", Int(1))
    if metric.basis != "indicator":
        raise ValueError(f"basis must be 'indicator' for quasi-Monte Carlo, got {metric.basis!r}")
    (scale, *more) = metric.scales
    if more:
        raise ValueError("coefficients must have one scale for quasi-Monte Carlo, got a mixture of scales")
    X, Y = with_same_channels(X, Y)
    with_null = quantity == "kernel"
    n1 = len(X) + with_null
    n2 = n1 if Y is None else len(Y) + with_null
    i, j = np.triu_indices(n1) if Y is None else np.indices((n1, n2)).reshape(2, -1)
    of_columns = 0 if Y is None else n1  # graphs of Y follow those of X
    total = np.zeros((R, len(i)))
    covariances = metric.covariances(X, Y, with_null=with_null)
    for k, (p, e, c1, c2) in zip(metric.orders, covariances, strict=True):
        size = max(2, round(n_hidden * p / R))
        parts = _parts(metric, X, Y, k, with_null)
        means = np.stack([e[i, j], c1[i], c2[j]])
        replicates = []
        for r in range(R):
            generator = np.random.default_rng((seed, k, r))
            pools = [_pool(metric, part, scale, size, generator) for part in parts]
            replicates.append(_Sums(len(i)))
            for _ in range(DEALS):
                U = scale * _dealt(pools, metric.law.hidden_channels, generator)
                replicates[-1].add_terms(U, i, of_columns + j, means, metric.activation.name, quantity)
        total += p * _controlled(replicates)
    estimates = np.zeros((R, n1, n2))
    estimates[:, i, j] = total
    if Y is None:
        estimates[:, j, i] = total
    if quantity == "kernel":
        null = estimates[:, :-1, -1:], estimates[:, -1:, :-1], estimates[:, -1:, -1:]
        estimates = estimates[:, :-1, :-1] - null[0] - null[1] + null[2]
    values, errors = estimates.mean(axis=0), estimates.std(axis=0, ddof=1) / math.sqrt(R)
    return QuasiEstimate(np.maximum(values, 0) if quantity == "distance" else values, errors, R)


def _parts(metric: ExactMetric, X: GraphBatch, Y: GraphBatch | None, k: int, with_null: bool) -> list[_Axes]:
    """Return principal axes and types for each partition of k indices. Graphs of Y follow those of X."""
    parts = []
    for multiplicity, form in partition_groups(k, metric.basis):
        graphs: list[GraphTypes] = []
        for batch in (X, Y):
            graphs += [] if batch is None else metric.types(batch, form.slots, with_null)
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


def _pool(
    metric: ExactMetric, part: _Axes, scale: float, size: int, generator: np.random.Generator
) -> FloatArray:
    """Return U of single channels at Sobol points and at their opposites: (2 F_h size, n_graphs)."""
    rho, n_points = metric.hidden_activation, size * metric.law.hidden_channels
    sequence = qmc.Sobol(part.vectors.shape[1], rng=generator, bits=52)
    points = sequence.random_base2(math.ceil(math.log2(n_points)))[:n_points]
    theta = scale * ndtri(np.clip(points.T, 1e-15, 1 - 1e-15))
    sums, linear = np.zeros((2, part.weights.shape[0], n_points))
    step = max(1, ENTRIES // len(part.vectors))
    for start in range(0, n_points, step):
        t = part.vectors @ theta[:, start : start + step]
        linear[:, start : start + step] = part.weights @ t
        sums[:, start : start + step] = part.weights @ rho(t)
    a, b, c = OPPOSITE.get(rho.name, (-1.0, 0.0, 0.0))
    opposite = a * sums + b * linear + c * part.weights.sum(axis=1)[:, np.newaxis]
    return np.concatenate([sums, opposite], axis=1).T


def _dealt(pools: list[FloatArray], F_h: int, generator: np.random.Generator) -> FloatArray:
    """Return [U, 1] of hidden samples with channels dealt out at random: (n_samples, n_graphs, width)."""
    columns = [
        generator.permutation(pool).reshape(-1, F_h, pool.shape[1]).transpose(0, 2, 1) for pool in pools
    ]
    return np.concatenate([*columns, np.ones((*columns[0].shape[:2], 1))], axis=2)


class _Sums:
    """Sums over the points of a replicate: of terms, control variates, and their products, pair by pair."""

    def __init__(self, n_pairs: int) -> None:
        self.count = 0
        self.t, self.z = np.zeros(n_pairs), np.zeros((3, n_pairs))
        self.zz, self.zt = np.zeros((3, 3, n_pairs)), np.zeros((3, n_pairs))

    def add_terms(
        self, U: FloatArray, i: IntArray, j: IntArray, means: FloatArray, activation: str, quantity: str
    ) -> None:
        """Add the terms of hidden samples, and the control variates less their means, of pairs of graphs."""
        step = max(1, ENTRIES // max(len(i), U.shape[1] ** 2))
        for start in range(0, len(U), step):
            X = U[start : start + step]
            c = np.square(X).sum(axis=2)
            e = np.matmul(X, X.transpose(0, 2, 1))[:, i, j]
            t = products_of_pairs(activation, c, e, i, j)
            if quantity == "distance":
                own = gaussian_product(activation, c, c, c)
                t = own[:, i] + own[:, j] - 2 * t
            z = [e - means[0], c[:, i] - means[1], c[:, j] - means[2]]
            self.count += len(X)
            self.t += t.sum(axis=0)
            for row in range(3):
                self.z[row] += z[row].sum(axis=0)
                self.zt[row] += np.einsum("mp,mp->p", z[row], t)
                for column in range(row, 3):
                    self.zz[row, column] += np.einsum("mp,mp->p", z[row], z[column])


def _controlled(replicates: list[_Sums]) -> FloatArray:
    """Return the estimate of each replicate, its coefficients fitted on the others: shape (R, n_pairs)."""
    totals = [sum(getattr(sums, name) for sums in replicates) for name in ("count", "t", "z", "zz", "zt")]
    result = []
    for own in replicates:
        count, t, z, zz, zt = (
            total - getattr(own, name)
            for total, name in zip(totals, ("count", "t", "z", "zz", "zt"), strict=True)
        )
        covariance = (zz - z[:, np.newaxis] * z / count).transpose(2, 0, 1)
        covariance = np.triu(covariance) + np.triu(covariance, 1).transpose(0, 2, 1)
        ridge = 1e-9 * np.trace(covariance, axis1=1, axis2=2) + np.finfo(float).tiny
        covariance[:, range(3), range(3)] += ridge[:, np.newaxis]
        coefficients = np.linalg.solve(covariance, (zt - z * t / count).T[..., np.newaxis])[..., 0]
        result.append((own.t - (own.z * coefficients.T).sum(axis=0)) / own.count)
    return np.array(result)
