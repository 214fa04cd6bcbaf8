"""Vectors of several views of a graph side by side, for indexes that are to see more than plain GRNF does."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, check_memory

from grnf.estimators import GRNF
from grnf.estimators.views import View, as_menu
from grnf.io import AttributeEncoder
from grnf.samples import encoded_samples, first_samples
from grnf.typing import FloatArray

__all__ = ["GraphViews"]


class GraphViews(BaseEstimator):  # type: ignore[misc]
    """Views of graphs as `GRNFClassifier` has them: squared distances are means of those in each view.

    Parameters
    ----------
    n_components : int, default=512
        Features of each view.
    lifts : "recipe", None, lift, list or dict of lists, default="recipe"
        As in `GRNFClassifier`.
    random_state : int, default=0

    Attributes
    ----------
    views_ : dict
        Fitted views by their names.

    Examples
    --------
    >>> from grnf.datasets import make_sbm
    >>> from grnf.search import GraphIndex
    >>> graphs, _ = make_sbm(20, random_state=0)
    >>> index = GraphIndex(GraphViews(16)).add(graphs)
    >>> index.search(graphs[3:4], k=1).ids
    [['3']]
    """

    def __init__(self, n_components: int = 512, *, lifts: Any = "recipe", random_state: int = 0) -> None:
        self.n_components = n_components
        self.lifts = lifts
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn attributes, and what the lifts learn, from graphs."""
        self.encoder_, samples = first_samples(X, AttributeEncoder(unseen="open", missing="error"), "raise")
        grnf = GRNF(self.n_components, random_state=self.random_state)
        self.views_ = {name: View(chain, grnf, samples.batch) for name, chain in as_menu(self.lifts).items()}
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the vectors of all views side by side, each divided by the root of their number."""
        check_is_fitted(self)
        batch = encoded_samples(X, self.encoder_, "raise").batch
        kept = check_memory(None)
        Z = np.hstack([view.embed(batch, kept) for view in self.views_.values()])
        return np.asarray(Z / np.sqrt(len(self.views_)), dtype=np.float32)
