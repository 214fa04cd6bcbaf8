"""U_1 and U_2 of a piece, in one compiled call.

Some graphs at a time, so that their sums stay in the cache between the two; and one call, so that threads do
not wait for each other in between.
"""

from __future__ import annotations

import numpy as np

from grnf.engine.coefficients import Coefficients
from grnf.engine.jit import compiled
from grnf.engine.neighbours import Neighbours
from grnf.engine.schedule import GRAPHS
from grnf.engine.statistics import Statistics
from grnf.engine.u1 import u1
from grnf.engine.u2 import u2
from grnf.typing import BoolArray, FloatArray

__all__ = ["u1_and_u2"]

@compiled
def u1_and_u2(
    s: Statistics,
    near: Neighbours,
    c1: Coefficients,
    c2: Coefficients,
    code: int,
    tiles: tuple[int, int],
    scale: FloatArray,
    pairs: BoolArray,
    out: FloatArray,
) -> None:
    """Add U_1 of all graphs to out, and U_2 of those where `pairs` is true; see `u1` and `u2`."""
    for start in range(0, len(scale), GRAPHS):
        graphs = np.arange(start, min(start + GRAPHS, len(scale)))
        u1(s, c1, code, tiles[0], scale, graphs, out)
        u2(s, near, c2, code, tiles[1], scale, graphs[pairs[start : start + GRAPHS]], out)
