"""Graph Random Neural Features: vectors for graphs, whose distances estimate a distance between the graphs.

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
    from grnf import (  # noqa: F401
        basis,
        datasets,
        io,
        law,
        lifts,
        maps,
        metric,
        nn,
        scale,
        search,
        stats,
        symmetry,
        testing,
    )
    from grnf.activations import Activation
    from grnf.edits import Comparison, Edit, compare
    from grnf.errors import CostWarning, GraphError, GrnfWarning, OrderTooLargeError
    from grnf.estimators import (
        GRNF,
        GRNFClassifier,
        GRNFRegressor,
        JointFeatures,
        ReweightedGRNF,
        WLFingerprint,
    )
    from grnf.estimators.warmup import warmup
    from grnf.graphs import Graph, GraphBatch, check_graphs, null_graph
    from grnf.maps import map_graphs

__all__ = [
    "GRNF",
    "Activation",
    "Comparison",
    "CostWarning",
    "Edit",
    "GRNFClassifier",
    "GRNFRegressor",
    "Graph",
    "GraphBatch",
    "GraphError",
    "GrnfWarning",
    "JointFeatures",
    "OrderTooLargeError",
    "ReweightedGRNF",
    "WLFingerprint",
    "__version__",
    "check_graphs",
    "compare",
    "map_graphs",
    "null_graph",
    "warmup",
]

# Names are loaded when they are first used, so that `grnf --help` does not load scikit-learn and numba.
_HOMES = {
    "Activation": "grnf.activations",
    "Comparison": "grnf.edits",
    "CostWarning": "grnf.errors",
    "Edit": "grnf.edits",
    "GRNF": "grnf.estimators",
    "GRNFClassifier": "grnf.estimators",
    "GRNFRegressor": "grnf.estimators",
    "Graph": "grnf.graphs",
    "GraphBatch": "grnf.graphs",
    "GraphError": "grnf.errors",
    "GrnfWarning": "grnf.errors",
    "JointFeatures": "grnf.estimators",
    "OrderTooLargeError": "grnf.errors",
    "ReweightedGRNF": "grnf.estimators",
    "WLFingerprint": "grnf.estimators",
    "check_graphs": "grnf.graphs",
    "compare": "grnf.edits",
    "map_graphs": "grnf.maps",
    "null_graph": "grnf.graphs",
    "warmup": "grnf.estimators.warmup",
}
_MODULES = (
    *("basis", "datasets", "io", "law", "lifts", "maps", "metric", "nn", "scale", "search", "stats"),
    *("symmetry", "testing"),
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"grnf.{name}")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'grnf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_MODULES])
