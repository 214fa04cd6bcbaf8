"""Scores of generated against reference graphs, each with an interval.

They are lower bounds on absolute distances, distances between vectors, neighbors and duplicates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from grnf._utils.random import draw_seed
from grnf._utils.result_tables import html_table
from grnf._utils.rules import Int, OneOf, checked
from grnf._version import __version__
from grnf.errors import GraphError
from grnf.estimators import WLFingerprint
from grnf.graphs import GraphBatch
from grnf.stats.descriptor import GraphDescriptor
from grnf.stats.permutation_tests import (
    PermutationTestResult,
    Score,
    bootstrap_counts,
    compare_samples,
    energy_score,
    percentile_score,
    wilson_score,
)
from grnf.stats.pooling import distances, joined, pooled_views, rounding_variance, sample_axes
from grnf.stats.separation import SETTINGS, Separation, separate
from grnf.symmetry import Certificate, certificates
from grnf.typing import BoolArray, FloatArray, IntArray

AXES = 64
SHRINKAGE = 0.01
MOST = 2000
"""Graphs of each side over which pairs are taken; more are sampled."""

ROWS = 1024
"""Rows of distances that are held at a time."""

DISTANCES = {
    "total_variation": "total variation distance", "jensen_shannon": "Jensen-Shannon distance",
    "energy": "energy distance", "mmd2": "MMD^2", "frechet": "Frechet distance",
}  # fmt: skip
"""Scores of which lower is better, with their titles. Of the others higher is better."""

FORMATS = ("text", "markdown", "latex", "csv")
HEADER = ("score", "better", "value", "95 % interval", "reference halves")


@dataclass(frozen=True)
class Evaluation:
    """Scores of generated graphs.

    Parameters
    ----------
    scores : dict from name to Score
        total_variation, jensen_shannon; energy, mmd2, frechet; precision, recall, density, coverage; for
        graphs also uniqueness and novelty, and validity if a function is given.
    test : PermutationTestResult
        Whether generated and reference graphs have the same distribution.
    separation : Separation
        How well a classifier distinguishes them: lower bounds, feature views, typical graphs.
    undecided : int
        Generated graphs that may be duplicates, which was not decided; they count as new.
    protocol : dict
        All settings that are needed to repeat the evaluation.

    Examples
    --------
    >>> from grnf.datasets import make_sbm
    >>> graphs, _ = make_sbm(60, random_state=0)
    >>> result = evaluate(graphs[:30], graphs[30:], n_components=32, n_bootstraps=50, random_state=0)
    >>> print(result.to_table("markdown").splitlines()[0])
    | score | better | value | 95 % interval | reference halves |
    >>> result.notes()[0], len(result.to_dict()["scores"])
    ('30 generated, 30 reference graphs', 11)
    """

    scores: dict[str, Score]
    test: PermutationTestResult
    separation: Separation
    undecided: int
    protocol: dict[str, Any] = field(repr=False)

    @property
    def pvalue(self) -> float:
        """Of the two-sample test."""
        return self.test.pvalue

    @property
    def total_variation(self) -> float:
        """Lower 95 % confidence bound on the total variation distance; 0 if nothing was distinguished."""
        return self.separation.total_variation

    @property
    def jensen_shannon(self) -> float:
        """Lower 95 % confidence bound on the Jensen-Shannon distance (root of the divergence in bits)."""
        return self.separation.jensen_shannon

    def __getitem__(self, name: str) -> Score:
        return self.scores[name]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON.

        Returns
        -------
        dict
        """
        bounds = {"total_variation": self.total_variation, "jensen_shannon": self.jensen_shannon}
        return {**asdict(self), **bounds, "pvalue": self.pvalue, "test": self.test.to_dict()}

    def to_table(self, format: str = "text") -> str:
        """Return the scores as a table: "text", "markdown", "latex" or "csv".

        Parameters
        ----------
        format : "text", "markdown", "latex" or "csv", default="text"

        Returns
        -------
        str
        """
        checked(format, "format", OneOf(*FORMATS))
        rows = [
            (DISTANCES.get(name, name), "lower" if name in DISTANCES else "higher", score)
            for name, score in self.scores.items()
        ]
        if format == "csv":
            lines = ["score,better,value,low,high,reference_halves"]
            for title, better, score in rows:
                numbers = ["" if value is None else f"{value:.9g}" for value in vars(score).values()]
                lines.append(",".join([title, better, *numbers]))
            return "\n".join(lines) + "\n"
        cells, notes = [list(HEADER)], self.notes()
        for title, better, score in rows:
            interval = f"{_text(score.low)} to {_text(score.high)}"
            cells.append([title, better, _text(score.value), interval, _text(score.baseline)])
        if format == "latex":
            marks = {
                "MMD^2": "MMD$^2$",
                "Frechet distance": r"Fr\'echet distance",
                HEADER[3]: r"95 \% interval",
            }
            head, *lines = [" & ".join(marks.get(text, text) for text in row) + r" \\" for row in cells]
            opening = r"\begin{tabular}{llrrr}", r"\hline", head, r"\hline"
            notes = [f"% {note}" for note in notes]
            return "\n".join([*opening, *lines, r"\hline", r"\end{tabular}", *notes])
        if format == "markdown":
            lines = [f"| {' | '.join(row)} |" for row in cells]
            lines.insert(1, "|---" * len(HEADER) + "|")
        else:
            widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
            form = "{:<%d}  {:<%d}  {:>%d}  {:>%d}  {:>%d}" % tuple(widths)  # noqa: UP031
            lines = [form.format(*row).rstrip() for row in cells]
        return "\n".join([*lines, "", *notes])

    def __str__(self) -> str:
        return self.to_table()

    def _repr_html_(self) -> str:
        records = [{"score": name, **vars(score)} for name, score in self.scores.items()]
        return html_table(["score", "value", "low", "high"], records, "\n".join(self.notes()))

    def notes(self) -> list[str]:
        """Return sizes, verdicts and settings, a line each.

        Returns
        -------
        list of str
        """
        sizes, made = self.protocol["sizes"], self.protocol["descriptor"]
        features = f"; M = {made['n_components']} features each" if "n_components" in made else ""
        how = f"{self.test.n_resamples:,} permutations; largest effect: {self.test.strongest}"
        k, seed = self.protocol["n_neighbors"], self.protocol["random_state"]
        space = f"{self.protocol['space']} space, {self.protocol['axes']} axes"
        notes = [
            f"{sizes[0]:,} generated, {sizes[1]:,} reference graphs",
            f"classifier: {self.separation.verdict(sum(sizes))} (confidence 95 %)",
            f"two-sample test: p = {self.pvalue:.4g} ({how})",
            f"views: {', '.join(made['views'])}{features}; {space}; k = {k}; seed {seed}; grnf {__version__}",
        ]
        if self.undecided:
            notes.append(f"{self.undecided:,} generated graphs may be duplicates (undecided); counted as new")
        return notes


