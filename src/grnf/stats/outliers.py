"""Which graphs do not belong? scikit-learn's outlier interface, with p-values that hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.stats import false_discovery_control
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from grnf._utils.random import SEED_RULES, draw_seed, page_generator
from grnf._utils.rules import Int, OneOf, Real, Table, checked, checked_parameters
from grnf.collection import Collection, vectors_of
from grnf.errors import GraphError
from grnf.estimators import GRNF
from grnf.search.whitening import SPACES, space_map
from grnf.stats.conformal import conformal_p_values, rounded_scores
from grnf.typing import BoolArray, FloatArray, IntArray

__all__ = ["GRNFOutlierDetector", "Judgement"]

EQUAL = 1e-6
"""Rows are equal if their distance is below this share of their lengths."""

ROWS = 4096
"""Rows whose distances to all others are held at a time."""

USUAL = 0.05
"""Share of normal graphs that are called outliers where contamination is "auto"."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """What was found of some graphs; a row of NaN for those that cannot be used.

    Parameters
    ----------
    ids : list of str
    scores : array
        How strange each is: minus `score_samples`.
    p_values : array
        Chance that a normal graph is as strange, at most.
    adjusted : array
        Smallest false discovery rate at which it counts as an outlier.
    outliers : array of bool
        Whether it does, at the rate that was asked for.
    nearest : list of str or None
        The normal graph that is nearest to it.
    distances : array
        How near, in the space of the detector.
    errors : list of (int, str)
        Place and reason of graphs that cannot be used.
    """

    ids: list[str]
    scores: FloatArray
    p_values: FloatArray
    adjusted: FloatArray
    outliers: BoolArray
    nearest: list[str | None]
    distances: FloatArray
    errors: list[tuple[int, str]]

    columns: ClassVar[list[str]] = ["id", "score", "p_value", "adjusted", "outlier", "nearest", "distance"]

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a row of a table for each graph."""
        for row, name in enumerate(self.ids):
            values = [self.scores[row], self.p_values[row], self.adjusted[row]]
            numbers = [None if np.isnan(value) else float(value) for value in values]
            far = None if np.isnan(self.distances[row]) else float(self.distances[row])
            found = [name, *numbers, bool(self.outliers[row]), self.nearest[row], far]
            yield dict(zip(self.columns, found, strict=True))


class GRNFOutlierDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Find graphs that do not belong to a collection.

    Part of the collection shows what is normal, the rest is held out: the rank of a graph's score among
    theirs is its p-value, valid for any detector, any M and any number of graphs, as long as the collection
    is normal; outliers in it make p-values larger, not smaller.

    Parameters
    ----------
    transformer : GRNF or another object with `transform`, optional
        Makes vectors of graphs; a copy is fitted if it is not fitted yet. By default GRNF as it is. Not
        needed for vectors.
    detector : "neighbors" or scikit-learn outlier detector, default="neighbors"
        "neighbors": the mean distance to the `n_neighbors` nearest normal graphs, a copy of the graph itself
        not counted. Or any detector with `score_samples` or `decision_function` for new samples, such as
        IsolationForest(random_state=0) or LocalOutlierFactor(novelty=True); it is cloned.
    n_neighbors : int, default=5
    contamination : "auto" or float, default="auto"
        Share of outliers in the collection, by which `predict` draws the line; "auto": beyond all but 5 % of
        the graphs held out.
    space : "whitened" or "plain", default="whitened"
        What near means, as in `grnf.search.GraphIndex`.
    shrinkage : float, default=0.01
        For "whitened".
    held_out : float, default=0.5
        Share of the collection that is held out. The smallest p-value is 1 / (1 + graphs held out).
    on_error : "raise" or "nan", default="raise"
        A graph that cannot be used is an error, or has NaN for an answer; in `fit` it is then left out.
    random_state : int, numpy Generator or RandomState, default=0

    Attributes
    ----------
    offset_ : float
        `decision_function` is `score_samples` minus this.
    held_out_scores_ : array
        -`score_samples` of the graphs held out.
    detector_ : object
        The fitted detector.
    errors_ : list of (int, str)
        Row and reason of bad graphs in `fit`.

    Examples
    --------
    >>> from grnf import GRNF, Graph
    >>> from grnf.datasets import make_sbm
    >>> usual, _ = make_sbm(300, random_state=0)
    >>> detector = GRNFOutlierDetector(GRNF(64, random_state=0)).fit(usual[:200])
    >>> star = Graph(12, [(0, leaf) for leaf in range(1, 12)])
    >>> found = detector.judge([star, *usual[200:]])
    >>> found.ids[0], bool(found.p_values[0] < 0.01), detector.predict([star])
    ('0', True, array([-1]))
    """

    _rules: ClassVar[Table] = {
        "n_neighbors": [Int(1)],
        "space": [OneOf(*SPACES)],
        "shrinkage": [Real()],
        "held_out": [Real(1)],
        "on_error": [OneOf("raise", "nan")],
        "random_state": SEED_RULES,
    }

    def __init__(
        self,
        transformer: Any = None,
        *,
        detector: Any = "neighbors",
        n_neighbors: int = 5,
        contamination: float | str = "auto",
        space: str = "whitened",
        shrinkage: float = 1e-2,
        held_out: float = 0.5,
        on_error: str = "raise",
        random_state: Any = 0,
    ) -> None:
        self.transformer = transformer
        self.detector = detector
        self.n_neighbors = n_neighbors
        self.contamination = contamination
        self.space = space
        self.shrinkage = shrinkage
        self.held_out = held_out
        self.on_error = on_error
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, ids: Sequence[str] | None = None) -> Self:  # noqa: ARG002
        """Learn what is normal.

        Parameters
        ----------
        X : collection of graphs of any kind, or array of vectors, shape (n, M)
        y : ignored
        ids : sequence of str, optional
            What the graphs are called, for `judge`.
        """
        settings = self._settings()
        seed = draw_seed(self.random_state)
        given = self._first_vectors(X, ids, seed)
        self.transformer_, self.errors_, Z = given.transformer, given.errors, given.vectors
        order = page_generator(seed, 0, stream=4).permutation(len(Z))
        n_shown = len(order) - min(len(order) - 1, max(1, round(settings["held_out"] * len(order))))
        shown, held_out = np.sort(order[:n_shown]), np.sort(order[n_shown:])
        if not len(held_out):
            raise GraphError(f"{len(order)} graph that can be used: some must be held out, so give more")
        self._map = space_map(settings["space"], Z[shown], settings["shrinkage"])
        self.n_features_in_ = Z.shape[1]
        self.detector_ = self._fitted_detector(self._map(Z[shown]))
        unit = float(np.median(np.abs(self._strange(Z[shown]))))
        self._unit = unit if np.isfinite(unit) and unit > 0 else 1.0
        self.held_out_scores_ = np.sort(self._scores(Z[held_out]))
        self.offset_ = self._offset(Z)
        normal = -self._scores(Z) >= self.offset_
        self._normal = _brute(self._map(Z[normal]))
        self._normal_ids = given.take(normal).ids
        return self

    def score_samples(self, X: Any) -> FloatArray:
        """Return how normal graphs are: the larger, the more; NaN for bad ones if `on_error` is "nan"."""
        return -self._judged(X, self._scores)

    def decision_function(self, X: Any) -> FloatArray:
        """Return `score_samples` minus `offset_`: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return -1 for outliers and 1 for others; NaN for bad ones if `on_error` is "nan"."""
        decision = self.decision_function(X)
        bad = np.isnan(decision)
        found = np.where(decision < 0, -1, 1)
        return np.where(bad, np.nan, found) if bad.any() else found

    def p_values(self, X: Any) -> FloatArray:
        """Return (1 + #{held-out scores at least as strange}) / (1 + graphs held out) for each graph."""
        return self._judged(X, self._p_values)

    def judge(self, X: Any, *, fdr: float = 0.1, ids: Sequence[str] | None = None) -> Judgement:
        """Return scores, p-values, outliers at a false discovery rate, and the nearest normal graphs.

        Of the graphs that are called outliers, a share of at most `fdr` is normal, on average (Benjamini and
        Hochberg).

        Parameters
        ----------
        X : collection of graphs, as in `fit`
        fdr : float, default=0.1
        ids : sequence of str, optional
        """
        checked(fdr, "fdr", Real(1))
        given = self._vectors(X, ids)
        return _judgement(given, self._rows(given.vectors), fdr)

    def fit_judge(
        self, X: Any, *, fdr: float = 0.1, ids: Sequence[str] | None = None, n_folds: int = 5
    ) -> Judgement:
        """Judge the graphs of one collection: each by a detector that was fitted without it.

        The detector is fitted on all of them too. p-values hold, but outliers among the held-out graphs make
        them larger, so that many hide each other: give a clean reference where there is one. With
        `contamination` as a number, that share of the graphs is flagged, the strangest, in place of what the
        false discovery rate allows.
        """
        checked(fdr, "fdr", Real(1))
        n_folds = checked(n_folds, "n_folds", Int(2))
        seed = draw_seed(self.random_state)
        given = self._first_vectors(X, ids, seed)
        self.fit(given)
        if len(given) < n_folds:
            raise GraphError(f"{len(given)} graphs that can be used, and {n_folds} folds: take fewer folds")
        folds = page_generator(seed, 1, stream=4).permutation(len(given)) % n_folds
        found = np.full((len(given), 3), np.nan)
        nearest: list[str | None] = [None] * len(given)
        for fold in range(n_folds):
            inside = np.flatnonzero(folds == fold)
            alone = clone(self).set_params(transformer=None).fit(given.take(folds != fold))
            found[inside], near = alone._rows(given.vectors[inside])
            for place, name in zip(inside.tolist(), near, strict=True):
                nearest[place] = name
        judgement = _judgement(given, (found, nearest), fdr)
        if self.contamination == "auto":
            return judgement
        line = np.percentile(found[:, 0], 100 * (1 - float(self.contamination)))
        return replace(judgement, outliers=judgement.scores > line)  # NaN is not

    # ---- within

    def _settings(self) -> dict[str, Any]:
        settings = checked_parameters(self, self._rules)
        if self.contamination != "auto":
            rules = Real(math.nextafter(0.5, 1)), OneOf("auto")
            checked(self.contamination, "contamination", *rules, owner=type(self).__name__)
        if isinstance(self.detector, str) and self.detector != "neighbors":
            raise ValueError(
                f"{type(self).__name__}: detector must be 'neighbors' or a scikit-learn detector; got "
                f"{self.detector!r}"
            )
        return settings

    def _fitted_detector(self, rows: FloatArray) -> Any:
        if isinstance(self.detector, str):
            if len(rows) <= self.n_neighbors:
                raise GraphError(
                    f"{len(rows)} graphs show what is normal (the others are held out), and n_neighbors="
                    f"{self.n_neighbors} needs more. Give more graphs, or a smaller n_neighbors or held_out"
                )
            self._longest = float(np.linalg.norm(rows, axis=1).max())
            return _brute(rows)
        fitted = clone(self.detector).fit(rows)
        if not (hasattr(fitted, "score_samples") or hasattr(fitted, "decision_function")):
            raise ValueError(
                f"{type(fitted).__name__} cannot score new samples; LocalOutlierFactor needs novelty=True"
            )
        return fitted

    def _strange(self, Z: FloatArray) -> FloatArray:
        rows = self._map(Z)
        if isinstance(self.detector, str):
            return _mean_distance(self.detector_, rows, self.n_neighbors, self._longest)
        method = "score_samples" if hasattr(self.detector_, "score_samples") else "decision_function"
        return -np.asarray(getattr(self.detector_, method)(rows), dtype=np.float64)

    def _scores(self, Z: FloatArray) -> FloatArray:
        return rounded_scores(self._strange(Z), self._unit) * self._unit

    def _p_values(self, Z: FloatArray) -> FloatArray:
        return conformal_p_values(self.held_out_scores_, self._scores(Z))

    def _offset(self, Z: FloatArray) -> float:
        """Return the score below which graphs are outliers."""
        if self.contamination != "auto":
            return float(np.percentile(-self._scores(Z), 100.0 * float(self.contamination)))
        held_out = self.held_out_scores_
        above = int(USUAL * (1 + len(held_out))) - 1  # so many held-out scores may be as strange
        return -float(held_out[-1 - max(above, 0)])

    def _first_vectors(self, X: Any, ids: Sequence[str] | None, seed: int) -> Collection:
        """Return the vectors of the graphs of `fit`, in double precision."""
        transformer = GRNF(random_state=seed) if self.transformer is None else self.transformer
        given = vectors_of(X, transformer, on_error=self.on_error, ids=ids)
        return replace(given, vectors=np.asarray(given.vectors, dtype=np.float64))

    def _vectors(self, X: Any, ids: Sequence[str] | None = None) -> Collection:
        check_is_fitted(self, "offset_")
        given = vectors_of(X, self.transformer_, on_error=self.on_error, ids=ids)
        if len(given) and given.vectors.shape[1] != self.n_features_in_:
            raise GraphError(
                f"X has vectors of length {given.vectors.shape[1]}, and the detector was fitted on length "
                f"{self.n_features_in_}: all must come from one transformer"
            )
        return replace(given, vectors=np.asarray(given.vectors, dtype=np.float64))

    def _judged(self, X: Any, answer: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Return an answer for each graph, NaN for bad ones."""
        given = self._vectors(X)
        found = np.full(given.n_rows, np.nan)
        if len(given):
            found[given.rows] = answer(given.vectors)
        return found

    def _rows(self, Z: FloatArray) -> tuple[FloatArray, list[str | None]]:
        """Return scores, p-values and distances to the nearest normal graphs, and what these are called."""
        scores = self._scores(Z)
        near = list(_nearest(self._normal, self._map(Z), 1))
        far = np.concatenate([np.zeros(0), *(distances[:, 0] for distances, _ in near)])
        found = np.column_stack([scores, conformal_p_values(self.held_out_scores_, scores), far])
        return found, [self._normal_ids[place] for _, places in near for place in places[:, 0]]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


def _judgement(given: Collection, found: tuple[FloatArray, list[str | None]], fdr: float) -> Judgement:
    """Return rows for all graphs, bad ones too."""
    numbers, nearest = found
    full = np.full((given.n_rows, 4), np.nan)
    full[given.rows, :3] = numbers
    if len(given):
        # holds for conformal p-values that share held-out scores (Bates and others, 2023)
        full[given.rows, 3] = false_discovery_control(numbers[:, 1])
    flagged = full[:, 3] <= fdr * (1 + 1e-12)  # false for NaN; 3 * 0.1 / 3 is a little below 0.1
    names: list[str | None] = [None] * given.n_rows
    for place, name in zip(given.rows.tolist(), nearest, strict=True):
        names[place] = name
    scores, p, far, adjusted = full.T
    return Judgement(given.all_ids, scores, p, adjusted, flagged, names, far, given.errors)


def _brute(rows: FloatArray) -> NearestNeighbors:
    return NearestNeighbors(algorithm="brute").fit(np.asarray(rows, dtype=np.float64))


def _nearest(index: NearestNeighbors, rows: FloatArray, k: int) -> Iterator[tuple[FloatArray, IntArray]]:
    """Yield distances and places of the k nearest of some rows at a time."""
    for start in range(0, len(rows), ROWS):
        yield index.kneighbors(np.asarray(rows[start : start + ROWS], dtype=np.float64), k)


def _mean_distance(index: NearestNeighbors, rows: FloatArray, k: int, longest: float) -> FloatArray:
    """Return the mean distance to the k nearest; a row that is equal does not count.

    `longest` is the largest length of the rows of the index.

    Examples
    --------
    >>> _mean_distance(_brute(np.array([[0.0], [1.0], [5.0]])), np.array([[0.0], [2.0]]), 2, 5.0)
    array([3. , 1.5])
    """
    near = (far for far, _ in _nearest(index, rows, k + 1))
    distances = np.concatenate([np.zeros((0, k + 1)), *near])
    equal = distances[:, :1] <= EQUAL * (np.linalg.norm(rows, axis=1, keepdims=True) + longest)
    return np.asarray(np.where(equal, distances[:, 1:], distances[:, :-1]).mean(axis=1))
