"""The paper's two synthetic sets, and their vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from grnf import GRNF
from grnf.datasets import make_delaunay, make_sbm
from grnf.experiments.study import Study
from grnf.typing import FloatArray, IntArray

__all__ = ["CLASSES", "ORDERS_TO_3", "synthetic_vectors"]

CLASSES = {"SBM": ("one community", "two communities"), "Delaunay": ("seed points", "moved seed points")}
ORDERS_TO_3 = {1: 1 / 3, 2: 1 / 3, 3: 1 / 3}
_MAKERS: dict[str, Any] = {"SBM": make_sbm, "Delaunay": make_delaunay}


def synthetic_vectors(
    name: str, n_graphs: int, n_components: int, study: Study, **settings: Any
) -> tuple[FloatArray, IntArray]:
    """Draw a set and embed it; further settings are those of GRNF."""
    study.tell(f"{name}: embedding {n_graphs} graphs")
    graphs, y = _MAKERS[name](n_graphs, random_state=study.seed)
    grnf = GRNF(n_components, random_state=study.seed, **settings)
    return np.asarray(grnf.fit_transform(graphs)), y