def evaluate(
    generated: Any,
    reference: Any,
    *,
    valid: Callable[[Any], bool] | None = None,
    n_unusable: int = 0,
    views: Any = "auto",
    space: str = "whitened",
    n_neighbors: int = 5,
    n_resamples: int = 999,
    n_bootstraps: int = 400,
    n_components: int = 512,
    random_state: Any = None,
) -> Evaluation:
    """Compare generated with reference graphs.

    Parameters
    ----------
    generated, reference : collections of graphs of any kind, or arrays of vectors
        Vectors have no uniqueness, novelty and validity.
    valid : function of a generated graph, as it was given, to bool, optional
        For the share of valid graphs. The other scores are those of all graphs.
    n_unusable : int, default=0
        Generated graphs that could not be read, and are not in `generated`: they count as invalid, as the
        errors of a `Collection` do.
    views : "auto", transformer, or dict of transformers, default="auto"
        Make vectors of graphs, as in `GraphDescriptor`.
    space : "whitened" or "plain", default="whitened"
        The distance: along up to 64 axes of the reference with equal variance (down to a hundredth of the
        largest variance), or between plain vectors.
    n_neighbors : int, default=5
        The radius of a ball is the distance to this neighbor.
    n_resamples : int, default=999
        Permutations of the two-sample test.
    n_bootstraps : int, default=400
        Bootstrap samples for intervals.
    n_components : int, default=512
        Features of each view.
    random_state : int, numpy Generator or RandomState, optional

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from grnf.datasets import make_sbm
    >>> graphs, y = make_sbm(120, random_state=0)
    >>> same = evaluate(graphs[:60], graphs[60:], n_components=64, random_state=0)
    >>> one, two = ([g for g, label in zip(graphs, y) if label == side] for side in (0, 1))
    >>> other = evaluate(one, two, n_components=64, random_state=0)
    >>> same["energy"].value < other["energy"].value, same.pvalue > 0.05, other.pvalue
    (True, True, 0.001)
    >>> print(f"total variation distance: {same.total_variation:.1f}, at least {other.total_variation:.1f}")
    total variation distance: 0.0, at least 0.7
    """
    checked(space, "space", OneOf("whitened", "plain"))
    n_unusable = checked(n_unusable, "n_unusable", Int(0))
    k = checked(n_neighbors, "n_neighbors", Int(1))
    n_bootstraps = checked(n_bootstraps, "n_bootstraps", Int(10))
    seed = draw_seed(random_state)
    descriptor = GraphDescriptor(n_components, views=views, random_state=seed)
    samples, pooled = pooled_views([generated, reference], ("generated", "reference"), descriptor)
    (made, known), (m, n) = samples, map(len, samples)
    for sample in samples:
        if (size := len(sample)) <= k:
            reason = f"{sample.name} has {size} graph{'s' * (size != 1)}, and n_neighbors={k} needs more"
            raise GraphError(reason, cure=f"Give more than {k} graphs, or a smaller n_neighbors")
    n_unusable += len(made.errors)
    test = compare_samples(samples, pooled, descriptor, n_resamples=n_resamples, seed=seed)
    sides = [{name: Z[rows] for name, Z in pooled.items()} for rows in (slice(m), slice(m, None))]
    X, Y = in_space(sides[0], sides[1], space)
    scores = _vector_scores(X, Y, k, n_bootstraps, seed)
    if made.has_vectors:
        separation = separate((m, n), lambda _: pooled, seed)
    else:
        separation = separate_graphs((m, n), joined([made.batch, known.batch]), clone(descriptor), seed)
    order, half = np.random.default_rng([seed, 5]).permutation(n), n // 2
    if half > k:  # the scores of a perfect generator
        base = _vector_scores(Y[order[:half]], Y[order[half:]], k, 10, seed)
        scores = {name: replace(score, baseline=base[name].value) for name, score in scores.items()}
    bounds = {
        name: Score(separation.estimates[name], getattr(separation, name), 1.0)
        for name in ("total_variation", "jensen_shannon")
    }
    scores = bounds | scores
    undecided = 0
    if made.has_vectors and (valid is not None or n_unusable):
        raise GraphError("valid is a function of graphs, got vectors")
    if not made.has_vectors:
        distinct, novel, undecided = count_duplicates(made.batch, known.batch)
        scores |= {"uniqueness": wilson_score(distinct, m), "novelty": wilson_score(novel, m)}
    if valid is not None or n_unusable:
        good = m if valid is None else sum(bool(valid(graph)) for graph in made.graphs)
        scores["validity"] = wilson_score(good, m + n_unusable)
    settings = {"space": space, "axes": int(X.shape[1]), "n_neighbors": k, "n_bootstraps": n_bootstraps}
    settings |= {"n_unusable": n_unusable, "classifier": SETTINGS}
    return Evaluation(scores, test, separation, undecided, {**test.protocol, **settings})


