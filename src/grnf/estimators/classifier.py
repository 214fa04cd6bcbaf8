"""Models of graphs: feature views of each graph, then a classifier or regressor."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache, cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import get_scorer_names
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, check_memory

from grnf._utils.random import draw_seed
from grnf._utils.rules import Int, Real, checked
from grnf._utils.running import blas_threads, n_workers
from grnf.collection import NAN_ON_ERROR, Collection, encode, fit_encode
from grnf.errors import GraphError, GrnfWarning, invalid
from grnf.estimators.explain import Explanation, explanation
from grnf.estimators.histograms import LabelSets
from grnf.estimators.kernel_model import (
    KERNEL_MEMORY,
    PREDICTING,
    KernelClassifier,
    KernelInput,
    KernelRegressor,
    OneTarget,
    compacted,
    missing,
    of_target,
)
from grnf.estimators.model_file import CLASSES, MODELS, save_models
from grnf.estimators.model_file import load_models as load_models  # with the classes of models registered
from grnf.estimators.transformer import GRNF, GraphsToVectors
from grnf.estimators.uncertainty import (
    Calibration,
    Neighborhood,
    calibrations,
    decision_values,
    single_estimators,
    with_selected,
)
from grnf.estimators.views import FeatureViews, lifted_views, model_views
from grnf.graphs import GraphBatch
from grnf.io.encode import AttributeEncoder
from grnf.io.objects import to_batch
from grnf.typing import FloatArray, HandleMissing, HandleUnknown, IntArray, OnError

CONFIDENCE = Real(1)
FEATURES, FEATURES_OF_LIFTS = 512, 1024
"""Length of the vectors in each view: of the default views, and of views by given lifts."""

KERNEL, NAMES = ("auto", "svm"), ("auto", "svm", "linear", "network", "forest", "boosted")
"""Names of estimators: those of the kernel model, and all."""
WITHOUT_DECISIONS = ("network", "forest")
"""Those without `decision_function`."""
TREES = 300
"""Of a forest."""
MIN_EARLY_STOPPING = 200
"""Samples from which a network uses a tenth of them to decide when to stop."""

CHOICE = ("best_params_", "best_score_", "best_index_", "cv_results_")
"""Attributes that report the choice of settings."""


def _final_has(method: str) -> Any:
    """Return a check for `available_if`: whether the estimator behind the views has a method."""

    def check(model: Any) -> bool:
        if not hasattr(model, "estimator_") and isinstance(model.estimator, str):
            return method != "decision_function" or model.estimator not in WITHOUT_DECISIONS
        getattr(getattr(model, "estimator_", model.estimator), method)  # its error names the estimator
        return True

    return check


@dataclass(frozen=True, eq=False)
class GraphFeatures:
    """Graphs with fitted views and their vectors: models take it instead of graphs.

    Models of several targets, or of the folds of a cross-validation, can share it, so that features are
    computed once. `exact` states that the kernel model compares WL labels exactly.
    """

    encoder: AttributeEncoder
    samples: Collection
    """The graphs, with batch and vectors."""
    seed: int
    views: FeatureViews
    widths: dict[str, int]
    names: list[str]
    exact: bool
    sets: LabelSets | None = None
    """The WL labels, if they are kept for several models."""
    whole: tuple[GraphFeatures, IntArray] | None = None
    """The features that these were taken from, and where they are in them."""

    @property
    def inputs(self) -> Any:
        """The input of the estimator: vectors, with the sets of labels if it compares those."""
        if not self.exact:
            return self.samples.vectors
        sets = self.views.views_["labels"].sets(self.samples.batch) if self.sets is None else self.sets
        return KernelInput(self.samples.vectors, sets)

    @cached_property
    def neighborhood(self) -> Neighborhood:
        """The graphs as vectors in which near means alike."""
        if self.whole is None:
            return Neighborhood(self.samples, self.encoder, self.seed)
        whole, rows = self.whole
        return whole.neighborhood.restricted(rows)

    @cached_property
    def around(self) -> Callable[[Neighborhood], tuple[FloatArray, IntArray]]:
        """A function for distances and places of the training graphs that are nearest to each graph."""
        vectors = cache(lambda joint: joint._embedder(self.samples.batch))
        return cache(lambda near: near.nearest(vectors(near.joint)))

    def take(self, rows: IntArray) -> GraphFeatures:
        """Return some of the graphs, numbered from 0."""
        some, n = self.samples.take(rows), len(rows)
        samples = replace(some, n_rows=n, rows=np.arange(n), names=some.ids)
        sets = None if self.sets is None else self.sets.take(rows)
        return replace(self, samples=samples, sets=sets, whole=(self, rows))


@dataclass(eq=False, repr=False)
class GraphModel(GraphsToVectors):
    """What the classifier and the regressor share.

    Examples
    --------
    >>> from grnf import GRNFClassifier, GRNFRegressor
    >>> smiles = ["C" * n + end for n in range(1, 13) for end in ("O", "C(=O)O")]
    >>> kinds = ["alcohol", "acid"] * 12
    >>> model = GRNFClassifier(n_components=32, random_state=0).fit(smiles, kinds)
    >>> model.predict(["CC(C)CO", "CC(C)CC(=O)O"])
    array(['alcohol', 'acid'], dtype='<U7')
    >>> model.predict_set(["CC(C)CO"]).shape
    (1, 2)
    >>> Z, names = model.transform(["CCO"]), model.get_feature_names_out()
    >>> Z.shape, names[:2], names[-1]
    ((1, 118), array(['map0', 'map1'], dtype=object), 'labels31')
    >>> model.embed(["CCO", "not a molecule"], on_error="skip").ids
    ['0']
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "model.grnf"
    >>> model.save(path)
    >>> GRNFClassifier.load(path).predict(["CC(C)CO"])
    array(['alcohol'], dtype='<U7')
    >>> lengths = [len(text) for text in smiles]
    >>> regressor = GRNFRegressor(n_components=32, random_state=0).fit(smiles, lengths)
    >>> low, high = regressor.predict_interval(["CCCCCCO"])[0]
    >>> bool(low < 7 < high)
    True
    >>> near, far = regressor.applicability(["CCCCCCO", "c1ccccc1"])
    >>> print(f"{near:.2f}, {far:.2f}")  # benzene is far from the training graphs
    0.96, 0.08
    >>> found = regressor.explain("CCCO")
    >>> len(found.nodes), len(found.edges)
    (4, 3)
    >>> total = found.nodes.sum() + found.edges.sum()
    >>> print(f"{abs(total - (found.prediction - found.reference)):.4f}")
    0.0000
    >>> regressor.fit_transform(smiles, lengths).shape
    (24, 118)
    >>> two = GRNFRegressor(32, random_state=0).fit(smiles, [[length, -length] for length in lengths])
    >>> [one.predict(["CCO"]).shape for one in two.single_targets()]
    [(1,), (1,)]
    """

    _classify = False
    _scoring: ClassVar[Any] = "r2"

    n_components: int | None = None
    _: KW_ONLY
    lifts: Any = "auto"
    orders: Any = (2 / 3, 1 / 3)
    grnf_params: Mapping[str, Any] | None = None
    estimator: Any = "auto"
    C: Any = None
    gamma: Any = None
    cv: Any = None
    scoring: Any = None
    random_state: Any = None
    n_jobs: int | None = None
    handle_unknown: HandleUnknown | None = None
    handle_missing: HandleMissing = "error"
    on_error: OnError = "raise"
    memory: Any = None
    class_weight: Any = None
    kernel_memory: float = KERNEL_MEMORY
    stereo: bool = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # type: ignore[override]
        """Learn from graphs and their labels.

        Parameters
        ----------
        X : collection of graphs
            Of any kind that `GRNF` takes.
        y : array-like, shape (n_graphs,) or (n_graphs, n_targets)
            Classes or numbers, NaN or None if missing. Graphs without any target are left out.
        sample_weight : array-like, shape (n_graphs,), optional
            Weights of the graphs in training. The choice of settings counts all graphs alike.

        Returns
        -------
        self : estimator
        """
        known = isinstance(X, GraphFeatures)
        encoder, samples = (X.encoder, X.samples) if known else self._encoded(X)
        labels = self._checked_labels(y, samples.n_rows)
        weights = sample_weight
        if weights is not None:
            weights = _check_sample_weight(weights, labels, dtype=np.float64, ensure_non_negative=True)
        has_value = ~missing(labels).reshape(len(labels), -1)[samples.rows]
        counts = (has_value if weights is None else has_value[weights[samples.rows] > 0]).any(axis=0)
        if not counts.all():
            found = f"none in column {np.argmin(counts)}: all {len(labels)} are missing or have weight 0"
            raise invalid("y", "have a value of each target for some graph", found)
        has_target = has_value.any(axis=1)
        rows = samples.rows[has_target]
        labels, weights = compacted(labels[rows]), None if weights is None else weights[rows]
        if self._classify:
            weights = _class_weights(labels, weights, self.class_weight)
        start = time.perf_counter()
        given: Any = X if known else samples
        used = given if has_target.all() else given.take(np.flatnonzero(has_target))
        features: GraphFeatures = used if known else self._features(used, encoder)
        for name in ("neighborhood_", "calibration_", *CHOICE):
            self.__dict__.pop(name, None)  # of an earlier fit
        self.encoder_, self.errors_, self.seed_ = encoder, samples.errors, features.seed
        self.views_, self._widths, self._names = features.views, features.widths, features.names
        self._exact, self._dtype = features.exact, features.samples.vectors.dtype
        self._training = features, labels
        embedded = time.perf_counter()
        with blas_threads(n_workers(self.n_jobs)):
            self.estimator_ = fitted_estimator(
                self.estimator,
                features.inputs,
                labels,
                classify=self._classify,
                sample_weight=weights,
                kernel_memory=self.kernel_memory,
                views=[self._widths[name] for name in self._names],
                C=self.C,
                gamma=self.gamma,
                cv=self.cv,
                scoring=self.scoring,
                random_state=self.seed_ % 2**32,
            )
        if self._classify:
            self.classes_ = self.estimator_.classes_
        chosen = CHOICE if hasattr(self.estimator_, "best_params_") else ()
        self.__dict__.update({"cv_results_": {}, **{name: getattr(self.estimator_, name) for name in chosen}})
        self.seconds_ = {"embed": embedded - start, "train": time.perf_counter() - embedded}
        return self

    def _encoded(self, X: Any) -> tuple[AttributeEncoder, Collection]:
        """Fit the encoder of attributes. Return it, and the graphs that can be used."""
        checked(self.on_error, "on_error", NAN_ON_ERROR, owner=type(self).__name__)
        handle_unknown = self.handle_unknown or ("open" if self._has_default_lifts else "ignore")
        policies = AttributeEncoder(handle_unknown=handle_unknown, handle_missing=self.handle_missing)
        encoder, samples = fit_encode(X, policies, self.on_error, stereo=self.stereo)
        if samples.errors:
            row, reason = samples.errors[0]
            warnings.warn(
                f"fit leaves out {len(samples.errors)} of {samples.n_rows} graphs. Row {row}: {reason}. All "
                "reasons are in errors_",
                GrnfWarning,
                stacklevel=3,
            )
        return encoder, samples

    @property
    def _has_default_lifts(self) -> bool:
        return isinstance(self.lifts, str) and self.lifts == "auto"

    def _shared_features(self, X: Any) -> GraphFeatures:
        """Return the features of graphs, fitted to all of them, for this model and others.

        All must be usable. `fit`, `predict`, ... take them, or a part of them, instead of graphs.
        """
        encoder, samples = self._encoded(X)
        features = self._features(samples, encoder)
        return replace(features, sets=features.inputs.sets if features.exact else None)

    def _features(self, samples: Collection, encoder: AttributeEncoder) -> GraphFeatures:
        """Fit the views, and compute the features of the same graphs."""
        default, seed = self._has_default_lifts, draw_seed(self.random_state)
        grnf = GRNF(
            (FEATURES if default else FEATURES_OF_LIFTS) if self.n_components is None else self.n_components,
            orders=self.orders,
            random_state=seed,
            n_jobs=self.n_jobs,
            **dict(self.grnf_params or {}),
        )
        views = FeatureViews(
            views=model_views(grnf) if default else lifted_views(self.lifts, grnf), random_state=seed
        )
        exact = default and isinstance(self.estimator, str) and self.estimator in KERNEL
        names = [name for name in views.views if not (exact and name == "labels")]
        fit_views = check_memory(self.memory).cache(_fitted_views)
        views, widths, vectors = fit_views(views, samples.batch, names)
        return GraphFeatures(encoder, replace(samples, vectors=vectors), seed, views, widths, names, exact)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of each graph, or the estimate for it, with one column per target if several.

        Parameters
        ----------
        X : collection of graphs, as in `fit`

        Returns
        -------
        array, shape (n_graphs,) or (n_graphs, n_targets)
        """
        return self._predictions(X, "predict")  # type: ignore[no-any-return]

    def embed(self, X: Any, *, on_error: OnError | None = None) -> Collection:
        """Return the vectors of all views side by side, and which graphs cannot be used, and why.

        By default the views are the map, the counts, and the labels as vectors (`n_components` columns),
        which other estimators are given. The kernel model compares labels exactly.

        Parameters
        ----------
        X : collection of graphs, as in `fit`
        on_error : "raise", "nan" or "skip", optional
            What to do about graphs that cannot be used. "skip" leaves them out. None: as the model does.

        Returns
        -------
        Collection
        """
        check_is_fitted(self)
        samples = encode(X, self.encoder_, self.on_error if on_error is None else on_error)
        return self._embedded(samples, list(self._widths))

    def _column_counts(self) -> dict[str, int]:
        return self._widths

    def applicability(self, X: Any) -> FloatArray:
        """Return p-values: the share of training graphs that are at least as far from the training graphs.

        The distance is the mean to the five nearest training graphs in the space of `JointFeatures`. If new
        graphs come from the distribution of the training graphs, a p-value is at most u with a probability of
        about u. A prediction with a small p-value is an extrapolation. NaN for graphs that cannot be used.

        Parameters
        ----------
        X : collection of graphs, as in `fit`

        Returns
        -------
        array, shape (n_graphs,)
        """
        near, _ = self._calibrated()
        return self._for_good(X, lambda good: near.pvalues(good.around(near)[0]))  # type: ignore[no-any-return]

    def single_targets(self) -> list[Self]:
        """Return a model for each target, all with the same features.

        Returns
        -------
        list of models
            Copies that predict a single target, or the model itself if it has one.
        """
        answers = self._answers()
        models = [copy(self) if len(answers) > 1 else self for _ in answers]
        for model, (estimator, calibration) in zip(models, answers, strict=True):
            model.estimator_, model.calibration_ = estimator, [calibration]
            if self._classify:
                model.classes_ = estimator.classes_
        return models

    def explain(
        self, graph: Any, *, label: Any = None, n_orders: int = 8, random_state: Any = 0
    ) -> Explanation:
        """Return what each node and edge adds to the prediction for a graph.

        The contributions are Shapley values: nodes and edges join in a random order, and each adds the
        change of the prediction when it joins, on average over orders. They add up to the prediction for the
        graph less that for the graph without nodes. Sampled orders are used, each with its reverse, so the
        sum is exact and the single values have standard errors. Parts of a graph may be unlike all training
        graphs, so the values describe the model, not a cause.

        Parameters
        ----------
        graph : graph of any kind
        label : optional
            The class whose probability is explained. By default the predicted one.
        n_orders : int, default=8
            Pairs of random orders. Each takes 2 (nodes + edges) predictions.
        random_state : int, numpy Generator or RandomState, optional

        Returns
        -------
        Explanation
            `nodes`, `edges`, their standard errors, `prediction` and `reference`.
        """
        check_is_fitted(self)
        n_orders, seed = checked(n_orders, "n_orders", Int(1)), draw_seed(random_state)
        raw = to_batch([graph], stereo=self.encoder_.has_stereo)[0]
        model = copy(self)
        model.on_error = "raise"
        prediction = model.predict([graph])
        if prediction.ndim == 2:
            raise GraphError(
                "a model of several targets has no single prediction to explain",
                cure="Explain the predictions of single_targets()",
            )
        if not self._classify:
            return explanation(model.predict, raw, None, n_orders, seed)
        classes = self.classes_.tolist()
        label = prediction[0] if label is None else label
        if label not in classes:
            raise invalid("label", f"be one of {classes}", repr(label))
        column = classes.index(label)
        return explanation(lambda g: model.predict_proba(g)[:, column], raw, label, n_orders, seed)

    def _calibrated(self) -> tuple[Neighborhood, list[Calibration]]:
        """Return the training graphs as vectors, and calibrations. The first call computes them."""
        check_is_fitted(self)
        if not hasattr(self, "calibration_"):
            features, y = self._training
            self.neighborhood_ = features.neighborhood
            with blas_threads(n_workers(self.n_jobs)), warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # as in `fit`
                self.calibration_ = calibrations(
                    self.estimator_, features.inputs, y, self.neighborhood_, self.seed_
                )
        return self.neighborhood_, self.calibration_

    def _answers(self) -> list[tuple[Any, Calibration]]:
        """Return the estimator and the calibration of each target."""
        _, calibration = self._calibrated()
        return list(zip(single_estimators(self.estimator_), calibration, strict=True))

    def _sure(self, X: Any, confidence: Any) -> Any:
        """Return sets of classes, or intervals, for each target if there are several."""
        confidence, answers = checked(confidence, "confidence", CONFIDENCE), self._answers()

        def one_of(one: Any, own: Calibration, inputs: Any, good: GraphFeatures) -> Any:
            if self._classify:
                return own.contains(decision_values(one, inputs, one.classes_), confidence)
            return own.interval(one.predict(inputs), good.around(self.neighborhood_)[1], confidence)

        def sure(good: GraphFeatures) -> Any:
            inputs = good.inputs
            found = [one_of(one, own, inputs, good) for one, own in answers]
            return found if len(found) > 1 else found[0]

        return self._for_good(X, sure)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that `load` reads: a zip of JSON and arrays, without pickle.

        The file has the calibration and the vectors and ids of the training graphs, not the graphs. The
        estimators "auto", "svm", "linear" and "forest" can be saved.

        Parameters
        ----------
        path : path
            Name of the file, such as "model.grnf".
        """
        check_is_fitted(self)
        save_models([self], path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` or ``grnf train`` wrote. The file is checked, and nothing is unpickled.

        Parameters
        ----------
        path : path

        Returns
        -------
        fitted model
        """
        models = load_models(path)
        if len(models) != 1 or type(models[0]) is not cls:
            kinds = ", ".join(type(model).__name__ for model in models)
            raise GraphError(f"the file must have one {cls.__name__}, got {kinds}", where=os.fspath(path))
        loaded: Self = models[0]
        return loaded

    def _embedded(self, samples: Collection, names: Sequence[str]) -> Collection:
        """Embed graphs in some views."""
        width = sum(self._widths[name] for name in names)

        def vectors(batch: GraphBatch) -> FloatArray:
            return np.hstack(list(self.views_.transform_views(batch, names).values()))

        return samples.embed(vectors, width, self._dtype)

    def _usable(self, samples: Collection) -> GraphFeatures:
        """Return the features of the encoded graphs that can be used."""
        found = self._embedded(samples, self._names)
        found = found.take(np.flatnonzero(np.isfinite(found.vectors).all(axis=1)))
        kept = np.isin(samples.rows, found.rows)  # others failed in the views
        batch = samples.batch if kept.all() else samples.batch.take(np.flatnonzero(kept))
        fitted = self.seed_, self.views_, self._widths, self._names, self._exact
        return GraphFeatures(self.encoder_, replace(found, batch=batch), *fitted)

    def _predictions(self, X: Any, method: str) -> Any:
        """Call the estimator for the good graphs, and return NaN (None for names) for bad ones."""
        return self._for_good(X, lambda good: getattr(self.estimator_, method)(good.inputs))

    def _for_good(self, X: Any, function: Callable[[GraphFeatures], Any]) -> Any:
        """Call a function of the features of good graphs. Return NaN or None for bad ones."""
        check_is_fitted(self)
        if isinstance(X, GraphFeatures):
            return function(X)
        features = self._usable(encode(X, self.encoder_, self.on_error))
        samples = features.samples
        if not len(samples):
            raise GraphError(
                f"none of the {samples.n_rows} graphs can be used. Row 0: {samples.errors[0][1]}"
            )
        with blas_threads(n_workers(self.n_jobs)):
            values = function(features)
        good = np.isin(np.arange(samples.n_rows), samples.rows)
        if isinstance(values, list):
            return [_with_gaps(np.asarray(part), good) for part in values]
        return _with_gaps(np.asarray(values), good)

    def _checked_labels(self, y: Any, count: int) -> npt.NDArray[Any]:
        if y is None:
            raise invalid(f"{type(self).__name__}: y", "have one label per graph", "None")
        labels = np.asarray(y)
        labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
        if labels.ndim not in (1, 2) or len(labels) != count or not labels.size:
            requirement = f"have one label per graph and target, shape ({count},) or ({count}, n_targets)"
            raise invalid("y", requirement, f"shape {labels.shape}")
        if self._classify:
            return labels
        try:
            labels = labels.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise invalid("y", "be numbers, or NaN if missing", str(error)) from None
        if np.isinf(labels).any():
            raise invalid("y", "be finite numbers, or NaN if missing", "an infinite one")
        return labels

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score of predictions: R2 for numbers, for classes what `scoring` names (None: accuracy).

        Graphs that cannot be used and missing targets are left out. Several targets have equal weight.

        Parameters
        ----------
        X : collection of graphs, as in `fit`
        y : array-like, as in `fit`
        sample_weight : array-like, shape (n_graphs,), optional

        Returns
        -------
        float
        """
        y = self._checked_labels(y, len(y))
        made = cache(lambda method: getattr(self, method)(X))
        scores = []
        for number, column in enumerate(y.T if y.ndim == 2 else [y]):
            target = number if y.ndim == 2 else None
            rows = np.flatnonzero(~missing(column) & ~missing(of_target(made("predict"), target)))
            weights = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)[rows]}
            if len(rows):
                one = OneTarget(self, target, values=made)
                scores.append(one.score(self._scoring, rows, compacted(column[rows]), **weights))
        if not scores:
            raise GraphError("none of the graphs can be used and has a target, so there is no score")
        return float(np.mean(scores))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class GRNFClassifier(ClassifierMixin, GraphModel):  # type: ignore[misc]
    """Classifies graphs of any kind: Graph Random Neural Features, WL labels and a support vector machine.

    Only the classifier is trained. By default it is given three views of each graph: a GRNF map of the nodes
    with degrees, triangles, sizes and the means of neighbors (`grnf.lifts`); counts of nodes, edges and
    degrees by kind, with means and spreads of numbers; and Weisfeiler-Lehman (WL) labels, compared by exact
    histogram intersection. The kernel has two distances, one between the vectors of the first two views and
    one between labels. The weight of the latter, C and gamma are chosen by cross-validation in `fit`.

    Parameters
    ----------
    n_components : int, optional
        Length of the vectors of each view. None: 512 by default, 1024 with other lifts.
    lifts : "auto", None, lift, list of lifts, or dict from names to lists, default="auto"
        The views of a graph. "auto": as above. A list of lifts, and each list in a dict, is a view by a GRNF
        map of the lifted graph; all views have equal weight in the kernel. None: the graph without lifts.
    orders : dict, tuple or distribution, default=(2/3, 1/3)
        P, as in `GRNF`.
    grnf_params : dict, optional
        Other parameters of `GRNF`.
    estimator : "auto", "svm", "linear", "network", "forest", "boosted" or estimator, default="auto"
        "auto", "svm": as above. Several targets are learned by ridge regression on the same kernel. So are
        more graphs than `kernel_memory` has room for, by the kernel with 4,000 to 8,000 of them, up to half
        of which are from rare classes; ``estimator_.model_`` and the log state it.
        "linear": logistic regression; "network": a perceptron with one hidden layer; "forest", "boosted":
        random forest and gradient boosting; or any scikit-learn classifier. These are given the vectors of
        `transform`.
    C, gamma : float or list of float, optional
        For "svm": one value, or those to choose from. gamma is in units of 1 / median squared
        distance between vectors.
    cv : int, splitter or iterable, optional
        How "svm" and "linear" choose. None: 5 folds; for more than 300 graphs "svm" has 3 folds of at most
        4,000 graphs, up to half of which are from rare classes.
    scoring : str or callable, optional
        Scorer of scikit-learn that "svm" and "linear" choose by, and that `score` returns. None: `score`
        returns the accuracy. "svm" then chooses by ROC-AUC, since accuracy hardly depends on the settings if
        a class is rare, and by accuracy if the largest class has at most 1.5 times the graphs of the
        smallest. With several classes, ROC-AUC is the mean of each against the rest. Scores of several
        targets are averaged.
    random_state : int, numpy Generator or RandomState, optional
        Defines the features and the folds.
    n_jobs : int, optional
        Threads that embed, and that BLAS may use.
    handle_unknown, handle_missing : as in `GRNF`, default=None, "error"
        None: by default every category is a channel of its own, also one that was not there in `fit`; with
        other lifts such a category is ignored.
    on_error : "raise" or "nan", default="raise"
        What to do about a graph that cannot be used. With "nan", `fit` leaves it out with a warning, and
        predictions for it are NaN (None if classes are names).
    memory : str or joblib.Memory, optional
        Folder in which `fit` caches the vectors of whole collections, as in scikit-learn pipelines. It saves
        time in a grid search over the estimator with a fixed `random_state`.
    class_weight : dict, "balanced" or list, optional
        Weights of classes, as in scikit-learn, in training; a list has one entry for each of several targets.
    kernel_memory : float, default=2e9
        Bytes for the kernel matrix of all graphs. The default has room for 14,142 graphs.
    stereo : bool, default=True
        Whether stereochemistry and isotopes of SMILES strings and RDKit molecules are attributes.

    Attributes
    ----------
    classes_ : array, or list of arrays for several targets
    best_params_, best_score_, best_index_
        The chosen settings and their score on held-out graphs, as in `GridSearchCV`; absent if the estimator
        chooses nothing.
    cv_results_ : dict
        All scores, as in `GridSearchCV`. Empty if the estimator chooses nothing.
    views_ : grnf.estimators.FeatureViews
        The fitted views.
    estimator_ : estimator
        The fitted estimator.
    seconds_ : dict
        Time that `fit` took to "embed" the graphs, and to "train" the estimator and choose its settings.
    errors_ : list of (int, str)
        Row and reason of each bad graph of `fit`. Later calls do not change a model, so threads may share it;
        ``embed(X, on_error="nan")`` reports the bad graphs of a call.

    Examples
    --------
    >>> from grnf.datasets import make_delaunay
    >>> graphs, y = make_delaunay(120, random_state=0)
    >>> model = GRNFClassifier(n_components=64, random_state=0).fit(graphs[:100], y[:100])
    >>> model.score(graphs[100:], y[100:]) > 0.8
    True
    >>> model.predict_proba(graphs[100:102]).shape
    (2, 2)
    >>> model.predict_log_proba(graphs[100:102]).shape, model.decision_function(graphs[100:102]).shape
    ((2, 2), (2,))
    """

    _classify = True

    score = GraphModel.score

    @property
    def _scoring(self) -> Any:
        many = max(map(len, self.classes_ if isinstance(self.classes_, list) else [self.classes_])) > 2
        return "roc_auc_ovr" if many and self.scoring == "roc_auc" else self.scoring or "accuracy"

    @available_if(_final_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class, in the order of `classes_`, one row per graph.

        Several targets have an array each, in a list.

        Parameters
        ----------
        X : collection of graphs, as in `fit`

        Returns
        -------
        array, shape (n_graphs, n_classes), or list of arrays
        """
        return self._predictions(X, "predict_proba")

    @available_if(_final_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithms of the probabilities.

        Parameters
        ----------
        X : collection of graphs, as in `fit`

        Returns
        -------
        array, shape (n_graphs, n_classes), or list of arrays
        """
        found = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(part) for part in found] if isinstance(found, list) else np.log(found)

    @available_if(_final_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Return the decisions of the estimator: a number per graph (two classes) or per graph and class.

        Parameters
        ----------
        X : collection of graphs, as in `fit`

        Returns
        -------
        array, shape (n_graphs,) or (n_graphs, n_classes), or list of arrays
        """
        return self._predictions(X, "decision_function")

    def predict_set(self, X: Any, confidence: float = 0.9) -> Any:
        """Return sets of classes that contain the true class with a probability of about `confidence`.

        A class is in the set of a graph unless the decision for it is among the 1 - confidence lowest of the
        training graphs of that class, by models fitted without them. So the probability holds for each class
        alone (label-conditional conformal prediction). It is approximate, since the model that predicts is
        fitted to all graphs. A class with fewer than confidence / (1 - confidence) graphs is in every set.

        Parameters
        ----------
        X : collection of graphs, as in `fit`
        confidence : float, default=0.9

        Returns
        -------
        array of bool, shape (n_graphs, n_classes)
            Which classes are in the set, in the order of `classes_`; NaN for graphs that cannot be used.
            Several targets have an array each, in a list.
        """
        return self._sure(X, confidence)


class GRNFRegressor(RegressorMixin, GraphModel):  # type: ignore[misc]
    """Predicts a number for each graph: Graph Random Neural Features, WL labels and kernel ridge regression.

    Parameters
    ----------
    n_components, cv, n_jobs : int, optional
        As in `GRNFClassifier`, like all other parameters.
    lifts : "auto", None, lift, list of lifts, or dict from names to lists, default="auto"
    orders : dict, tuple or distribution, default=(2/3, 1/3)
    grnf_params : dict, optional
    estimator : "auto", "svm", "linear", "network", "forest", "boosted" or estimator, default="auto"
        "auto", "svm": kernel ridge regression; "linear": ridge regression; "network": a perceptron; "forest",
        "boosted": trees; or any scikit-learn regressor.
    C, gamma : float or list of float, optional
    scoring : str or callable, optional
        Selects settings. None: the squared error.
    random_state : int, numpy Generator or RandomState, optional
    handle_unknown, handle_missing, on_error : str
    memory : str or joblib.Memory, optional
    class_weight : None
        Regression has no classes.
    kernel_memory : float, default=2e9
    stereo : bool, default=True

    Examples
    --------
    >>> from grnf.datasets import make_sbm
    >>> graphs, _ = make_sbm(60, random_state=0)
    >>> density = [graph.n_edges / graph.n_nodes**2 for graph in graphs]
    >>> model = GRNFRegressor(n_components=64, lifts=None, random_state=0).fit(graphs[:40], density[:40])
    >>> bool(model.score(graphs[40:], density[40:]) > 0.95)
    True
    """

    def predict_interval(self, X: Any, confidence: float = 0.9) -> FloatArray:
        """Return intervals that contain the true number with a probability of about `confidence`.

        An interval is the prediction plus or minus q s(g). The local spread s(g) is half the mean absolute
        error of the 20 nearest training graphs, by models fitted without them, and half that of all. The
        factor q is the quantile of such errors divided by s. The probability is approximate, since the model
        that predicts is fitted to all graphs, and is for new graphs like those of `fit`.

        Parameters
        ----------
        X : collection of graphs, as in `fit`
        confidence : float, default=0.9

        Returns
        -------
        array, shape (n_graphs, 2)
            Lower and upper ends; infinite if there are too few training graphs for the confidence, NaN for
            graphs that cannot be used. Several targets: shape (n_graphs, n_targets, 2).
        """
        found = self._sure(X, confidence)
        return np.stack(found, axis=1) if isinstance(found, list) else np.asarray(found)

    score = GraphModel.score


class _PerTarget:
    """An estimator for each of several targets, fitted to the samples that have it."""

    def __init__(self, estimators: list[Any]) -> None:
        self.estimators = estimators

    def fixed(self) -> Self:
        """Return unfitted estimators with the selected settings."""
        return type(self)([with_selected(fitted) for fitted in self.estimators])

    def singles(self) -> list[Any]:
        """Return the estimator of each target."""
        return self.estimators

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the estimators to the columns of y. Weights may have columns too."""
        for target, (estimator, column) in enumerate(zip(self.estimators, y.T, strict=True)):
            rows = np.flatnonzero(~missing(column))
            weights = sample_weight if np.ndim(sample_weight) < 2 else sample_weight[:, target]
            _fit(estimator, X[rows], compacted(column[rows]), None if weights is None else weights[rows])
        if hasattr(self.estimators[0], "classes_"):
            self.classes_ = [fitted.classes_ for fitted in self.estimators]
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return a column for each target."""
        return np.column_stack([fitted.predict(X) for fitted in self.estimators])

    def __getattr__(self, name: str) -> Any:
        if name not in PREDICTING or not hasattr(self.estimators[0], name):
            raise AttributeError(name)
        return lambda X: [getattr(fitted, name)(X) for fitted in self.estimators]


def _with_gaps(values: npt.NDArray[Any], good: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """Return the rows of good graphs, and NaN (None for names) for the others."""
    if good.all():
        return values
    gap, kind = (np.nan, float) if values.dtype.kind in "fiub" else (None, object)
    full = np.full((len(good), *values.shape[1:]), gap, dtype=kind)
    full[good] = values
    return full


def _class_weights(y: npt.NDArray[Any], weights: Any, class_weight: Any) -> Any:
    """Check classes. Return the weights of all entries, for each target if classes have weights."""
    columns = y[:, np.newaxis] if y.ndim == 1 else y
    given = class_weight if isinstance(class_weight, list) else [class_weight] * columns.shape[1]
    if len(given) != columns.shape[1]:
        raise invalid("class_weight", f"have {columns.shape[1]} entries, one per target", str(len(given)))
    made = np.ones(columns.shape)
    for target, (column, of_classes) in enumerate(zip(columns.T, given, strict=True)):
        known = ~missing(column)
        values = compacted(column[known])
        if len(np.unique(values)) < 2:
            where = f" in column {target}" if y.ndim == 2 else ""
            raise invalid("y", f"have at least two classes{where}", f"only {np.unique(values).tolist()}")
        check_classification_targets(values)
        if of_classes is not None:
            made[known, target] = compute_sample_weight(of_classes, values)
    if class_weight is None:
        return weights
    made = made if weights is None else made * weights[:, np.newaxis]
    return made[:, 0] if y.ndim == 1 else made


MODELS.update({kind.__name__: kind for kind in (GRNFClassifier, GRNFRegressor)})
CLASSES[_PerTarget.__name__] = _PerTarget


def _fitted_views(
    views: FeatureViews, batch: GraphBatch, names: Sequence[str]
) -> tuple[FeatureViews, dict[str, int], FloatArray]:
    """Fit all views. Return them, their widths, and the vectors of some of them side by side."""
    vectors = views.fit_transform_views(batch, names)
    widths = {
        name: vectors[name].shape[1] if name in vectors else view.n_components
        for name, view in views.views_.items()
    }
    return views, widths, np.hstack(list(vectors.values()))


def fitted_estimator(
    estimator: Any,
    X: KernelInput | FloatArray,
    y: Any,
    *,
    classify: bool,
    cv: Any = None,
    scoring: Any = None,
    random_state: Any = None,
    sample_weight: Any = None,
    **kernel: Any,
) -> Any:
    """Return an estimator, given by its name or as an object, fitted to vectors.

    `kernel` has further settings of the kernel model, such as the widths of the `views`.
    """
    ranks = isinstance(scoring, str) and scoring.startswith(("roc_auc", "accuracy"))
    known = scoring is None or callable(scoring) or scoring in get_scorer_names()
    if not known or (ranks and not classify):
        requirement = "be the name of a scorer for this task, a callable or None"
        raise invalid("scoring", requirement, repr(scoring))
    settings = {"cv": cv, "scoring": scoring, "random_state": random_state}
    if isinstance(estimator, str) and estimator in KERNEL:
        made = (KernelClassifier if classify else KernelRegressor)(**settings, **kernel)
        return _fit(made, X, y, sample_weight)
    columns = [compacted(column[~missing(column)]) for column in (y[:, np.newaxis] if y.ndim == 1 else y).T]
    fresh = [_unfitted(estimator, classify, column, **settings) for column in columns]
    return _fit(fresh[0] if y.ndim == 1 else _PerTarget(fresh), X, y, sample_weight)


def _fit(model: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Fit an estimator. In a pipeline, the last step takes the weights."""
    name, steps = "sample_weight", model
    if isinstance(model, GridSearchCV | TransformedTargetRegressor):
        steps = model.estimator if isinstance(model, GridSearchCV) else model.regressor
    if isinstance(steps, Pipeline):
        name = f"{steps.steps[-1][0]}__{name}"
    with warnings.catch_warnings():  # a network may stop early
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, **({} if sample_weight is None else {name: sample_weight}))


def _unfitted(
    estimator: Any, classify: bool, y: npt.NDArray[Any], cv: Any, scoring: Any, random_state: Any
) -> Any:
    """Return an estimator for a target."""
    if hasattr(estimator, "fit") and hasattr(estimator, "get_params"):
        return clone(estimator)
    if not isinstance(estimator, str) or estimator not in NAMES:
        names = ", ".join(map(repr, NAMES))
        raise invalid("estimator", f"be one of {names} or a scikit-learn estimator", repr(estimator))
    if estimator == "network":
        return _network(classify, y, random_state)
    if estimator == "linear":
        return _linear(classify, y, cv, scoring, random_state)
    if estimator == "boosted":
        boosted = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
        return boosted(random_state=random_state)
    if classify:
        return RandomForestClassifier(TREES, random_state=random_state)
    return RandomForestRegressor(TREES, max_features=1 / 3, random_state=random_state)


def _linear(classify: bool, y: Any, cv: Any, scoring: Any, random_state: Any) -> Any:
    if not classify:
        return make_pipeline(StandardScaler(), RidgeCV(alphas=np.logspace(-1, 5, 13)))
    smallest = int(np.unique(y, return_counts=True)[1].min())
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1e-2, max_iter=1000, tol=1e-3))
    if cv is None and smallest < 2:
        return model
    if cv is None:
        cv = StratifiedKFold(min(5, smallest), shuffle=True, random_state=random_state)
    strengths = {"logisticregression__C": [1e-4, 1e-3, 1e-2, 1e-1]}
    scorer = "roc_auc_ovr" if scoring == "roc_auc" else scoring  # for two classes it is the same
    return GridSearchCV(model, strengths, cv=cv, scoring=scorer)


def _network(classify: bool, y: Any, random_state: Any) -> Any:
    stop = len(y) >= MIN_EARLY_STOPPING
    if classify and stop:  # the tenth must have every class
        counts = np.unique(y, return_counts=True)[1]
        stop = int(counts.min()) >= 2 and 10 * len(counts) <= len(y)
    network = (MLPClassifier if classify else MLPRegressor)(
        hidden_layer_sizes=(128,),
        solver="adam" if stop else "lbfgs",  # for few samples
        alpha=1e-2 if stop else 1.0,
        max_iter=300,
        early_stopping=stop,
        random_state=random_state,
    )
    steps = make_pipeline(StandardScaler(), network)
    return steps if classify else TransformedTargetRegressor(steps, transformer=StandardScaler())
