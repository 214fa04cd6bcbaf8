"""The public checks must catch what they are for: each broken transformer breaks one promise."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from grnf import GRNF, Graph, check_graphs
from grnf.testing import assert_invariant, check_graph_transformer


class Counter(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A correct transformer: numbers of nodes and edges."""

    def __init__(self, scale=1.0):
        self.scale = scale

    def fit(self, X, y=None):
        batch = check_graphs(X)
        self.width_ = batch.node_width
        self._n_features_out = 2
        return self

    def transform(self, X):
        check_is_fitted(self)
        batch = check_graphs(X, node_width=self.width_)
        return np.column_stack([batch.sizes, np.diff(batch.edge_ptr)]).astype(float)


class WorksInInit(Counter):
    def __init__(self, scale=1.0):
        self.scale = float(scale or 1)


class StoresInInit(Counter):
    def __init__(self, scale=1.0):
        self.scale = scale
        self.extra = 1


class ForgetsToCheck(Counter):
    def transform(self, X):
        return np.ones((len(list(X)), 2))


class Changed(Counter):
    """Vectors that a function of the graphs and their right vectors makes."""

    def __init__(self, change):
        self.change = change

    def transform(self, X):
        X = list(X)
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.change(X, super().transform(X))


class WritesReports(Counter):
    def fit(self, X, y=None):
        self.errors_ = []
        return super().fit(X)

    def transform(self, X):
        Z = super().transform(X)
        self.errors_ = []
        return Z


class WrongNames(Counter):
    def fit(self, X, y=None):
        super().fit(X)
        self._n_features_out = 3
        return self


class AcceptsNothing(Counter):
    def fit(self, X, y=None):
        return super().fit(X or [Graph(1, [], np.ones((1, 2)))])


def node_order(X, Z):
    return np.column_stack([Z[:, 0], [g.edges[:, 0].sum() for g in X]])


def test_correct_transformers_pass():
    check_graph_transformer(Counter())
    check_graph_transformer(GRNF(8, random_state=0))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (WorksInInit(), "without validation"),
        (StoresInInit(), "nothing but parameters"),
        (ForgetsToCheck(), "NotFittedError"),
        (Changed(lambda X, Z: Z[Z[:, 0] > 0]), "12 graphs in"),
        (Changed(lambda X, Z: Z / Z[:, :1]), "NaN"),
        (Changed(lambda X, Z: Z + np.random.default_rng().random()), "second transform differs"),
        (Changed(lambda X, Z: Z - Z.mean(axis=0)), "alone differs"),
        (Changed(node_order), "under the node order"),
        (WritesReports(), r"transform must not change the transformer.*\['errors_'\]"),
        (WrongNames(), "3 feature names for 2 features"),
        (AcceptsNothing(), "fit on an empty list must raise"),
    ],
)
def test_broken_transformers_are_caught(broken, message):
    with pytest.raises(AssertionError, match=message):
        check_graph_transformer(broken)


def test_assert_invariant_returns_the_error_and_names_the_order():
    assert assert_invariant(lambda X: [[g.n_nodes] for g in X], [Graph(4, [])]) == 0.0
    with pytest.raises(AssertionError, match=r"graph 0 changes by .* under the node order \["):
        assert_invariant(lambda X: [[g.edges[0, 0]] for g in X], [Graph(4, [(0, 1)])])
