"""Lower confidence bounds on the distance between two distributions, from a classifier of samples.

For every function f with values 0 and 1, and every D with values in (0, 1),

    total variation              TV(P, Q)  >= E_P f - E_Q f,
    Jensen-Shannon divergence    JSD(P, Q) >= 1 + (E_P log2 D + E_Q log2(1 - D)) / 2.

Both samples are put in random order and cut into parts. The classifier that judges a part is trained on all
parts before it, and so are its threshold and the weights of the feature views. Every graph after the first
part is judged, and then trains. Given the earlier parts, each term of a pair (x from P, y from Q),

    (1 + f(x) - f(y)) / 2    or    1 + (log2 D(x) + log2(1 - D(y))) / 2,    D clipped to [c, 1 - c],

is bounded, and its expectation is at most (1 + TV) / 2 or JSD, whatever the classifier is. The wealth of a
bet that it is larger is therefore a nonnegative supermartingale over all terms of all parts, and one betting
bound holds with probability 1 - delta (`grnf.metric.betting`). Neither the number of parts nor the choice of
views and threshold needs a correction. The total variation of f bounds the divergence too, by its value for
two events of probabilities (1 + TV) / 2 and (1 - TV) / 2. The bound on the divergence is the larger of these
two, each with delta / 2. The graphs of each sample must be independent draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression

from grnf.metric.betting import betting_interval
from grnf.stats.pooling import sample_axes
from grnf.typing import FloatArray, IntArray

DELTA = 0.05
CLIP = 0.02
"""Probabilities are at least this, so that logarithms are bounded."""

PARTS = (1 / 3, 1 / 2, 2 / 3, 5 / 6, 1.0)
"""Shares of the graphs after the first part, and after each part that is judged."""

AXES, JOINT_AXES, KERNEL_AXES = 128, 32, 8
"""Principal axes of a view by itself, next to the other views, and in the Gaussian kernel."""

RIDGES = 10.0 ** np.arange(-3, 4)
"""Penalties, relative to the number of graphs; axes have variance 1."""

SHRINKAGE = 1e-3
SHOWN = 6

SETTINGS = {"delta": DELTA, "parts": [round(share, 3) for share in PARTS], "clip": CLIP, "axes": AXES}
"""What is stored with a result."""

Views = Mapping[str, FloatArray]


@dataclass(frozen=True)
class Separation:
    """How well a classifier distinguishes generated from reference graphs.

    Parameters
    ----------
    total_variation, jensen_shannon : float
        Lower bounds, each with probability 1 - delta, on the distances. They are at least 0. The second is
        the root of the divergence in bits.
    estimates : dict from name to float
        Means of the same terms, without a guarantee.
    detectable : dict from name to float
        What so many graphs show in about half of the samples with the best possible classifier, if the
        difference lies in an event of probability (1 + TV) / 2 against (1 - TV) / 2.
    n_pairs : int
        Pairs of graphs that were judged.
    delta : float
    views : dict from name to float
        Share of each view in the scores of the last classifier.
    typical : tuple of two lists of int
        Judged graphs that are most clearly generated, and reference graphs, as positions in their samples.
    """

    total_variation: float
    jensen_shannon: float
    estimates: dict[str, float]
    detectable: dict[str, float]
    n_pairs: int
    delta: float
    views: dict[str, float]
    typical: tuple[list[int], list[int]]

    def verdict(self, n_graphs: int) -> str:
        """Return the bound on the total variation in words. `n_graphs` is the number of all graphs."""
        if self.total_variation > 0:
            return f"total variation distance: at least {self.total_variation:.3f}"
        least = self.detectable["total_variation"]
        return f"not distinguished with {n_graphs:,} graphs, which could have shown a distance of {least:.2f}"


def separate(
    sizes: tuple[int, int], views: Callable[[IntArray], Views], seed: int, delta: float = DELTA
) -> Separation:
    """Return lower bounds on the distance between the distributions of two samples, given by their sizes.

    `views` returns vectors of the whole pool, in which the first sample comes first. What it learns, it
    learns from the given positions alone. `delta` is the probability that a bound exceeds the distance.
    """
    random = np.random.default_rng([seed, 6])
    orders = [random.permutation(sizes[0]), sizes[0] + random.permutation(sizes[1])]
    cuts = [[max(round(share * n), 1) for share in PARTS] for n in sizes]
    first = np.concatenate([order[: cut[0]] for order, cut in zip(orders, cuts, strict=True)])
    vectors = views(first)
    labels = np.repeat([True, False], sizes)
    steps, bits, scores = [], [], np.full(sum(sizes), np.nan)
    weights: dict[str, float] = {}
    for part in range(1, len(PARTS)):
        train = np.concatenate([order[: cut[part - 1]] for order, cut in zip(orders, cuts, strict=True)])
        sides = [order[cut[part - 1] : cut[part]] for order, cut in zip(orders, cuts, strict=True)]
        judged = np.concatenate(sides)
        if not all(map(len, sides)):
            continue
        D, threshold, weights = _probabilities(vectors, labels, train, judged, seed)
        scores[judged] = D
        D = np.clip(D, CLIP, 1 - CLIP)
        generated, reference = D[: len(sides[0])], D[len(sides[0]) :]
        n = min(map(len, sides))
        steps.append((1 + _groups(generated > threshold, n) - _groups(reference > threshold, n)) / 2)
        bits.append(1 + (_groups(np.log2(generated), n) + _groups(np.log2(1 - reference), n)) / 2)
    step, bit = np.concatenate([[], *steps]), np.concatenate([[], *bits])
    low, high = 1 + math.log2(CLIP), 1 + math.log2(1 - CLIP)
    distance = divergence = 0.0
    estimates = (0.0, 0.0)
    if len(step):  # lower ends alone, so delta is half of that of an interval
        distance = max(2 * betting_interval(step, 2 * delta)[0] - 1, 0.0)
        of_bits = low + (high - low) * betting_interval((bit - low) / (high - low), delta)[0]
        of_steps = _divergence(max(2 * betting_interval(step, delta)[0] - 1, 0.0))
        divergence = max(of_bits, of_steps)
        estimates = 2 * float(step.mean()) - 1, math.sqrt(max(float(bit.mean()), 0.0))
    shown = math.sqrt(math.log(2 / delta) / (len(step) + math.log(2 / delta)))
    return Separation(
        total_variation=distance,
        jensen_shannon=math.sqrt(divergence),
        estimates=_named(*(max(value, 0.0) for value in estimates)),
        detectable=_named(shown, math.sqrt(_divergence(shown))),
        n_pairs=len(step),
        delta=delta,
        views=weights,
        typical=_typical(scores, sizes[0]),
    )


def _named(one: float, two: float) -> dict[str, float]:
    return {"total_variation": one, "jensen_shannon": two}


def _divergence(distance: float) -> float:
    """Return the smallest Jensen-Shannon divergence at a total variation distance."""
    shares = (1 + distance) / 2, (1 - distance) / 2
    return max(1 + sum(p * math.log2(p) for p in shares if p > 0), 0.0)


def _groups(values: Any, n: int) -> FloatArray:
    """Return means of n groups of about equal size."""
    starts = np.arange(n) * len(values) // n
    counts = np.diff(np.append(starts, len(values)))
    return np.asarray(np.add.reduceat(np.asarray(values, np.float64), starts) / counts)


def _typical(scores: FloatArray, m: int) -> tuple[list[int], list[int]]:
    """Return the positions of the largest scores of the first sample, and of the smallest of the second."""
    order = np.argsort(scores, kind="stable")
    order = order[np.isfinite(scores[order])]
    return order[order < m][::-1][:SHOWN].tolist(), (order[order >= m][:SHOWN] - m).tolist()


def _probabilities(
    vectors: Views, labels: Any, train: IntArray, judged: IntArray, seed: int
) -> tuple[FloatArray, float, dict[str, float]]:
    """Return probabilities that the judged graphs are generated, the threshold, and the shares of views.

    Each view has a ridge classifier on whitened axes. Its penalty is chosen by leave-one-out, and a logistic
    regression on leave-one-out scores combines the views.
    """
    y = labels[train]
    weights = np.where(y, 0.5 / y.mean(), 0.5 / (1 - y.mean()))  # both samples count equally
    spaces = {name: _whitened(np.asarray(Z, np.float64), train) for name, Z in vectors.items()}
    if len(spaces) > 1:
        spaces["joint"] = np.hstack([Z[:, :JOINT_AXES] for Z in spaces.values()])
    few = _whitened(np.hstack(list(spaces.values())), train)[:, :KERNEL_AXES]
    if few.shape[1]:
        gamma = 0.5 / few.shape[1]
        sampler = RBFSampler(gamma=gamma, n_components=AXES, random_state=seed % 2**32).fit(few)
        spaces["kernel"] = _whitened(sampler.transform(few), train)
    left_out, scores = np.zeros((2, len(labels), len(spaces)))
    for column, Z in enumerate(spaces.values()):
        left_out[train, column], scores[judged, column] = _ridge(Z, 2.0 * y - 1, weights, train, judged)
    model = LogisticRegression(class_weight="balanced").fit(left_out[train], y)
    known, D = (model.predict_proba(some)[:, 1] for some in (left_out[train], scores[judged]))
    order = np.argsort(known)
    gaps = np.cumsum(np.where(y[order], -1 / y.sum(), 1 / (~y).sum()))[:-1]
    gaps[np.diff(known[order]) == 0] = -np.inf  # equal scores are on the same side
    at = int(np.argmax(gaps))
    threshold = float(known[order[at : at + 2]].mean())
    share = np.abs(model.coef_[0]) * left_out[train].std(axis=0)
    share = share / max(share.sum(), 1e-12)
    return D, threshold, dict(zip(spaces, share.tolist(), strict=True))


def _whitened(Z: FloatArray, train: IntArray) -> FloatArray:
    """Return all rows along axes of the training part, with about equal variance there."""
    scale = Z[train].std(axis=0)
    kept = scale > 1e-6 * max(float(np.abs(Z[train]).max(initial=0)), 1e-12)
    if not kept.any():
        return np.zeros((len(Z), 0))
    Z = (Z[:, kept] - Z[train][:, kept].mean(axis=0)) / scale[kept]
    _, variances, axes = sample_axes(Z[train])
    most = min(AXES, max(len(train) // 4, 1))
    return np.asarray(Z @ (axes / np.sqrt(np.maximum(variances, 0) + SHRINKAGE * variances[0]))[:, :most])


def _ridge(
    Z: FloatArray, y: FloatArray, weights: FloatArray, train: IntArray, judged: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return leave-one-out scores of the training part, and scores of the judged graphs."""
    mean = weights @ Z[train] / weights.sum()
    X = (Z[train] - mean) * np.sqrt(weights)[:, np.newaxis]
    values, axes = np.linalg.eigh(X.T @ X)
    turned, target = X @ axes, np.sqrt(weights) * y  # y has weighted mean 0
    product = turned.T @ target
    best, found = np.inf, (np.zeros(len(train)), np.zeros(len(judged)))
    for ridge in RIDGES * len(train):
        inverse = 1 / (np.maximum(values, 0) + ridge)
        lever = np.square(turned) @ inverse + weights / weights.sum()
        errors = (target - turned @ (inverse * product)) / np.sqrt(weights) / np.maximum(1 - lever, 1e-6)
        if (loss := float(weights @ np.square(errors))) < best:
            best, found = loss, (y - errors, (Z[judged] - mean) @ axes @ (inverse * product))
    return found