def separate_graphs(
    sizes: tuple[int, int], batch: GraphBatch, descriptor: GraphDescriptor, seed: int
) -> Separation:
    """Return what a classifier shows about two samples of graphs, one after the other in a batch.

    Its feature views are fitted on its training part alone.
    """

    def views(rows: IntArray) -> dict[str, FloatArray]:
        some = batch.take(rows)
        found = descriptor.fit(some).transform_views(batch)
        if isinstance(descriptor.views, str):
            found["WL"] = WLFingerprint().fit(some).transform(batch)
        return found

    return separate(sizes, views, seed)


def in_space(
    generated: Mapping[str, FloatArray], reference: Mapping[str, FloatArray], space: str = "whitened"
) -> tuple[FloatArray, FloatArray]:
    """Return generated and reference rows in the space whose distances are compared, from their views."""
    X, Y = (
        np.hstack([np.asarray(side[view], dtype=np.float64) for view in reference]) / np.sqrt(len(reference))
        for side in (generated, reference)
    )
    if space == "plain":
        return X - Y.mean(axis=0), Y - Y.mean(axis=0)
    mean, variances, axes = sample_axes(Y)
    unit = max(float(np.finfo(np.asarray(Z).dtype).eps) for Z in reference.values())
    least = rounding_variance(Y, unit)
    if variances[0] <= least:  # a constant reference
        apart = X - mean
        apart[np.einsum("ij,ij->i", apart, apart) <= least] = 0
        return apart, np.zeros_like(Y)
    axes = axes[:, :AXES] / np.sqrt(variances + SHRINKAGE * variances[0])[:AXES]
    return (X - mean) @ axes, (Y - mean) @ axes


