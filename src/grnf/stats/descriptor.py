"""Feature views for tests and scores, chosen so that every kind of change shows in one of them.

No single view is best for all changes. Orders 1, 2 and 3 see patterns of up to three nodes with their
attributes. Degrees as categories, with triangles, are about as sharp as histograms of either. If there are
attributes, so is the neighborhood of each node. All of these are means over nodes, so sizes are a view too.
Numbers of pairs and triangles of edges are the most informative view of few graphs.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline

from grnf.estimators import GRNF, FeatureViews
from grnf.graphs import Codes, GraphBatch, category_key
from grnf.lifts import Degree, Lift, Propagate, Standardize, Triangles, WeisfeilerLehman
from grnf.lifts.attributes import indicator_columns
from grnf.lifts.base import adjacency
from grnf.lifts.nodes import degrees_and_triangles
from grnf.typing import FloatArray

SECONDS_PER_GRAPH = 0.05
"""What the features of a graph in one view may take; beyond that order 3 is left out, with a warning."""

SCALE_OF_SIZES = 0.1
"""Factor of logarithms: entries of GRNF vectors are means of bounded numbers over the root of M."""


class GraphDescriptor(FeatureViews):
    """Feature views whose default is made for tests: `two_sample_test` and `evaluate` use it.

    Parameters
    ----------
    n_components : int, default=512
        Features of each view.
    views : "auto", transformer, or dict of transformers, default="auto"
        "auto": "plain" (GRNF of orders 1, 2 and 3); "roles" (of order 1, structure alone: degrees as
        categories, and triangles); "size" (numbers of nodes and edges); "patterns" (numbers of pairs of edges
        that meet, and of triangles); and "around" if there are attributes (of order 1: categories as
        Weisfeiler-Lehman labels of depth 1, numbers with their means over neighbors).
    random_state : int, numpy Generator or RandomState, optional

    Attributes
    ----------
    views_ : dict
        Fitted transformers by the names of their views.

    Examples
    --------
    >>> from grnf.datasets import make_sbm
    >>> graphs, _ = make_sbm(10, random_state=0)
    >>> descriptor = GraphDescriptor(64, random_state=0)
    >>> descriptor(graphs).shape, list(descriptor.views_)
    ((10, 132), ['plain', 'roles', 'size', 'patterns'])
    >>> sizes = descriptor.fit_transform_views(graphs, ["size"])
    >>> list(sizes), descriptor.transform_views(graphs)["size"].shape
    (['size'], (10, 2))
    >>> descriptor.transform(graphs).shape, descriptor.get_feature_names_out()[:2]
    ((10, 132), array(['plain0', 'plain1'], dtype=object))
    >>> list(descriptor.protocol())
    ['views', 'n_components', 'seed']
    """

    @property
    def axes_only_(self) -> set[str]:
        """Views that tests use along whitened axes only: the first axis (density) would hide the others."""
        default = hasattr(self, "views_") and isinstance(self.views, str) and self.views == "auto"
        return {"plain", "size", "patterns"} if default else set()

    def default_views(self, batch: GraphBatch) -> dict[str, Any]:
        """Return the views that suit the attributes of these graphs.

        Parameters
        ----------
        batch : GraphBatch

        Returns
        -------
        dict from name to transformer
        """
        marks = {item: indicator_columns(getattr(batch, f"{item}_attr")) for item in ("node", "edge")}
        coded = any(getattr(batch, f"{item}_codes").values.shape[1] for item in marks)
        categories = coded or any(columns.any() for columns in marks.values())
        numbers = not all(columns.all() for columns in marks.values())
        scaled: list[Lift] = [Standardize()] if numbers else []
        high = {"orders": (1 / 3, 1 / 3, 1 / 3), "max_seconds_per_graph": SECONDS_PER_GRAPH}
        views: dict[str, Any] = {
            "plain": make_pipeline(*scaled, self._grnf(**high)),
            "roles": make_pipeline(_Statistic("degrees"), Triangles(), self._grnf(orders=(1.0,))),
            "size": _Statistic("size"),
            "patterns": _Statistic("patterns"),
        }
        if numbers or categories:
            around: list[Lift] = [*scaled]
            if categories:
                around.append(WeisfeilerLehman(1))
            if not marks["node"].all():
                around += [Degree(), Propagate(2)]
            grnf = self._grnf(orders=(1.0,), hidden_channels=1 if categories else 4)
            views["around"] = make_pipeline(*around, grnf)
        return views

    def _grnf(self, **settings: Any) -> GRNF:
        return GRNF(self.n_components, random_state=self.seed_, **settings)


class _Statistic(BaseEstimator):  # type: ignore[misc]
    """A function of graphs as a transformer: "size", "patterns" or "degrees"."""

    def __init__(self, name: str) -> None:
        self.name = name

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Do nothing."""
        return self

    def transform(self, X: Any) -> Any:
        """Return the values of the function."""
        functions: dict[str, Any] = {"size": sizes, "patterns": patterns, "degrees": with_degrees}
        return functions[self.name](X if isinstance(X, GraphBatch) else GraphBatch.from_graphs(X))

    def __sklearn_is_fitted__(self) -> bool:
        return True


def sizes(batch: GraphBatch) -> FloatArray:
    """Return logarithms of the numbers of nodes and edges, on the scale of vectors of GRNF."""
    return _logarithms(batch.sizes, np.diff(batch.edge_ptr))


def patterns(batch: GraphBatch) -> FloatArray:
    """Return logarithms of the numbers of pairs of edges that meet in a node, and of triangles."""
    degree, triangles = degrees_and_triangles(batch)
    of_nodes = np.stack([degree * (degree - 1) / 2, triangles / 3])
    running = np.concatenate([np.zeros((2, 1)), np.cumsum(of_nodes, axis=1)], axis=1)
    return _logarithms(*np.round(np.diff(running[:, batch.node_ptr], axis=1)))


def with_degrees(batch: GraphBatch) -> GraphBatch:
    """Return the same graphs with degrees as categories, large degrees rounded to a fifth."""
    degree = np.asarray(adjacency(batch, "any").sum(axis=1)).ravel()
    coarse = np.where(degree <= 16, degree, 16 + np.ceil(4 * np.log2(np.maximum(degree, 1) / 16)))
    kinds, place = np.unique(coarse.astype(np.int64), return_inverse=True)
    keys = np.array([category_key("node", "degree", int(kind)) for kind in kinds], np.uint64)
    order = np.argsort(keys)
    codes = Codes(np.argsort(order)[place.reshape(-1, 1)], keys[order])
    nodes, edges = len(batch.node_attr), len(batch.edge_attr)
    shape = batch.node_ptr, batch.edge_ptr, batch.edges
    return GraphBatch(*shape, np.empty((nodes, 0)), np.empty((edges, 0)), batch.directed, node_codes=codes)


def _logarithms(*counts: Any) -> FloatArray:
    return np.asarray(SCALE_OF_SIZES * np.log1p(np.column_stack(counts)))
