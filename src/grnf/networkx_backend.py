"""A networkx backend for `graph_edit_distance` and `is_isomorphic`, with the same meaning.

Use it with ``nx.graph_edit_distance(G, H, backend="grnf")``, or for all calls with
``nx.config.backend_priority = ["grnf"]``. networkx imports this module when it is imported, so everything
else is imported inside the functions.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["backend", "info"]

MOST_NODES, MOST_LABELED_EDGES = 100, 500
"""Sizes up to which edit distances are searched exactly; edges are limited if functions compare them."""

backend = sys.modules[__name__]


def info() -> dict[str, Any]:
    """Describe the backend to networkx."""
    docs = {
        "graph_edit_distance": f"Graphs of up to {MOST_NODES} nodes without self-loops or parallel edges.",
        "is_isomorphic": "Graphs without parallel edges, node_match or edge_match.",
    }
    return {
        "backend_name": "grnf",
        "package": "grnf",
        "short_summary": "Exact graph edit distance by branch and bound, isomorphism by certificates.",
        "functions": {name: {"additional_docs": text} for name, text in docs.items()},
    }


def convert_from_nx(graph: Any, *_: Any, **__: Any) -> Any:
    """Return a networkx graph unchanged: the functions here take it."""
    return graph


convert_to_nx = convert_from_nx


def can_run(name: str, args: Any, kwargs: dict[str, Any]) -> bool | str:
    """Return whether a call has the same meaning here, or the reason why not."""
    import networkx as nx

    given = inspect_call(getattr(nx, name), args, kwargs)
    graphs = [given.pop(side) for side in ("G1", "G2")]
    if any(graph.is_multigraph() for graph in graphs):
        return "parallel edges are not supported"
    if graphs[0].is_directed() != graphs[1].is_directed():
        return "both graphs must be directed or undirected"
    if name == "is_isomorphic":
        return True if not given else f"{next(iter(given))} is not supported"
    if "roots" in given:
        return "roots is not supported"
    if any(nx.number_of_selfloops(graph) for graph in graphs):
        return "self-loops are not supported"
    if any(len(graph) > MOST_NODES for graph in graphs):
        return f"graphs must have at most {MOST_NODES} nodes"
    functions = any(key.startswith("edge_") for key in given)
    if functions and sum(graph.number_of_edges() for graph in graphs) > MOST_LABELED_EDGES:
        return f"graphs must have at most {MOST_LABELED_EDGES} edges in all if functions compare them"
    return True


def inspect_call(function: Any, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name, without those that are None."""
    import inspect

    bound = inspect.signature(function.orig_func).bind(*args, **kwargs)
    return {name: value for name, value in bound.arguments.items() if value is not None}


def is_isomorphic(
    G1: Any,
    G2: Any,
    node_match: None = None,  # noqa: ARG001
    edge_match: None = None,  # noqa: ARG001
) -> bool:
    """Return whether two graphs are isomorphic."""
    import networkx as nx

    from grnf.graphs import Graph
    from grnf.symmetry import compare_graphs

    graphs = G1, G2
    if len({(len(graph), graph.number_of_edges()) for graph in graphs}) > 1:
        return False
    coded = []
    for graph in graphs:
        number = {node: at for at, node in enumerate(graph)}
        ends = [(number[i], number[j]) for i, j in graph.edges]
        coded.append(Graph(len(number), ends, directed=graph.is_directed()))
    verdict = compare_graphs(*coded)
    if verdict == "undecided":
        return bool(nx.is_isomorphic.orig_func(*graphs))
    return verdict == "isomorphic"


def graph_edit_distance(
    G1: Any,
    G2: Any,
    node_match: Callable[..., bool] | None = None,
    edge_match: Callable[..., bool] | None = None,
    node_subst_cost: Callable[..., float] | None = None,
    node_del_cost: Callable[..., float] | None = None,
    node_ins_cost: Callable[..., float] | None = None,
    edge_subst_cost: Callable[..., float] | None = None,
    edge_del_cost: Callable[..., float] | None = None,
    edge_ins_cost: Callable[..., float] | None = None,
    roots: None = None,  # noqa: ARG001
    upper_bound: float | None = None,
    timeout: float | None = None,
) -> float | None:
    """Return the edit distance, after the timeout the best cost found, or None above `upper_bound`."""
    import networkx as nx
    import numpy as np

    from grnf.edits.branch_and_bound import solve
    from grnf.edits.comparison import list_edits
    from grnf.edits.edit_problem import CodedGraph, EditProblem

    if timeout is not None and not timeout > 0:
        raise nx.NetworkXError(f"timeout must be greater than 0, got {timeout!r}")
    graphs = G1, G2
    directed = graphs[0].is_directed()
    nodes, node_codes = _coded(
        [[data for _, data in graph.nodes(data=True)] for graph in graphs],
        node_match,
        (node_subst_cost, node_del_cost, node_ins_cost),
    )
    edges, edge_codes = _coded(
        [[data for *_, data in graph.edges(data=True)] for graph in graphs],
        edge_match,
        (edge_subst_cost, edge_del_cost, edge_ins_cost),
    )
    sides = []
    for graph, own, codes in zip(graphs, node_codes, edge_codes, strict=True):
        number = {node: at for at, node in enumerate(graph)}
        ends = np.array([(number[i], number[j]) for i, j in graph.edges], np.int64).reshape(-1, 2)
        sides.append(CodedGraph.of(own, ends, codes, directed))
    problem = EditProblem(sides[0], sides[1], nodes, edges, directed)
    mapping, _, _ = solve(problem, math.inf if timeout is None else timeout)
    cost = math.fsum(edit.cost for edit in list_edits(problem, mapping))
    return None if upper_bound is not None and cost > upper_bound else cost


def _coded(sides: list[list[Any]], match: Any, functions: tuple[Any, Any, Any]) -> Any:
    """Return the costs of nodes or edges, and their codes in both graphs."""
    import numpy as np

    from grnf.edits.edit_problem import ItemCosts

    substitution, deletion, insertion = functions
    if substitution is None and match is not None:
        substitution = lambda one, other: 1.0 - bool(match(one, other))  # noqa: E731
    labels = [data for side in sides for data in side] or [{}]
    codes = np.split(np.arange(sum(map(len, sides))), [len(sides[0])])
    if substitution is deletion is insertion is None:
        labels, codes = [{}], [0 * own for own in codes]
    defaults = zip((substitution, deletion, insertion), (0.0, 1.0, 1.0), strict=True)
    rules: list[Any] = [default if rule is None else rule for rule, default in defaults]
    return ItemCosts(labels, *rules), codes
