"""Outlier detection with scikit-learn's interface and valid p-values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.stats import false_discovery_control
from sklearn.base import OutlierMixin, clone
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from grnf._utils.arrays import conformal_pvalues
from grnf._utils.estimator import GraphInput
from grnf._utils.random import SEED_RULES, draw_seed, page_generator
from grnf._utils.result_tables import html_table
from grnf._utils.rules import Int, OneOf, Real, checked, checked_parameters, param
from grnf.collection import NAN_ON_ERROR, Collection, vectors_of
from grnf.errors import GraphError, invalid
from grnf.estimators import JointFeatures
from grnf.search.whitening import SHRINKAGE, SPACES, space_map
from grnf.stats.conformal import rounded_scores
from grnf.typing import BoolArray, FloatArray

EQUAL = 1e-6
"""Rows are equal if their distance is below this share of their lengths."""

FLAGGED = 0.05
"""Share of reference graphs that are called outliers if contamination is "auto"."""


@dataclass(frozen=True, eq=False)
class OutlierReport:
    """Scores, p-values and outliers of some graphs; a row of NaN for those that cannot be used.

    Parameters
    ----------
    ids : list of str
    scores : array
        Minus `score_samples`: large is anomalous.
    pvalues : array
        Bound on the probability that a reference graph has such a score.
    adjusted : array
        Smallest false discovery rate at which the graph is an outlier.
    outliers : array of bool
        Whether it is, at the given rate.
    nearest : list of str or None
        The nearest inlier of the reference.
    distances : array
        Distance to it, in the space of the detector.
    errors : list of (int, str)
        Row and reason of graphs that cannot be used.
    needed : int or None
        If the graphs with the smallest possible p-value are not called outliers, because there are too few
        reference graphs for this false discovery rate: how many scores of them are needed (`detect` only).

    Examples
    --------
    >>> alcohols = ["C" * n + "O" for n in range(1, 40)]
    >>> detector = GRNFOutlierDetector(random_state=0).fit(alcohols)
    >>> report = detector.detect(["CCC(C)O", "[Na+].[Cl-]"], ids=["butanol", "salt"])
    >>> [(row["id"], row["pvalue"]) for row in report.records()]
    [('butanol', 0.075), ('salt', 0.025)]
    """

    ids: list[str]
    scores: FloatArray
    pvalues: FloatArray
    adjusted: FloatArray
    outliers: BoolArray
    nearest: list[str | None]
    distances: FloatArray
    errors: list[tuple[int, str]]
    needed: int | None = None

    columns: ClassVar[list[str]] = ["id", "score", "pvalue", "adjusted", "outlier", "nearest", "distance"]

    def _repr_html_(self) -> str:
        count = int(self.outliers.sum())
        return html_table(self.columns, self.records(), f"{count:,} outliers among {len(self.ids):,} graphs")

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a row of a table for each graph.

        Yields
        ------
        dict
        """
        numbers = np.column_stack([self.scores, self.pvalues, self.adjusted, self.distances]).tolist()
        for row, name in enumerate(self.ids):
            score, p, adjusted, far = (None if math.isnan(value) else value for value in numbers[row])
            values = [name, score, p, adjusted, bool(self.outliers[row]), self.nearest[row], far]
            yield dict(zip(self.columns, values, strict=True))