def _vector_scores(X: FloatArray, Y: FloatArray, k: int, n_bootstraps: int, seed: int) -> dict[str, Score]:
    return sample_distances(X, Y, n_bootstraps, seed) | neighbor_scores(X, Y, k, n_bootstraps, seed)


def sample_distances(X: FloatArray, Y: FloatArray, n_bootstraps: int, seed: int) -> dict[str, Score]:
    """Return energy distance, MMD^2 (Gaussian kernel) and Frechet distance, with bootstrap intervals.

    The first two have no bias. The width of the kernel is the median distance within the reference Y.
    """
    random = np.random.default_rng([seed, 3])
    some, others = X[random.permutation(len(X))[:MOST]], Y[random.permutation(len(Y))[:MOST]]
    both = np.concatenate([some, others])
    D = distances(both, both)
    counts = [bootstrap_counts(len(side), n_bootstraps, random) for side in (some, others)]
    inside = D[len(some) :, len(some) :]
    apart = inside[np.triu_indices(len(inside), 1)]
    width = float(np.median(apart[apart > 0])) if (apart > 0).any() else 1.0
    energy, mmd2 = (energy_score(K, *counts) for K in (D, -np.exp(-0.5 * (D / width) ** 2)))
    X, Y = in_their_span(X, Y)
    draws = [
        frechet_distance(X[random.integers(len(X), size=len(X))], Y[random.integers(len(Y), size=len(Y))])
        for _ in range(min(n_bootstraps, 100))
    ]
    # a resample has fewer distinct graphs, and so a larger distance: the excess is subtracted
    value = frechet_distance(X, Y)
    frechet = percentile_score(value, np.maximum(np.array(draws) - np.mean(draws) + value, 0))
    return {"energy": energy, "mmd2": mmd2, "frechet": frechet}


