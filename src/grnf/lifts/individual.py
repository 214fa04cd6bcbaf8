"""Individualised nodes: codes that tell every pair of graphs apart where the tree is finished."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from grnf._utils.rules import Int, OneOf, Table
from grnf.collection import encode
from grnf.graphs import GraphBatch
from grnf.lifts.base import pieces
from grnf.lifts.codes import ColourLift
from grnf.symmetry import LIMIT, node_codes
from grnf.typing import BoolArray, Keys

__all__ = ["Individualize"]


class Individualize(ColourLift):
    """Adds a code of each node that tells graphs apart which no colours of neighbours tell apart.

    Colours (attributes of nodes, self-loops) are refined by those of the neighbours, with the values and
    directions of the edges, until that ends. Then the nodes of the first of the largest cells get a colour
    of their own in turn, and colours are refined again, and so on. A branch that ends with all colours
    different is a certificate of the whole graph; where all branches below a place are the same graph, by
    automorphisms that are checked, one of them is enough. The codes are the same bits under any numbering
    of the nodes. Where the tree of a graph is finished (`finished` tells), two nodes, of one graph or of
    two, have the same code only if an isomorphism maps one to the other, but for collisions of 64 bits.

    Codes say "different", not "how different": graphs that differ by one edge share none. `ClosedWalks` is a
    smooth companion.

    Parameters
    ----------
    depth : int, optional
        Levels of the tree that are looked at in full; by default as many as it takes. 0 is refinement
        alone, unless all branches are the same graph.
    limit : int, default=20_000
        Nodes of a level, at most. A level that would have more is not begun, for no node of the graph: a rule
        that does not depend on the numbering.
    dim : int, optional
        By default each code is a channel of its own, as a category of an open vocabulary is: codes are
        equal or different and nothing else, so that is all there is to them. A number asks for so many
        normal numbers of variance 1 / dim in its place, as `WeisfeilerLehman` gives: few channels, for maps
        that need a fixed set of them.
    seed : int, default=0
        Another seed gives other numbers; with `dim` only.

    Examples
    --------
    >>> from grnf import GRNF, Graph
    >>> from sklearn.pipeline import make_pipeline
    >>> hexagon = Graph(6, [(i, (i + 1) % 6) for i in range(6)])
    >>> triangles = Graph(6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])
    >>> model = make_pipeline(Individualize(), GRNF(16, orders={1: 1.0}, random_state=0))
    >>> Z = model.fit_transform([hexagon, triangles, hexagon.permuted([3, 1, 4, 0, 5, 2])])
    >>> bool(np.linalg.norm(Z[0] - Z[1]) > 0.01), bool((Z[0] == Z[2]).all())
    (True, True)
    """

    _rules: ClassVar[Table] = {
        "depth": [Int(0), OneOf(None)],
        "limit": [Int(1)],
        "dim": [Int(1), OneOf(None)],
        "seed": [Int(0)],
    }

    def __init__(
        self, depth: int | None = None, limit: int = LIMIT, *, dim: int | None = None, seed: int = 0
    ) -> None:
        self.depth = depth
        self.limit = limit
        self.dim = dim
        self.seed = seed

    def finished(self, X: Any) -> BoolArray:
        """Return which graphs have a finished tree: their codes are complete."""
        check_is_fitted(self)
        batch = encode(X, self.encoder_).batch
        found = [node_codes(piece, depth=self.depth, limit=self.limit).finished for piece in pieces(batch)]
        return np.concatenate(found)

    def _colours(self, batch: GraphBatch) -> list[Keys]:
        return [node_codes(batch, depth=self.depth, limit=self.limit).codes]
