"""U_1 and U_2 of a piece in one compiled call: statistics, classes of equal nodes, neighbours, sums.

Threads then do not wait for each other in between, and little is compiled beside the loops themselves. Some
graphs at a time, so that their sums stay in the cache between U_1 and U_2.
"""

from __future__ import annotations

import numpy as np

from grnf.engine.coefficients import Coefficients
from grnf.engine.counting import counted
from grnf.engine.grouping import Bits, classed
from grnf.engine.jit import compiled, inlined
from grnf.engine.neighbours import SEARCHED, listed
from grnf.engine.rows import RAMP, RELU, Activation
from grnf.engine.schedule import GRAPHS, TILE, fitting_tile
from grnf.engine.statistics import Source, Statistics, gathered
from grnf.engine.u1 import u1
from grnf.engine.u2 import u2
from grnf.typing import BoolArray, FloatArray

__all__ = ["low", "low_of_undirected"]


@compiled
def low_of_undirected(
    of: Source,
    bits: Bits,
    c1: Coefficients,
    c2: Coefficients,
    rho: Activation,
    sorted_from: int,
    scale: FloatArray,
    out: FloatArray,
) -> None:
    """Do what `low` does, for undirected graphs of fewer than `sorted_from` nodes, from their attributes on.

    `bits`, if any: equal nodes are grouped.
    """
    s = gathered(of, False)
    _low(classed(s, bits) if len(bits) else s, c1, c2, rho, sorted_from, scale, out)


@compiled
def low(
    s: Statistics,
    c1: Coefficients,
    c2: Coefficients,
    rho: Activation,
    sorted_from: int,
    scale: FloatArray,
    out: FloatArray,
) -> BoolArray:
    """out[g, feature] += head u U_1 + head u^2 U_2; scale[g] = u.

    U_2 of graphs with `sorted_from` classes of nodes or more is left out for relu and ramp, since sorting is
    faster there; returns which graphs these are.
    """
    return _low(s, c1, c2, rho, sorted_from, scale, out)


@inlined
def _low(
    s: Statistics,
    c1: Coefficients,
    c2: Coefficients,
    rho: Activation,
    sorted_from: int,
    scale: FloatArray,
    out: FloatArray,
) -> BoolArray:
    large, largest = np.zeros(len(scale), np.bool_), 1
    for g in range(len(scale)):
        classes = s.node_ptr[g + 1] - s.node_ptr[g]
        large[g] = (len(rho) == RELU or len(rho) == RAMP) and classes >= sorted_from
        if not large[g]:
            largest = max(largest, classes)
    tile = fitting_tile(TILE, 2 * largest, c2.bias.itemsize)
    near = listed(s, SEARCHED, large)
    for start in range(0, len(scale), GRAPHS):
        graphs = counted(min(start + GRAPHS, len(scale)))[start:]
        u1(s, c1, rho, TILE, scale, graphs, out)
        u2(s, near, c2, rho, tile, scale, graphs[~large[start : start + GRAPHS]], out)
    return large