def in_their_span(X: FloatArray, Y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rows along the axes in which they differ: distances stay, and covariances are smaller."""
    both = np.concatenate([X, Y])
    both -= both.mean(axis=0)
    few = len(both) < both.shape[1]
    squares, axes = np.linalg.eigh(both @ both.T if few else both.T @ both)
    kept = squares > np.finfo(np.float64).eps * len(squares) * squares[-1]
    along = axes[:, kept] * np.sqrt(squares[kept]) if few else both @ axes[:, kept]
    return along[: len(X)], along[len(X) :]


def frechet_distance(X: FloatArray, Y: FloatArray) -> float:
    """Return |mean - mean'|^2 + tr(S + S' - 2 (S S')^(1/2)) of the normal distributions of two samples."""
    shift = X.mean(axis=0) - Y.mean(axis=0)
    S, R = _covariance(X), _covariance(Y)
    values, axes = np.linalg.eigh(S)
    root = (axes * np.sqrt(np.maximum(values, 0))) @ axes.T
    cross = np.sqrt(np.maximum(np.linalg.eigvalsh(root @ R @ root), 0)).sum()
    return float(max(shift @ shift + np.trace(S) + np.trace(R) - 2 * cross, 0.0))


def _covariance(X: FloatArray) -> FloatArray:
    centered = X - X.mean(axis=0)
    return np.asarray(centered.T @ centered / max(len(X) - 1, 1))


def neighbor_scores(X: FloatArray, Y: FloatArray, k: int, n_bootstraps: int, seed: int) -> dict[str, Score]:
    """Return precision, recall, density and coverage of generated vectors X for reference vectors Y.

    Balls reach from each graph to the k-th nearest of its own side. Precision: the share of generated graphs
    in a ball of the reference. Recall: the share of reference graphs in a ball of the generated ones.
    Density: in how many balls a generated graph is, over k. Coverage: the share of balls of the reference
    that hold a generated graph. Shares have Wilson's interval, density a bootstrap interval.
    """
    balls, covered = _inside(X, Y, _radii(Y, k))
    recalled = _inside(Y, X, _radii(X, k))[0] > 0
    random = np.random.default_rng([seed, 4])
    density = balls / k
    drawn = density @ bootstrap_counts(len(X), n_bootstraps, random) / len(X)
    return {
        "precision": wilson_score(int((balls > 0).sum()), len(X)),
        "recall": wilson_score(int(recalled.sum()), len(Y)),
        "density": percentile_score(float(density.mean()), drawn),
        "coverage": wilson_score(int(covered.sum()), len(Y)),
    }


def _inside(X: FloatArray, Y: FloatArray, radii: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return in how many balls around Y each of X is, and which balls hold any of X."""
    balls, covered = np.zeros(len(X)), np.zeros(len(Y), np.bool_)
    for start in range(0, len(X), ROWS):
        held = distances(X[start : start + ROWS], Y) <= radii
        balls[start : start + ROWS] = held.sum(axis=1)
        covered |= held.any(axis=0)
    return balls, covered


def _radii(X: FloatArray, k: int) -> FloatArray:
    """Return the distance of each row to its k-th nearest other row."""
    radii = np.empty(len(X))
    for start in range(0, len(X), ROWS):
        D = distances(X[start : start + ROWS], X)
        D[np.arange(len(D)), np.arange(start, start + len(D))] = 0  # the row itself comes first
        radii[start : start + ROWS] = np.partition(D, k, axis=1)[:, k]
    return radii


def count_duplicates(generated: GraphBatch, reference: GraphBatch) -> tuple[int, int, int]:
    """Return the numbers of distinct, novel and undecided generated graphs, which have the same columns.

    Distinct: classes of isomorphic graphs, attributes and directions included. Novel: graphs that are
    isomorphic to none of the reference. Undecided: graphs that may be isomorphic to another one, which count
    as distinct and novel.
    """
    made, known = _certificates(generated, reference)
    forms: dict[int, set[bytes]] = {}
    for certificate in (*made, *known):
        forms.setdefault(certificate.value, set()).add(certificate.form)
    known_forms = {certificate.form for certificate in known}
    novel = sum(certificate.form not in known_forms for certificate in made)
    undecided = sum(not one.finished and len(forms[one.value]) > 1 for one in made)
    return len({certificate.form for certificate in made}), novel, undecided


def _certificates(*batches: GraphBatch) -> list[list[Certificate]]:
    """Return the certificates of the graphs of each batch, deeper only if depth 0 does not distinguish."""
    shallow = [certificates(batch, depth=0) for batch in batches]
    times = Counter(certificate.value for batch in shallow for certificate in batch)
    for batch, firsts in zip(batches, shallow, strict=True):
        again = [i for i, one in enumerate(firsts) if times[one.value] > 1 and not one.finished]
        for i, certificate in zip(again, certificates(batch.take(again)), strict=True):
            firsts[i] = certificate
    return shallow


def _text(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if 1e-3 <= abs(value) < 1e4 or value == 0 else f"{value:.2e}"