@dataclass(eq=False, repr=False)
class GRNFOutlierDetector(OutlierMixin, GraphInput):  # type: ignore[misc]
    """Find anomalous graphs.

    The rank of a graph's score among scores of reference graphs is its p-value. By default, each reference
    graph is scored by its distance to the others, so all of them serve twice. If the vectors are not fitted
    to the collection, p-values are valid for any number of graphs: a further graph could only lower the
    scores of the others. With another detector or space, part of the collection is held out, and only its
    scores are used: p-values are valid for any detector. In both cases, outliers in the collection make
    p-values larger, not smaller.

    Parameters
    ----------
    transformer : GRNF or another object with `transform`, optional
        Makes vectors of graphs; a copy is fitted if it is not fitted yet. By default ``JointFeatures(None)``:
        hashed WL labels and some axes of GRNF. Not needed for vectors.
    detector : "neighbors" or scikit-learn outlier detector, default="neighbors"
        "neighbors": the mean distance to the `n_neighbors` nearest reference graphs, without a copy of the
        graph itself. Or any detector with `score_samples` or `decision_function` for new samples, such as
        IsolationForest(random_state=0) or LocalOutlierFactor(novelty=True); it is cloned.
    n_neighbors : int, default=1
    contamination : "auto" or float, default="auto"
        Share of outliers in the collection, which sets the threshold of `predict`; "auto": the score that 5 %
        of the reference graphs exceed.
    space : "plain" or "whitened", default="plain"
        The distance, as in `grnf.search.GraphIndex`. "whitened" suits vectors of GRNF.
    shrinkage : float, default=0.01
        For "whitened".
    held_out : float, default=0.5
        Share of the collection that is held out, for another detector or space. The smallest p-value is 1 /
        (1 + graphs held out), or 1 / (1 + graphs) if none are.
    on_error : "raise" or "nan", default="raise"
        A graph that cannot be used is an error, or has the result NaN; in `fit` it is then left out.
    random_state : int, numpy Generator or RandomState, optional

    Attributes
    ----------
    offset_ : float
        `decision_function` is `score_samples` minus this.
    held_out_scores_ : array
        Scores of the graphs held out, or of each graph without itself.
    detector_ : object
        The fitted detector.
    errors_ : list of (int, str)
        Row and reason of bad graphs in `fit`.

    Examples
    --------
    >>> from grnf import GRNF, Graph
    >>> from grnf.datasets import make_sbm
    >>> usual, _ = make_sbm(300, random_state=0)
    >>> detector = GRNFOutlierDetector(GRNF(64, random_state=0), random_state=0).fit(usual[:200])
    >>> star = Graph(12, [(0, leaf) for leaf in range(1, 12)])
    >>> report = detector.detect([star, *usual[200:]])
    >>> report.ids[0], bool(report.pvalues[0] < 0.01), detector.predict([star])
    ('0', True, array([-1]))
    >>> bool(detector.decision_function([star])[0] < 0), detector.pvalues([star]).round(3)
    (True, array([0.005]))
    >>> mixed = [star, *usual[:60]]
    >>> report = GRNFOutlierDetector(GRNF(64, random_state=0), random_state=0).fit_detect(mixed, fdr=0.2)
    >>> report.ids[int(report.pvalues.argmin())]
    '0'
    """

    transformer: Any = None
    _: KW_ONLY
    detector: Any = "neighbors"
    n_neighbors: int = param(1, Int(1))
    contamination: float | str = param("auto", Real(math.nextafter(0.5, 1)), OneOf("auto"))
    space: str = param("plain", OneOf(*SPACES))
    shrinkage: float = param(SHRINKAGE, Real())
    held_out: float = param(0.5, Real(1))
    on_error: str = param("raise", NAN_ON_ERROR)
    random_state: Any = param(None, *SEED_RULES)

    def fit(self, X: Any, y: Any = None, *, ids: Sequence[str] | None = None) -> Self:  # noqa: ARG002
        """Fit the detector to a collection.

        Parameters
        ----------
        X : collection of graphs of any kind, or array of vectors, shape (n, M)
        y : ignored
        ids : sequence of str, optional
            Names of the graphs, for `detect`.

        Returns
        -------
        self : GRNFOutlierDetector
        """
        return self._fit(X, ids, draw_seed(self._settings()["random_state"]))

    def _fit(self, X: Any, ids: Sequence[str] | None, seed: int) -> Self:
        settings = self._settings()
        collection = self._vectors(X, self._transformer(seed), ids)
        self.transformer_, self.errors_, Z = collection.transformer, collection.errors, collection.vectors
        if len(Z) < 2:
            raise GraphError(f"at least two graphs that can be used are needed, got {len(Z)}")
        order = page_generator(seed, 0, stream=4).permutation(len(Z))
        n_shown = len(order) - min(len(order) - 1, max(1, round(settings["held_out"] * len(order))))
        shown, held_out = np.sort(order[:n_shown]), np.sort(order[n_shown:])
        alone = isinstance(self.detector, str) and settings["space"] == "plain"
        if alone:
            shown = np.arange(len(Z))
        self._map = space_map(settings["space"], Z[shown], settings["shrinkage"])
        self.n_features_in_ = Z.shape[1]
        self.detector_ = self._fitted_detector(self._map(Z[shown]))
        raw = self._raw_scores(Z[shown], itself=alone)
        unit = float(np.median(np.abs(raw)))
        self._unit = unit if np.isfinite(unit) and unit > 0 else 1.0
        scores = self._scores(Z)
        self.held_out_scores_ = np.sort(self._rounded(raw) if alone else scores[held_out])
        if self.contamination == "auto":
            above = int(FLAGGED * (1 + len(self.held_out_scores_))) - 1  # so many scores may be as large
            self.offset_ = -float(self.held_out_scores_[-1 - max(above, 0)])
        else:
            self.offset_ = float(np.percentile(-scores, 100.0 * float(self.contamination)))
        inliers = -scores >= self.offset_
        self._inliers = _brute(self._map(Z[inliers]))
        self._inlier_ids = collection.take(inliers).ids
        return self

    def score_samples(self, X: Any) -> FloatArray:
        """Return scores: small is anomalous; NaN for bad graphs if `on_error` is "nan".

        Parameters
        ----------
        X : collection of graphs, as in `fit`

        Returns
        -------
        array, shape (n,)

        Examples
        --------
        >>> detector = GRNFOutlierDetector(random_state=0).fit(["C" * n + "O" for n in range(1, 20)])
        >>> alcohol, salt = detector.score_samples(["CCC(C)O", "[Na+].[Cl-]"])
        >>> bool(salt < alcohol)
        True
        """
        return -self._for_each(X, self._scores)

    def decision_function(self, X: Any) -> FloatArray:
        """Return `score_samples` minus `offset_`: negative for outliers.

        Parameters
        ----------
        X : collection of graphs, as in `fit`

        Returns
        -------
        array, shape (n,)
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return -1 for outliers and 1 for others; NaN for bad ones if `on_error` is "nan".

        Parameters
        ----------
        X : collection of graphs, as in `fit`

        Returns
        -------
        array, shape (n,)
        """
        decision = self.decision_function(X)
        bad = np.isnan(decision)
        labels = np.where(decision < 0, -1, 1)
        return np.where(bad, np.nan, labels) if bad.any() else labels

    def pvalues(self, X: Any) -> FloatArray:
        """Return (1 + #{reference scores at least as large}) / (1 + their number) for each graph.

        Parameters
        ----------
        X : collection of graphs, as in `fit`

        Returns
        -------
        array, shape (n,)
        """
        return self._for_each(X, lambda Z: conformal_pvalues(self.held_out_scores_, self._scores(Z)))

    def detect(self, X: Any, *, fdr: float = 0.1, ids: Sequence[str] | None = None) -> OutlierReport:
        """Return scores, p-values, outliers at a false discovery rate, and the nearest inliers.

        Of the graphs that are called outliers, a share of at most `fdr` are inliers, on average (Benjamini
        and Hochberg; proven for graphs held out). `needed` of the report is not None if there are too few
        reference graphs for that.

        Parameters
        ----------
        X : collection of graphs, as in `fit`
        fdr : float, default=0.1
        ids : sequence of str, optional

        Returns
        -------
        OutlierReport
        """
        checked(fdr, "fdr", Real(1))
        collection = self._new_vectors(X, ids)
        return _report(collection, *self._results(collection.vectors), fdr, len(self.held_out_scores_))

    def fit_detect(
        self, X: Any, *, fdr: float = 0.1, ids: Sequence[str] | None = None, n_folds: int = 5
    ) -> OutlierReport:
        """Find the outliers within a collection: each graph is scored by a detector fitted without it.

        The detector is fitted on all of them too. p-values are valid, but outliers among the held-out graphs
        make them larger, so that many mask each other: give a clean reference if there is one. With
        `contamination` as a number, that share of the graphs is flagged, those with the largest scores,
        instead of those that the false discovery rate allows.

        Parameters
        ----------
        X : collection of graphs, as in `fit`
        fdr : float, default=0.1
            False discovery rate.
        ids : sequence of str, optional
        n_folds : int, default=5
            Each part is scored by a detector that is fitted on the other parts.

        Returns
        -------
        OutlierReport
        """
        checked(fdr, "fdr", Real(1))
        n_folds = checked(n_folds, "n_folds", Int(2))
        seed = draw_seed(self._settings()["random_state"])
        collection = self._vectors(X, self._transformer(seed), ids)
        self._fit(collection, None, seed)
        if len(collection) < n_folds:
            raise GraphError(f"{len(collection)} graphs in {n_folds} folds: take fewer folds")
        folds = page_generator(seed, 1, stream=4).permutation(len(collection)) % n_folds
        numbers = np.full((len(collection), 3), np.nan)
        nearest = np.full(len(collection), None, dtype=object)
        for fold in range(n_folds):
            inside = folds == fold
            other = clone(self).set_params(transformer=None)._fit(collection.take(~inside), None, seed)
            numbers[inside], nearest[inside] = other._results(collection.vectors[inside])
        report = _report(collection, numbers, nearest.tolist(), fdr)
        if self.contamination == "auto":
            return report
        threshold = np.percentile(numbers[:, 0], 100 * (1 - float(self.contamination)))
        return replace(report, outliers=report.scores > threshold)  # false for NaN

    def _settings(self) -> dict[str, Any]:
        if isinstance(self.detector, str) and self.detector != "neighbors":
            requirement = "be 'neighbors' or a scikit-learn detector"
            raise invalid(f"{type(self).__name__}: detector", requirement, repr(self.detector))
        return checked_parameters(self)

    def _transformer(self, seed: int) -> Any:
        return JointFeatures(None, random_state=seed) if self.transformer is None else self.transformer

    def _fitted_detector(self, rows: FloatArray) -> Any:
        if isinstance(self.detector, str):
            if len(rows) <= self.n_neighbors:
                raise GraphError(
                    f"the reference has {len(rows)} graphs, without those that are held out, and "
                    f"n_neighbors={self.n_neighbors} needs more",
                    cure="Give more graphs, or a smaller n_neighbors or held_out",
                )
            self._longest = float(np.linalg.norm(rows, axis=1).max())
            return _brute(rows)
        fitted = clone(self.detector).fit(rows)
        if not (hasattr(fitted, "score_samples") or hasattr(fitted, "decision_function")):
            found, cure = type(fitted).__name__, "LocalOutlierFactor needs novelty=True"
            raise invalid("detector", "score new samples", f"{found}, which cannot", cure)
        return fitted

    def _raw_scores(self, Z: FloatArray, *, itself: bool = False) -> FloatArray:
        """Return scores. With `itself`, each row is among the reference, and scored by the others."""
        rows = self._map(Z)
        if isinstance(self.detector, str):
            return _mean_distance(self.detector_, rows, self.n_neighbors, self._longest, 2 if itself else 1)
        method = "score_samples" if hasattr(self.detector_, "score_samples") else "decision_function"
        return -np.asarray(getattr(self.detector_, method)(rows), dtype=np.float64)

    def _scores(self, Z: FloatArray) -> FloatArray:
        return self._rounded(self._raw_scores(Z))

    def _rounded(self, raw: FloatArray) -> FloatArray:
        return rounded_scores(raw, self._unit) * self._unit

    def _vectors(self, X: Any, transformer: Any, ids: Sequence[str] | None, width: int = 0) -> Collection:
        """Return vectors in double precision."""
        collection = vectors_of(X, transformer, on_error=self.on_error, ids=ids, width=width)
        return replace(collection, vectors=np.asarray(collection.vectors, dtype=np.float64))

    def _new_vectors(self, X: Any, ids: Sequence[str] | None = None) -> Collection:
        check_is_fitted(self, "offset_")
        return self._vectors(X, self.transformer_, ids, self.n_features_in_)

    def _for_each(self, X: Any, function: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Return a value for each graph, NaN for bad ones."""
        collection = self._new_vectors(X)
        values = np.full(collection.n_rows, np.nan)
        if len(collection):
            values[collection.rows] = function(collection.vectors)
        return values

    def _results(self, Z: FloatArray) -> tuple[FloatArray, list[str | None]]:
        """Return scores, p-values and distances to the nearest inliers, and the names of these."""
        if not len(Z):
            return np.zeros((0, 3)), []
        scores = self._scores(Z)
        far, near = self._inliers.kneighbors(np.asarray(self._map(Z), dtype=np.float64), 1)
        numbers = np.column_stack([scores, conformal_pvalues(self.held_out_scores_, scores), far[:, 0]])
        return numbers, [self._inlier_ids[row] for row in near[:, 0]]


def _report(
    collection: Collection, numbers: FloatArray, nearest: list[str | None], fdr: float, n_scores: int = 0
) -> OutlierReport:
    """Return rows for all graphs, bad ones included."""
    full = np.full((collection.n_rows, 4), np.nan)
    full[collection.rows, :3] = numbers
    if len(collection):
        # valid for conformal p-values that share held-out scores (Bates and others, 2023)
        full[collection.rows, 3] = false_discovery_control(numbers[:, 1])
    flagged = full[:, 3] <= fdr * (1 + 1e-12)  # false for NaN, and 3 * 0.1 / 3 is a little below 0.1
    smallest = np.isclose(numbers[:, 1], 1 / (1 + n_scores))
    needed = None
    if n_scores and smallest.any() and not flagged.any():
        needed = math.ceil(len(collection) / (fdr * int(smallest.sum()))) - 1
    names = np.full(collection.n_rows, None, dtype=object)
    names[collection.rows] = nearest
    scores, p, far, adjusted = full.T
    return OutlierReport(
        collection.all_ids, scores, p, adjusted, flagged, names.tolist(), far, collection.errors, needed
    )


def _brute(rows: FloatArray) -> NearestNeighbors:
    return NearestNeighbors(algorithm="brute").fit(np.asarray(rows, dtype=np.float64))


def _mean_distance(
    index: NearestNeighbors, rows: FloatArray, k: int, longest: float, n_copies: int
) -> FloatArray:
    """Return the mean distance to the k nearest, without up to `n_copies` rows that are equal.

    `longest` is the largest length of the rows of the index.
    """
    n_copies = min(n_copies, index.n_samples_fit_ - k)
    distances, _ = index.kneighbors(np.asarray(rows, dtype=np.float64), k + n_copies)
    equal = distances[:, :n_copies] <= EQUAL * (np.linalg.norm(rows, axis=1, keepdims=True) + longest)
    kept = equal.sum(axis=1, keepdims=True) + np.arange(k)
    return np.asarray(np.take_along_axis(distances, kept, axis=1).mean(axis=1))
