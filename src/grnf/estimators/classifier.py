"""GRNF and a classifier or regressor behind it, in one line: graphs and labels in, predictions out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import roc_auc_score
from sklearn.utils.multiclass import check_classification_targets

from grnf.estimators.model import GraphModel
from grnf.typing import FloatArray

__all__ = ["GRNFClassifier", "GRNFRegressor"]


class GRNFClassifier(ClassifierMixin, GraphModel):  # type: ignore[misc]
    """Classifies graphs of any kind: Graph Random Neural Features, colours and a support vector machine.

    Nothing but the machine is trained. The default recipe looks at a graph in three ways: a GRNF map of its
    nodes with degrees, triangles, sizes and the means of neighbours (`grnf.lifts`); counts of its nodes,
    edges and degrees by kind, with means and spreads of numbers; and Weisfeiler-Lehman colours, compared by
    exact histogram intersection (`grnf.estimators.histograms`). The machine has an RBF kernel of two
    distances, one of numbers (the first two views) and one of colours; what say colours have, C and gamma are
    chosen by cross-validation on the graphs of `fit` (`grnf.estimators.blend`).

    Vectors depend neither on labels nor on the estimator, so a model and its clones keep and share them, see
    `memory`: in a grid search each graph is embedded once for each setting of the map.

    Parameters
    ----------
    n_components : int, optional
        Number of features of each view; None: 512 in the default recipe, 1024 with other lifts.
    lifts : "auto", "recipe", None, lift, list of lifts, or dict from names to lists, default="auto"
        The views of a graph. "auto": as above. Others are views by GRNF maps alone, in an RBF kernel in which
        all have an equal say; "recipe": seven of them, the default of earlier versions; None: the graph as it
        is.
    orders : dict or law, default={1: 2/3, 2: 1/3}
        P, as in `GRNF`.
    grnf_params : dict, optional
        Other parameters of `GRNF`.
    estimator : "auto", "svm", "linear", "network", "forest", "boosted" or estimator, default="auto"
        "svm": as above; "linear": logistic regression; "network": a perceptron with one hidden layer;
        "forest", "boosted": trees, many at random or one after the other; or any classifier of scikit-learn.
        But for "svm", they see the vectors of all views side by side, see `transform`. "auto"
        is "svm"; with `lifts` of your own, it is "linear" for more than 8,000 graphs. The machine of the
        default recipe takes any number: beyond 8,000 graphs, ridge regression on the kernel with 2,000.
    C, gamma : float or list of float, optional
        For "svm": one value, or those to choose from. gamma is in units of one over the median squared
        distance between vectors.
    cv : int, splitter or iterable, optional
        How "svm" and "linear" choose. None: 5 folds, or fewer and a hold-out where graphs are many.
    scoring : "accuracy" or "roc_auc", optional
        What "svm" and "linear" choose by, and what `score` reports; None is accuracy. ROC-AUC is for rare
        classes; of several classes, it is the mean of each against the rest.
    random_state : int, default=0
        Seed of the features. It is fixed by default, so that vectors can be used again.
    n_jobs : int, optional
        Threads that embed, and that BLAS may use.
    unseen, missing : as in `GRNF`, default=None, "error"
        None: in the default recipe every category is a channel of its own, also one that was not there in
        `fit`; with other lifts such a category is ignored.
    on_error : "raise", "nan" or "skip", default="raise"
        What to do about a sample that cannot be used. With "nan" and "skip", `fit` leaves it out with a
        warning; answers for it are NaN (None where classes are names), or left out with a warning.
    memory : bool, None, str or joblib.Memory, default=True
        Where vectors of graphs are kept. True: with the model, up to 500 MB, shared by its clones in the same
        process (those of a grid search, or `sklearn.base.clone`); pickles do not carry them. A folder, or a
        `joblib.Memory`: on disk, for other processes (``GridSearchCV(n_jobs=2)``) and later ones too; whole
        collections are kept there, so a grid search embeds each graph once per fold. Empty the folder after
        changing the code of a lift. False or None: nowhere.
    cache, head
        The old names of `memory` and `estimator`.

    Attributes
    ----------
    classes_ : array
    best_params_, best_score_, best_index_
        What was chosen, and its score on samples that were left out, as in `GridSearchCV`; absent if the
        estimator chooses nothing.
    cv_results_ : dict
        All that was tried, as in `GridSearchCV`; empty if the estimator chooses nothing.
    estimator_ : estimator
        What has learnt from the vectors.
    seconds_ : dict
        Time that `fit` took to "embed" the graphs, and to "train" the estimator and choose its settings.
    errors_ : list of (int, str)
        Row and reason of each bad sample of `fit`. Later calls change nothing in a model, so that threads may
        share it; what was wrong with their samples is told by ``embed(X, on_error="nan")``.

    Examples
    --------
    >>> from grnf.datasets import make_delaunay
    >>> graphs, y = make_delaunay(120, random_state=0)
    >>> model = GRNFClassifier(n_components=64).fit(graphs[:100], y[:100])
    >>> model.score(graphs[100:], y[100:]) > 0.8
    True
    >>> model.predict_proba(graphs[100:102]).shape
    (2, 2)
    """

    _classify = True

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from graphs and their classes.

        Parameters
        ----------
        X : collection of graphs
            Of any kind that `GRNF` takes.
        y : array-like, shape (n_graphs,)
            Classes: numbers or names.
        """
        if y is not None:
            check_classification_targets(y)
        super().fit(X, y)
        self.classes_ = np.asarray(self.estimator_.classes_)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of each graph."""
        return self._answers(X, "predict")

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy, or the ROC-AUC where that is what `scoring` says."""
        if self.scoring != "roc_auc":
            return float(super().score(X, y, sample_weight))
        chances = self.predict_proba(X)
        values = chances[:, 1] if len(self.classes_) == 2 else chances
        options = {} if len(self.classes_) == 2 else {"multi_class": "ovr", "labels": self.classes_}
        return float(roc_auc_score(y, values, sample_weight=sample_weight, **options))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, in the order of `classes_`, one row per graph."""
        return self._answers(X, "predict_proba")

    def decision_function(self, X: Any) -> FloatArray:
        """Return what the estimator decides by: one number per graph (two classes) or per graph and class."""
        return self._answers(X, "decision_function")


class GRNFRegressor(RegressorMixin, GraphModel):  # type: ignore[misc]
    """Predicts a number for each graph: Graph Random Neural Features, colours and kernel ridge regression.

    Parameters are those of `GRNFClassifier`; `scoring` must be None. The estimators: "svm": a kernel machine
    (ridge regression in the default recipe, support vector regression with other lifts); "linear": ridge
    regression; "network": a perceptron; "forest", "boosted": trees; or any regressor of scikit-learn.

    Examples
    --------
    >>> from grnf.datasets import make_sbm
    >>> graphs, _ = make_sbm(60, random_state=0)
    >>> density = [graph.n_edges / graph.n_nodes**2 for graph in graphs]
    >>> model = GRNFRegressor(n_components=64, lifts=None).fit(graphs[:40], density[:40])
    >>> bool(model.score(graphs[40:], density[40:]) > 0.95)
    True
    """

    def predict(self, X: Any) -> FloatArray:
        """Return the estimate for each graph."""
        return self._answers(X, "predict")

    def _checked_labels(self, y: Any, count: int) -> npt.NDArray[Any]:
        return super()._checked_labels(y, count).astype(np.float64)
