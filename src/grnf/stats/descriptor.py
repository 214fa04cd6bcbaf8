"""Graphs to vectors for tests and scores: several views of each graph, chosen to see every kind of change.

No one view is best at all changes. Orders 1, 2 and 3 see patterns of up to three nodes with their attributes.
Degrees as categories, with triangles beside them, are about as sharp as histograms of either. Where there are
attributes, so is what stands around each node. All of these are means over nodes, so sizes are a view too;
and numbers of pairs and triangles of edges, two numbers, of which few graphs tell the most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from grnf.collection import encode, fit_encode
from grnf.errors import GraphError
from grnf.estimators import GRNF
from grnf.graphs import Codes, GraphBatch, category_key
from grnf.io import AttributeEncoder
from grnf.lifts import Degree, Lift, Propagate, Standardize, Triangles, WeisfeilerLehman
from grnf.lifts.base import adjacency
from grnf.lifts.columns import indicator_columns
from grnf.lifts.nodes import degrees_and_triangles
from grnf.typing import FloatArray

__all__ = ["GraphDescriptor", "Patterns", "Sizes", "with_degrees"]

SECONDS_PER_GRAPH = 0.05
"""What the features of a graph in one view may take; beyond that order 3 is left out, with a warning."""


SCALE_OF_SIZES = 0.1
"""Of logarithms beside GRNF vectors, whose entries are means of bounded numbers over the root of M."""


class GraphDescriptor(BaseEstimator):  # type: ignore[misc]
    """Vectors of graphs in several views, as `two_sample_test` and `evaluate` use them.

    Calling it gives one array, as descriptors of libraries for generative models do: ``descriptor(graphs)``.
    The first call (or `fit`) learns which attributes there are; where numbers are attributes, their scales.

    Parameters
    ----------
    n_components : int, default=512
        Features of each view.
    views : "auto", transformer, or dict of transformers, default="auto"
        "auto": "plain" (GRNF of orders 1, 2 and 3); "roles" (of order 1, structure alone: degrees as
        categories, and triangles); "size" (numbers of nodes and edges); "patterns" (numbers of pairs of edges
        that meet, and of triangles); and "around" where there are attributes (of order 1: categories as
        Weisfeiler-Lehman colours of depth 1, numbers with their means over neighbours). A transformer has
        `fit` and `transform` from graphs to an array.
    random_state : int, default=0

    Attributes
    ----------
    views_ : dict
        Fitted transformers by the names of their views.
    axes_only_ : set of str
        Views that tests look at along whitened axes only: as they are, the first axis (density) hides all
        others.

    Examples
    --------
    >>> from grnf.datasets import make_sbm
    >>> graphs, _ = make_sbm(10, random_state=0)
    >>> descriptor = GraphDescriptor(64)
    >>> descriptor(graphs).shape, list(descriptor.views_)
    ((10, 132), ['plain', 'roles', 'size', 'patterns'])
    """

    def __init__(self, n_components: int = 512, *, views: Any = "auto", random_state: int = 0) -> None:
        self.n_components = n_components
        self.views = views
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn from graphs which attributes there are, and what the views learn."""
        return self._fit(X)[0]

    def transform(self, X: Any) -> FloatArray:
        """Return the vectors of all views side by side, each divided by the root of their number."""
        return _side_by_side(self.transform_views(X))

    def fit_transform(self, X: Any, y: Any = None) -> FloatArray:  # noqa: ARG002
        """Fit, then return the vectors of the same graphs."""
        return _side_by_side(self.fit_transform_views(X))

    def __call__(self, graphs: Any) -> FloatArray:
        """Return an array with a row for each graph; the first call fits."""
        return self.transform(graphs) if hasattr(self, "views_") else self.fit_transform(graphs)

    def transform_views(self, X: Any) -> dict[str, FloatArray]:
        """Return the vectors of each view by its name."""
        check_is_fitted(self)
        return self._embedded(encode(X, self.encoder_).batch)

    def fit_transform_views(self, X: Any) -> dict[str, FloatArray]:
        """Fit, then return the vectors of the same graphs in each view."""
        fitted, batch = self._fit(X)
        return fitted._embedded(batch)

    def protocol(self) -> dict[str, Any]:
        """Return what made the vectors, as JSON can hold it: the transformers of the views, in words."""
        check_is_fitted(self)
        return {
            "views": {name: _described(made) for name, made in self.views_.items()},
            "n_components": self.n_components,
            "seed": self.random_state,
        }

    def _fit(self, X: Any) -> tuple[Self, GraphBatch]:
        blank = AttributeEncoder(unseen="open", missing="error")
        self.encoder_, samples = fit_encode(X, blank)
        batch = samples.batch
        self.of_structure_: set[str] = set()
        self.axes_only_: set[str] = set()
        made = self._default(batch) if isinstance(self.views, str) and self.views == "auto" else self._given()
        for name, transformer in made.items():
            transformer.fit(self._seen(name, batch))
        self.views_ = made
        return self, batch

    def _default(self, batch: GraphBatch) -> dict[str, Any]:
        """Return the views that suit the attributes of these graphs."""
        marks = {item: indicator_columns(getattr(batch, f"{item}_attr")) for item in ("node", "edge")}
        coded = any(getattr(batch, f"{item}_codes").values.shape[1] for item in marks)
        categories = coded or any(columns.any() for columns in marks.values())
        numbers = not all(columns.all() for columns in marks.values())
        high = {"orders": {1: 1 / 3, 2: 1 / 3, 3: 1 / 3}, "max_seconds_per_graph": SECONDS_PER_GRAPH}
        low = {"orders": {1: 1.0}}
        scaled: list[Lift] = [Standardize()] if numbers else []
        made: dict[str, Any] = {
            "plain": make_pipeline(*scaled, self._grnf(**high)),
            "roles": make_pipeline(Triangles(), self._grnf(**low)),
            "size": Sizes(),
            "patterns": Patterns(),
        }
        self.of_structure_, self.axes_only_ = {"roles"}, {"plain", "size", "patterns"}
        if numbers or categories:
            around: list[Lift] = [*scaled]
            if categories:
                around.append(WeisfeilerLehman(1))
            if not marks["node"].all():
                around += [Degree(), Propagate(2)]
            made["around"] = make_pipeline(*around, self._grnf(**low, hidden_channels=1 if categories else 4))
        return made

    def _grnf(self, **settings: Any) -> GRNF:
        return GRNF(self.n_components, random_state=self.random_state, **settings)

    def _given(self) -> dict[str, Any]:
        views = dict(self.views) if isinstance(self.views, Mapping) else {"given": self.views}
        for name, transformer in views.items():
            if not hasattr(transformer, "fit") or not hasattr(transformer, "transform"):
                raise ValueError(
                    "views must be 'auto', a transformer of graphs with fit and transform (such as "
                    f"GRNF(random_state=0)), or a dict of them; got {transformer!r} for {name!r}"
                )
        if not views:
            raise ValueError("views is empty: at least one transformer is wanted")
        return {str(name): clone(transformer) for name, transformer in views.items()}

    def _seen(self, name: str, batch: GraphBatch) -> GraphBatch:
        return with_degrees(batch) if name in self.of_structure_ else batch

    def _embedded(self, batch: GraphBatch) -> dict[str, FloatArray]:
        found = {}
        for name, transformer in self.views_.items():
            Z = np.asarray(transformer.transform(self._seen(name, batch)))
            if Z.ndim != 2 or len(Z) != len(batch):
                raise GraphError(f"view {name!r} made an array of shape {Z.shape} of {len(batch)} graphs")
            found[name] = Z
        return found


