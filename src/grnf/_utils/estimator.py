"""The bases of all estimators of graphs: lifts, transformers, models and detectors."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted


class GraphInput(BaseEstimator):  # type: ignore[misc]
    """An estimator whose input is a collection of graphs, not an array."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


class GraphEstimator(TransformerMixin, GraphInput):  # type: ignore[misc]
    """What all estimators of graphs share."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the attributes of nodes and edges, and what else there is to know.

        Parameters
        ----------
        X : collection of graphs
            A list (or another iterable, or a `GraphBatch`) of graphs of any kind that `grnf.io.to_raw`
            takes, mixed or not; an array of adjacency matrices, shape (n_graphs, n, n); a batch or dataset
            of PyTorch Geometric; or a dataframe of edges with the columns graph_id, source, target, alone
            or as (edges, nodes).
        y : array-like, optional
            For `ReweightedGRNF`: a class or a number for each graph, or several numbers. Others ignore it.

        Returns
        -------
        self : transformer

        Raises
        ------
        GraphError
            If a graph cannot be used and `on_error` is "raise". The error has the number of the graph.
        """
        raise NotImplementedError

    def transform(self, X: Any) -> Any:
        """Return the vectors of graphs, seen before or not.

        Nothing is changed, so threads may share the object. `embed` returns a report with the vectors.

        Parameters
        ----------
        X : collection of graphs, as in `fit`

        Returns
        -------
        array, shape (n_graphs, n_columns)
        """
        raise NotImplementedError

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, then embed the same graphs. `errors_` has the bad ones.

        Parameters
        ----------
        X : collection of graphs, as in `fit`
        y : ignored, except by models and `ReweightedGRNF`
        **fit_params : ignored, except by models

        Returns
        -------
        array, shape (n_graphs, n_columns)
        """
        return self.fit(X, y, **fit_params).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:  # noqa: ARG002
        """Return names for the columns of `transform`: the name of the class or the view, and a number.

        Those of a lift are the numeric channels of its graphs: node0, node1, .., edge0, ..

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        array of str, shape (n_columns,)
        """
        check_is_fitted(self)
        names = [f"{name}{i}" for name, width in self._column_counts().items() for i in range(width)]
        return np.array(names, dtype=object)

    def _column_counts(self) -> dict[str, int]:
        """Return the number of columns by the first part of their names."""
        raise NotImplementedError
