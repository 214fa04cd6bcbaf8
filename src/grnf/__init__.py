"""Graph Random Neural Features: graphs of any kind to vectors whose distances estimate a true metric.

>>> from grnf import GRNF
>>> from grnf.datasets import make_sbm
>>> graphs, y = make_sbm(10, random_state=0)
>>> GRNF(n_components=64, random_state=0).fit_transform(graphs).shape
(10, 64)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from grnf._version import __version__

if TYPE_CHECKING:
    from grnf import basis, datasets, io, law, lifts, maps, metric, nn, scale, search, stats, testing
    from grnf.errors import CostWarning, GraphError, GrnfWarning, OrderTooLargeError
    from grnf.estimators import GRNF, GRNFClassifier, GRNFRegressor, ReweightedGRNF
    from grnf.graphs import Graph, GraphBatch, check_graphs, null_graph
    from grnf.maps import map_graphs

__all__ = [
    "GRNF",
    "CostWarning",
    "GRNFClassifier",
    "GRNFRegressor",
    "Graph",
    "GraphBatch",
    "GraphError",
    "GrnfWarning",
    "OrderTooLargeError",
    "ReweightedGRNF",
    "__version__",
    "basis",
    "check_graphs",
    "datasets",
    "io",
    "law",
    "lifts",
    "map_graphs",
    "maps",
    "metric",
    "nn",
    "null_graph",
    "scale",
    "search",
    "stats",
    "testing",
]

# Names are loaded when they are first used, so that `grnf --help` need not wait for scikit-learn and numba.
_HOMES = {
    "CostWarning": "grnf.errors",
    "GRNF": "grnf.estimators",
    "GRNFClassifier": "grnf.estimators",
    "GRNFRegressor": "grnf.estimators",
    "Graph": "grnf.graphs",
    "GraphBatch": "grnf.graphs",
    "GraphError": "grnf.errors",
    "GrnfWarning": "grnf.errors",
    "OrderTooLargeError": "grnf.errors",
    "ReweightedGRNF": "grnf.estimators",
    "check_graphs": "grnf.graphs",
    "map_graphs": "grnf.maps",
    "null_graph": "grnf.graphs",
}
_MODULES = (
    *("basis", "datasets", "io", "law", "lifts", "maps", "metric", "nn", "scale", "search", "stats"),
    "testing",
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"grnf.{name}")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'grnf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