class _Counts(BaseEstimator):  # type: ignore[misc]
    """Logarithms of numbers that are counted, on the scale of vectors of GRNF."""

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn nothing."""
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return two numbers for each graph."""
        batch = X if isinstance(X, GraphBatch) else GraphBatch.from_graphs(X)
        return np.asarray(SCALE_OF_SIZES * np.log1p(np.column_stack(self._counted(batch))))

    def fit_transform(self, X: Any, y: Any = None) -> FloatArray:  # noqa: ARG002
        """Return two numbers for each graph."""
        return self.transform(X)

    def _counted(self, batch: GraphBatch) -> tuple[Any, ...]:
        raise NotImplementedError


class Sizes(_Counts):
    """Logarithms of the numbers of nodes and edges, on the scale of vectors of GRNF.

    Examples
    --------
    >>> from grnf import Graph
    >>> Sizes().fit_transform([Graph(2, [(0, 1)])]).round(3)
    array([[0.11 , 0.069]])
    """

    def _counted(self, batch: GraphBatch) -> tuple[Any, ...]:
        return batch.sizes, np.diff(batch.edge_ptr)


class Patterns(_Counts):
    """Logarithms of the numbers of pairs of edges that meet in a node, and of triangles.

    Examples
    --------
    >>> from grnf import Graph
    >>> Patterns().fit_transform([Graph(3, [(0, 1), (1, 2)]), Graph(0, [])]).round(3)
    array([[0.069, 0.   ],
           [0.   , 0.   ]])
    """

    def _counted(self, batch: GraphBatch) -> tuple[Any, ...]:
        degree, triangles = degrees_and_triangles(batch)
        of_nodes = np.stack([degree * (degree - 1) / 2, triangles / 3])
        running = np.concatenate([np.zeros((2, 1)), np.cumsum(of_nodes, axis=1)], axis=1)
        return tuple(np.round(np.diff(running[:, batch.node_ptr], axis=1)))


def with_degrees(batch: GraphBatch) -> GraphBatch:
    """Return the same graphs with the degree of each node as a category in place of all attributes.

    Degrees above 16 are told apart to a fifth.

    Examples
    --------
    >>> from grnf import Graph
    >>> with_degrees(GraphBatch.from_graphs([Graph(3, [(0, 1), (1, 2)])])).node_codes.values.ravel().shape
    (3,)
    """
    degree = np.asarray(adjacency(batch, "any").sum(axis=1)).ravel()
    coarse = np.where(degree <= 16, degree, 16 + np.ceil(4 * np.log2(np.maximum(degree, 1) / 16)))
    kinds, place = np.unique(coarse.astype(np.int64), return_inverse=True)
    keys = np.array([category_key("node", "degree", int(kind)) for kind in kinds], np.uint64)
    order = np.argsort(keys)
    codes = Codes(np.argsort(order)[place.reshape(-1, 1)], keys[order])
    nodes, edges = len(batch.node_attr), len(batch.edge_attr)
    shape = batch.node_ptr, batch.edge_ptr, batch.edges
    return GraphBatch(*shape, np.empty((nodes, 0)), np.empty((edges, 0)), batch.directed, node_codes=codes)


def _side_by_side(views: Mapping[str, FloatArray]) -> FloatArray:
    return np.asarray(np.hstack(list(views.values())) / np.sqrt(len(views)), dtype=np.float32)


def _described(transformer: Any) -> str:
    steps: Sequence[Any] = [step for _, step in getattr(transformer, "steps", [("", transformer)])]
    return " -> ".join(" ".join(repr(step).split()) for step in steps)
