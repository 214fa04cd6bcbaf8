"""What stands behind the vectors: a machine by its name, or any estimator of scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from grnf.estimators.kernel_machine import KernelSVC, KernelSVR

__all__ = ["fit_head", "make_head"]

HEADS = ("auto", "svm", "linear", "network")

MOST_FOR_KERNELS = 8_000
"""Graphs up to which "auto" is the support vector machine, whose kernel takes 0.5 GB then."""

ENOUGH_TO_STOP_EARLY = 200
"""Samples from which on a network can spare a tenth of them to tell when to stop."""


def make_head(
    head: Any,
    *,
    classify: bool,
    y: Any,
    blocks: Sequence[int],
    C: Any,
    gamma: Any,
    cv: Any,
    random_state: Any,
) -> Any:
    """Return an unfitted estimator for vectors whose columns stand in blocks."""
    if isinstance(head, str) and head in HEADS:
        if head == "auto":
            head = "svm" if len(y) <= MOST_FOR_KERNELS else "linear"
        if head == "svm":
            machine = KernelSVC if classify else KernelSVR
            return machine(blocks, C=C, gamma=gamma, cv=cv, random_state=random_state)
        if head == "network":
            return _network(classify, len(y), random_state)
        return _linear(classify, y, cv, random_state)
    if isinstance(head, BaseEstimator) or (hasattr(head, "fit") and hasattr(head, "get_params")):
        return clone(head)
    raise ValueError(f"head must be one of {', '.join(map(repr, HEADS))} or an estimator; got {head!r}")


def fit_head(head: Any, Z: Any, y: Any) -> Any:
    """Fit; that a network could be trained for longer is no news."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return head.fit(Z, y)


def _linear(classify: bool, y: Any, cv: Any, random_state: Any) -> Any:
    if not classify:
        return make_pipeline(StandardScaler(), RidgeCV(alphas=np.logspace(-1, 5, 13)))
    smallest = int(np.unique(y, return_counts=True)[1].min())
    logistic = LogisticRegression(C=1e-2, max_iter=1000, tol=1e-3)
    if cv is None and smallest < 2:
        return make_pipeline(StandardScaler(), logistic)
    if cv is None:
        cv = StratifiedKFold(min(5, smallest), shuffle=True, random_state=random_state)
    strengths = {"logisticregression__C": [1e-4, 1e-3, 1e-2, 1e-1]}
    return GridSearchCV(make_pipeline(StandardScaler(), logistic), strengths, cv=cv)


def _network(classify: bool, count: int, random_state: Any) -> Any:
    stop = count >= ENOUGH_TO_STOP_EARLY
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
