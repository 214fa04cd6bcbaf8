"""Checks for anything that maps graphs to vectors: permutation invariance and the scikit-learn contract.

scikit-learn's `check_estimator` runs no check on estimators whose input is not a 2-d array. These are its
promises, rewritten for collections of graphs. Each failure is an AssertionError that names the broken one.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from grnf.datasets import make_delaunay
from grnf.graphs import Graph
from grnf.typing import FloatArray

__all__ = ["assert_invariant", "check_graph_transformer"]


def assert_invariant(
    embed: Callable[[list[Graph]], Any],
    graphs: Sequence[Graph],
    *,
    n_permutations: int = 5,
    rtol: float = 1e-5,
    random_state: Any = None,
) -> float:
    """Assert that permuting the nodes of a graph does not change its vector. Return the largest error.

    Parameters
    ----------
    embed : callable
        From a list of graphs to an array with one row per graph.
    graphs : sequence of Graph
    n_permutations : int, default=5
        Random permutations tried for each graph.
    rtol : float, default=1e-5
        Error accepted, relative to the largest entry of the vectors.
    random_state : int, optional
        Seed of the permutations.

    Returns
    -------
    float
        The largest error, relative to the largest entry of the vectors.

    Raises
    ------
    AssertionError
        If it is larger than `rtol`.

    Examples
    --------
    >>> assert_invariant(lambda graphs: np.array([[g.n_edges] for g in graphs]), [Graph(3, [(0, 1)])])
    0.0
    """
    generator = np.random.default_rng(random_state)
    worst = 0.0
    for index, graph in enumerate(graphs):
        orders = [generator.permutation(graph.n_nodes) for _ in range(n_permutations)]
        Z = np.asarray(embed([graph, *(graph.permuted(order) for order in orders)]), dtype=np.float64)
        errors = np.abs(Z[1:] - Z[0]).max(axis=1) / max(np.abs(Z).max(), np.finfo(float).tiny)
        worst = max(worst, float(errors.max()))
        if not errors.max() <= rtol:
            order = orders[int(np.nanargmax(errors))].tolist()
            raise AssertionError(
                f"graph {index} changes by {errors.max():.3g} (relative) under the node order {order}"
            )
    return worst


def check_graph_transformer(transformer: Any) -> None:
    """Assert that a transformer of graphs keeps the promises of scikit-learn. It is cloned, never changed.

    These are checked:

    - ``clone``, ``get_params``, ``set_params``, no work in ``__init__``, ``NotFittedError``, pickle,
    - rows out = graphs in, and the same again after another fit,
    - a row does not depend on the other graphs, nor on their order, nor on the order of its nodes,
    - unseen graphs, and graphs with 0 nodes, 1 node or no edges,
    - inputs stay unchanged, and feature names and ``set_output`` work,
    - clear errors for an empty list and for attributes of another width.

    Parameters
    ----------
    transformer : estimator
        With a fixed `random_state` if it has one, since results are compared.

    Raises
    ------
    AssertionError
        With the check that failed.

    Examples
    --------
    >>> from grnf import GRNF
    >>> check_graph_transformer(GRNF(n_components=16, random_state=0))
    """
    graphs, y = make_delaunay(8, n_nodes=6, random_state=0)
    graphs = [
        *graphs,
        Graph(0, [], np.empty((0, 2))),
        Graph(1, [], [[0.5, -1.0]]),
        Graph(3, [], np.ones((3, 2))),
        Graph(2, [(0, 1), (1, 1), (0, 1)], [[1.0, 0.0], [0.0, 1.0]], directed=True),
    ]
    labels = np.append(y, [0, 1, 0, 1])
    _check_parameters(transformer)
    _check_not_fitted(transformer, graphs)
    Z = _check_fit(transformer, graphs, labels)
    fitted = clone(transformer).fit(graphs, labels)
    _check_rows(fitted, graphs, Z)
    _check_output(transformer, graphs, labels, Z)
    _check_refusals(transformer, graphs, labels)


def _require(condition: Any, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _same(a: Any, b: Any, message: str, rtol: float = 1e-5) -> None:
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    _require(a.shape == b.shape, f"{message}: shapes {a.shape} and {b.shape}")
    scale = max(np.abs(b).max(initial=0.0), np.finfo(float).tiny)
    _require(np.abs(a - b).max(initial=0.0) <= rtol * scale, message)


def _check_parameters(transformer: Any) -> None:
    copy = clone(transformer)
    params = copy.get_params(deep=False)
    for name, value in transformer.get_params(deep=False).items():
        _require(repr(params[name]) == repr(value), f"clone changes the parameter {name}")
    _require(copy.set_params(**params) is copy, "set_params must return the estimator")
    blank = type(transformer)(**dict.fromkeys(params))
    wrong = [name for name, value in blank.get_params(deep=False).items() if value is not None]
    _require(not wrong, f"__init__ must store parameters unchanged, without validation; it changes {wrong}")
    added = sorted(set(vars(clone(transformer))) - set(params))
    _require(not added, f"__init__ must store nothing but parameters; it adds {added}")


def _check_not_fitted(transformer: Any, graphs: list[Graph]) -> None:
    try:
        clone(transformer).transform(graphs)
    except NotFittedError:
        return
    raise AssertionError("transform before fit must raise NotFittedError")


def _check_fit(transformer: Any, graphs: list[Graph], y: Any) -> FloatArray:
    fitted = clone(transformer)
    before = [graph.tensor() for graph in graphs]
    params = repr(fitted.get_params())
    _require(fitted.fit(graphs, y) is fitted, "fit must return the estimator")
    state = dict(vars(fitted))
    Z = np.asarray(fitted.transform(graphs))
    _require(Z.ndim == 2 and len(Z) == len(graphs), f"{len(graphs)} graphs in, shape {Z.shape} out")
    _require(np.isfinite(Z).all(), "vectors hold NaN or infinity")
    _same(fitted.transform(graphs), Z, "a second transform differs from the first", rtol=0)
    changed = [name for name in {**state, **vars(fitted)} if state.get(name) is not vars(fitted).get(name)]
    _require(not changed, f"transform must not change the transformer, as threads may share it: {changed}")
    _require(repr(fitted.get_params()) == params, "fit and transform must not change parameters")
    _same(clone(transformer).fit(graphs, y).transform(graphs), Z, "fitting again differs", rtol=0)
    _same(clone(transformer).fit_transform(graphs, y), Z, "fit_transform differs from fit, transform")
    for index, (graph, tensor) in enumerate(zip(graphs, before, strict=True)):
        _require(np.array_equal(graph.tensor(), tensor), f"graph {index} was changed")
    return Z


def _check_rows(fitted: Any, graphs: list[Graph], Z: FloatArray) -> None:
    order = np.random.default_rng(0).permutation(len(graphs))
    _same(fitted.transform([graphs[i] for i in order]), Z[order], "rows depend on the order of the graphs")
    for index, graph in enumerate(graphs):
        _same(fitted.transform([graph]), Z[index : index + 1], f"graph {index} alone differs from its batch")
    array = np.empty(len(graphs), dtype=object)
    array[:] = graphs
    for name, collection in (
        ("a tuple", tuple(graphs)),
        ("an object array", array),
        ("an iterator", iter(graphs)),
    ):
        _same(fitted.transform(collection), Z, f"{name} of graphs differs from a list")
    copy = pickle.loads(pickle.dumps(fitted))  # noqa: S301 our own bytes
    _same(copy.transform(graphs), Z, "a pickled copy differs", rtol=0)
    unseen, _ = make_delaunay(3, n_nodes=9, random_state=1)
    _require(np.isfinite(fitted.transform(unseen)).all(), "unseen graphs do not work")
    assert_invariant(fitted.transform, [*graphs, *unseen])


def _check_output(transformer: Any, graphs: list[Graph], y: Any, Z: FloatArray) -> None:
    fitted = clone(transformer).fit(graphs, y)
    names = fitted.get_feature_names_out()
    _require(len(names) == Z.shape[1], f"{len(names)} feature names for {Z.shape[1]} features")
    _require(len(set(names)) == len(names), "feature names repeat")
    if find_spec("pandas") is None:
        return
    frame = clone(transformer).set_output(transform="pandas").fit(graphs, y).transform(graphs)
    _require(list(frame.columns) == list(names), "set_output('pandas') does not use the feature names")
    _same(frame.to_numpy(), Z, "set_output('pandas') changes the numbers")


def _check_refusals(transformer: Any, graphs: list[Graph], y: Any) -> None:
    fitted = clone(transformer).fit(graphs, y)
    narrow = Graph(2, [(0, 1)], [[1.0], [2.0]])
    calls: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("an empty list", lambda: fitted.transform([])),
        ("fit on an empty list", lambda: clone(transformer).fit([], [])),
        ("a graph with other attributes", lambda: fitted.transform([graphs[0], narrow])),
        ("something that is not a graph", lambda: fitted.transform([graphs[0], "graph"])),
    )
    for what, call in calls:
        try:
            call()
        except ValueError as error:
            if "graph with" in what or "not a graph" in what:
                at = getattr(error, "index", 1)  # a GraphError has the position of the graph
                _require(at == 1, f"the error for {what} names graph {at}, not graph 1: {error}")
        else:
            raise AssertionError(f"{what} must raise a ValueError")
