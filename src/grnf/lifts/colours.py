"""Weisfeiler-Lehman colours: hashes in place of a vocabulary."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from grnf._utils.hashing import mix
from grnf._utils.rules import Int, OneOf, Table
from grnf.graphs import GraphBatch
from grnf.graphs.batch import Codes
from grnf.lifts.base import DIRECTION, arcs
from grnf.lifts.codes import ColourLift
from grnf.lifts.columns import indicator_columns
from grnf.typing import FloatArray, Keys

__all__ = ["Hashes", "WeisfeilerLehman", "hashed_rows", "refined_colours"]

Hashes = Keys


class WeisfeilerLehman(ColourLift):
    """Adds the Weisfeiler-Lehman colour of each node, at every depth from 0 on.

    The colour of depth 0 is a hash of the node's categories; that of depth t + 1 a hash of the node's colour
    and of the collection of colours around it, together with the categories of the edges. A colour is the
    same wherever it occurs, in graphs seen before or not: there is no vocabulary.

    Parameters
    ----------
    depth : int, default=3
        Rounds of refinement; 0 is the code of the node's categories alone.
    dim : int, optional
        By default each colour is a channel of its own, as a category of an open vocabulary is. A number asks
        for a code in its place: so many normal numbers of variance 1 / dim for each depth, which a
        counter-based hash makes of the colour. Products of codes are near 1 for equal colours, near 0 for
        others; they are few channels, for maps that need a fixed set of them.
    columns : "categories" or "all", default="categories"
        Attributes that colour: those that were 0 or 1 only in `fit`, as one-hot categories are; or all,
        where numbers must be equal to the last bit.
    seed : int, default=0
        Another seed gives other codes; with `dim` only.
    direction : "any", "out" or "in", default="any"
        Which arcs of directed graphs lead to a neighbour.

    Examples
    --------
    >>> from grnf import Graph
    >>> paths = [Graph(3, [(0, 1), (1, 2)]), Graph(2, [(0, 1)])]
    >>> lifted = WeisfeilerLehman(depth=1, dim=4).fit_transform(paths)
    >>> codes = lifted.node_attr[:, 4:]  # of depth 1: ends of paths agree, the middle differs
    >>> [bool((codes[0] == row).all()) for row in codes]
    [True, False, True, True, True]
    """

    _rules: ClassVar[Table] = {
        "depth": [Int(0)],
        "dim": [Int(1), OneOf(None)],
        "columns": [OneOf("categories", "all")],
        "seed": [Int(0)],
        "direction": [DIRECTION],
    }

    def __init__(
        self,
        depth: int = 3,
        dim: int | None = None,
        *,
        columns: Literal["categories", "all"] = "categories",
        seed: int = 0,
        direction: Literal["any", "out", "in"] = "any",
    ) -> None:
        self.depth = depth
        self.dim = dim
        self.columns = columns
        self.seed = seed
        self.direction = direction

    def _fit_batch(self, batch: GraphBatch) -> None:
        self.node_columns_ = self._chosen(batch.node_attr)
        self.edge_columns_ = self._chosen(batch.edge_attr)

    def _chosen(self, attributes: FloatArray) -> npt.NDArray[np.bool_]:
        everyone = np.ones(attributes.shape[1], dtype=bool)
        return everyone if self.columns == "all" else indicator_columns(attributes)

    def _colours(self, batch: GraphBatch) -> list[Hashes]:
        """Return the colours of all nodes at each depth."""
        nodes = hashed_rows(batch.node_attr[:, self.node_columns_], batch.node_codes)
        edges = hashed_rows(batch.edge_attr[:, self.edge_columns_], batch.edge_codes)
        return refined_colours(batch, self.depth, nodes, edges, self.direction)


def refined_colours(
    batch: GraphBatch, depth: int, nodes: Hashes, edges: Hashes, direction: str = "any"
) -> list[Hashes]:
    """Return the colours of all nodes at depths 0 .. `depth`, from first colours of nodes and of edges."""
    sources, targets, numbers = arcs(batch, direction)
    n_nodes = int(batch.node_ptr[-1])
    order = sp.csr_array(
        (np.arange(1, len(sources) + 1), (sources, np.arange(len(sources)))),
        shape=(n_nodes, len(sources)),
    )
    arc = order.indices  # arcs by their source; columns are distinct, so nothing is summed
    neighbour, edge = targets[arc], edges[numbers[arc]]
    colours = [nodes]
    for _ in range(depth):
        running = np.zeros(len(arc) + 1, dtype=np.uint64)
        np.cumsum(mix(colours[-1][neighbour] ^ edge), out=running[1:])
        around = running[order.indptr[1:]] - running[order.indptr[:-1]]  # modulo 2^64, as hashes may
        colours.append(mix(mix(colours[-1]) * np.uint64(3) + around))
    return colours


def hashed_rows(values: FloatArray, codes: Codes) -> Hashes:
    """Hash each row of numbers and categories; equal rows are equal hashes."""
    hashed = np.zeros(len(values), dtype=np.uint64)
    for column in values.T:
        bits = (column + 0.0).astype(np.float64).view(np.uint64)  # + 0.0 turns -0.0 into 0.0
        hashed = mix(hashed ^ mix(bits))
    keys = np.append(codes.keys, np.uint64(0))  # -1, no category, is the last place
    for places in codes.values.T:
        hashed = mix(hashed ^ mix(keys[places]))
    return hashed
