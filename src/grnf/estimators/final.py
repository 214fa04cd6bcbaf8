"""What learns from the vectors: an estimator by its name, or any of scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from grnf.estimators.blend import BlendClassifier, BlendRegressor
from grnf.estimators.described import Described
from grnf.estimators.kernel_machine import KernelSVC, KernelSVR

__all__ = ["chosen", "fitted_estimator", "is_blend"]

NAMES = ("auto", "svm", "linear", "network", "forest", "boosted")

TREES = 300
"""Of a forest."""

MOST_FOR_KERNELS = 8_000
"""Graphs up to which "auto" is the support vector machine, whose kernel takes 0.5 GB then."""

ENOUGH_TO_STOP_EARLY = 200
"""Samples from which on a network can spare a tenth of them to tell when to stop."""


def fitted_estimator(
    estimator: Any,
    Z: Any,
    y: Any,
    *,
    classify: bool,
    views: Sequence[int] | None = None,
    C: Any = None,
    gamma: Any = None,
    cv: Any = None,
    scoring: str | None = None,
    random_state: Any = None,
) -> Any:
    """Return an estimator that has learnt from vectors; `views` are the widths of views side by side.

    What is `Described` has a machine of its own, which takes any number of graphs.
    """
    measures = (None, "accuracy", "roc_auc") if classify else (None,)
    if scoring not in measures:
        raise ValueError(f"scoring must be one of {', '.join(map(repr, measures))}; got {scoring!r}")
    if hasattr(estimator, "fit") and hasattr(estimator, "get_params"):
        made = clone(estimator)
    elif not isinstance(estimator, str) or estimator not in NAMES:
        names = ", ".join(map(repr, NAMES))
        raise ValueError(
            f"estimator must be one of {names} or an estimator of scikit-learn; got {estimator!r}"
        )
    elif isinstance(Z, Described):
        blend = BlendClassifier if classify else BlendRegressor
        made = blend(views, C=C, gamma=gamma, cv=cv, scoring=scoring, random_state=random_state)
    elif estimator == "svm" or (estimator == "auto" and len(y) <= MOST_FOR_KERNELS):
        machine = KernelSVC if classify else KernelSVR
        made = machine(views, C=C, gamma=gamma, cv=cv, scoring=scoring, random_state=random_state)
    elif estimator == "network":
        made = _network(classify, y, random_state)
    elif estimator == "forest":
        made = _forest(classify, random_state)
    elif estimator == "boosted":
        boosted = HistGradientBoostingClassifier if classify else HistGradientBoostingRegressor
        made = boosted(random_state=random_state)
    else:
        made = _linear(classify, y, cv, scoring, random_state)
    with warnings.catch_warnings():  # that a network could be trained for longer is no news
        warnings.simplefilter("ignore", ConvergenceWarning)
        return made.fit(Z, y)


def is_blend(estimator: Any) -> bool:
    """Whether the machine is the one on two kernels, where there are colours."""
    return isinstance(estimator, str) and estimator in ("auto", "svm")


def chosen(model: Any) -> dict[str, Any]:
    """Return what a fitted model has chosen, and its score; empty if nothing was."""
    return {**model.best_params_, "score": float(model.best_score_)} if hasattr(model, "best_params_") else {}


def _linear(classify: bool, y: Any, cv: Any, scoring: str | None, random_state: Any) -> Any:
    if not classify:
        return make_pipeline(StandardScaler(), RidgeCV(alphas=np.logspace(-1, 5, 13)))
    smallest = int(np.unique(y, return_counts=True)[1].min())
    logistic = LogisticRegression(C=1e-2, max_iter=1000, tol=1e-3)
    if cv is None and smallest < 2:
        return make_pipeline(StandardScaler(), logistic)
    if cv is None:
        cv = StratifiedKFold(min(5, smallest), shuffle=True, random_state=random_state)
    strengths = {"logisticregression__C": [1e-4, 1e-3, 1e-2, 1e-1]}
    return GridSearchCV(make_pipeline(StandardScaler(), logistic), strengths, cv=cv, scoring=_scorer(scoring))


def _scorer(scoring: str | None) -> str | None:
    return "roc_auc_ovr" if scoring == "roc_auc" else scoring  # for two classes it is the same


def _forest(classify: bool, random_state: Any) -> Any:
    if classify:
        return RandomForestClassifier(TREES, random_state=random_state)
    return RandomForestRegressor(TREES, max_features=1 / 3, random_state=random_state)


def _network(classify: bool, y: Any, random_state: Any) -> Any:
    stop = len(y) >= ENOUGH_TO_STOP_EARLY
    if classify and stop:  # the tenth has some of every class
        counts = np.unique(y, return_counts=True)[1]
        stop = int(counts.min()) >= 2 and 10 * len(counts) <= len(y)
    machine = MLPClassifier if classify else MLPRegressor
    solver = "adam" if stop else "lbfgs"  # few samples are learnt by heart, in few steps
    network = machine(
        hidden_layer_sizes=(128,),
        solver=solver,
        alpha=1e-2 if stop else 1.0,
        max_iter=300,
        early_stopping=stop,
        random_state=random_state,
    )
    steps = make_pipeline(StandardScaler(), network)
    return steps if classify else TransformedTargetRegressor(steps, transformer=StandardScaler())
