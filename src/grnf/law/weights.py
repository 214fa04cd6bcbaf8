"""p / p-bar: what a feature drawn from the proposal weighs under the target."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from grnf.law.distributions import scales_of
from grnf.law.parameters import Draw, ParameterLaw, n_head_parameters, normal_mixture
from grnf.typing import FloatArray, IntArray


def importance_weights(target: ParameterLaw, proposal: ParameterLaw, draw: Draw) -> FloatArray:
    """Return p(w_m) / p-bar(w_m) for features drawn from the proposal.

    With p-bar = p all weights are 1 (the plain map). With p-bar = p given k in K they are P(K) (the
    bounded-order map). Anything else is the weighted map. With R heads there are R weights for each hidden
    draw, one after the other.

    Parameters
    ----------
    target, proposal : ParameterLaw
        P and P-bar.
    draw : Draw
        Features that `proposal.sample` returned.

    Returns
    -------
    array, shape (n_features,)

    Examples
    --------
    >>> target = ParameterLaw({1: 0.5, 2: 0.5})
    >>> proposal = ParameterLaw(target.orders.restricted_to({1}))
    >>> importance_weights(target, proposal, proposal.sample(3, channels=1, seed=0))
    array([0.5, 0.5, 0.5])
    """
    return _weights(target, proposal, draw, draw.n_heads)


def hidden_weights(target: ParameterLaw, proposal: ParameterLaw, draw: Draw) -> FloatArray:
    """Return p / p-bar of (k, theta_F) alone: the weights once theta_H and theta_0 are integrated out."""
    return _weights(target, proposal, draw, 0)


def effective_sample_size(weights: FloatArray) -> float:
    """Return (sum w)^2 / sum w^2: how many features of equal weight are worth as much (Kong 1992)."""
    largest = float(np.max(weights, initial=0.0))
    if largest <= 0:
        return 0.0
    scaled = np.asarray(weights) / largest  # squares of very small weights would vanish
    return float(scaled.sum() ** 2 / np.square(scaled).sum())


def proposal_sample_size(
    target: ParameterLaw, proposal: ParameterLaw, draws: Callable[[], Iterable[Draw]], orders: IntArray
) -> float:
    """Return the effective sample size of features of these orders, drawn from the proposal.

    Coefficients matter only if their two distributions differ. Then `draws` returns them.
    """
    if target.coefficients != proposal.coefficients:
        weights = [importance_weights(target, proposal, draw) for draw in draws()]
        return effective_sample_size(np.concatenate(weights))
    present, counts = np.unique(orders, return_counts=True)
    ratio = [target.orders.probability(int(k)) / proposal.orders.probability(int(k)) for k in present]
    return effective_sample_size(np.repeat(ratio, counts))


def largest_ratio(target: ParameterLaw, proposal: ParameterLaw) -> float:
    """Bound p / p-bar over all features that can be drawn, or infinite if no bound is known."""
    drawn = [k for k in range(1, 64) if proposal.orders.probability(k) > 0]
    orders = max(target.orders.probability(k) / proposal.orders.probability(k) for k in drawn)
    if target.coefficients == proposal.coefficients:
        return orders
    p, p_bar = (scales_of(law.coefficients) or {} for law in (target, proposal))
    if not p or not set(p) <= set(p_bar):
        return math.inf
    return orders * max(probability / p_bar[scale] for scale, probability in p.items())


def _weights(target: ParameterLaw, proposal: ParameterLaw, draw: Draw, heads: int) -> FloatArray:
    """Return p / p-bar of (k, theta_F) together with each head, or alone without heads."""
    weights = np.empty((len(draw), max(heads, 1)))
    for group in draw.groups:
        weights[group.features] = target.orders.probability(group.k) / proposal.orders.probability(group.k)
        if target.coefficients != proposal.coefficients:
            theta_F = group.theta[:, : -n_head_parameters(group.k, group.hidden_channels)]
            squares, count = np.square(theta_F).sum(axis=1)[:, np.newaxis], theta_F.shape[1]
            if heads:
                squares, count = squares + np.square(group.heads).sum(axis=2), count + group.heads.shape[2]
            laws = normal_mixture(target.coefficients), normal_mixture(proposal.coefficients)
            p, p_bar = (law.log_density_of(squares, count) for law in laws)
            weights[group.features] *= np.exp(p - p_bar)
    return weights.reshape(-1)
