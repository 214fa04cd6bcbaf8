"""Lifts that label nodes by hashes: Weisfeiler-Lehman (WL) labels, and codes of individualized nodes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from grnf._utils.hashing import GOLDEN, mix
from grnf._utils.random import SEED_RULES, draw_seed
from grnf._utils.rules import Int, OneOf, param
from grnf.collection import encode
from grnf.graphs import Codes, GraphBatch, number_keys
from grnf.io.encode import AttributeEncoder
from grnf.lifts.attributes import indicator_columns
from grnf.lifts.base import DIRECTION, Direction, Lift, arcs, pieces, with_node_columns
from grnf.symmetry import node_codes
from grnf.symmetry.certificate import NODES_PER_LEVEL
from grnf.typing import BoolArray, FloatArray, Keys


class LabelLift(Lift):
    """A lift that gives each node labels: 64-bit numbers that can only be compared for equality."""

    dim: int | None
    random_state: Any

    def _labels(self, batch: GraphBatch) -> list[Keys]:
        """Return some labels of all nodes."""
        raise NotImplementedError

    def _blank_encoder(self) -> AttributeEncoder:
        return AttributeEncoder(handle_unknown="open")

    def _fit_batch(self, batch: GraphBatch) -> None:  # noqa: ARG002
        self.seed_ = draw_seed(self.random_state)

    def _lifted(self, batch: GraphBatch) -> GraphBatch:
        in_pieces = [self._labels(piece) for piece in pieces(batch)]
        labels = [np.concatenate(some) for some in zip(*in_pieces, strict=True)]
        codes, name = batch.node_codes, type(self).__name__
        if self.dim is not None:
            numbers = [_numbers(label, self.dim, self.seed_) for label in labels]
            return with_node_columns(batch, np.hstack(numbers), name)
        after = batch.node_width + codes.values.shape[1]  # a lift may come twice in a chain
        for label, key in zip(labels, number_keys("node", len(labels), f"{name} after {after}"), strict=True):
            codes = _with_column(codes, label ^ key)
        return replace(batch, node_codes=codes)


@dataclass(eq=False, repr=False)
class WeisfeilerLehman(LabelLift):
    """Adds the Weisfeiler-Lehman label of each node, at every depth from 0 on.

    The label of depth 0 is a hash of the node's categories. That of depth t + 1 is a hash of the node's label
    and of the multiset of its neighbors' labels, together with the categories of the edges. Equal labels have
    equal hashes in all graphs, so there is no vocabulary.

    Parameters
    ----------
    depth : int, default=3
        Rounds of refinement, 0 for the node's categories alone.
    dim : int, optional
        By default each label is a channel of its own, like a category of an open vocabulary. With a number,
        each label of each depth is a code of `dim` normal numbers with variance 1 / dim. Products of codes
        are near 1 for equal labels and near 0 for others. Use it for maps that need a fixed set of channels.
    columns : "categories" or "all", default="categories"
        Attributes that labels start from: those with only the values 0 and 1 in `fit`, such as one-hot
        categories, or all, compared to the last bit.
    random_state : int, numpy Generator or RandomState, optional
        Defines the codes of `dim`.
    direction : "any", "out" or "in", default="any"
        Which arcs of directed graphs lead to a neighbor.

    Examples
    --------
    >>> from grnf import Graph
    >>> paths = [Graph(3, [(0, 1), (1, 2)]), Graph(2, [(0, 1)])]
    >>> lifted = WeisfeilerLehman(depth=1, dim=4).fit_transform(paths)
    >>> codes = lifted.node_attr[:, 4:]  # of depth 1: ends of paths agree, the middle differs
    >>> [bool((codes[0] == row).all()) for row in codes]
    [True, False, True, True, True]
    """

    depth: int = param(3, Int(0))
    dim: int | None = param(None, Int(1), OneOf(None))
    _: KW_ONLY
    columns: Literal["categories", "all"] = param("categories", OneOf("categories", "all"))
    random_state: Any = param(None, *SEED_RULES)
    direction: Direction = param("any", DIRECTION)

    def _fit_batch(self, batch: GraphBatch) -> None:
        super()._fit_batch(batch)
        self.node_columns_ = self._chosen(batch.node_attr)
        self.edge_columns_ = self._chosen(batch.edge_attr)

    def _chosen(self, attributes: FloatArray) -> BoolArray:
        every = np.ones(attributes.shape[1], dtype=np.bool_)
        return every if self.columns == "all" else indicator_columns(attributes)

    def _labels(self, batch: GraphBatch) -> list[Keys]:
        """Return the labels of all nodes at each depth."""
        nodes = hashed_rows(batch.node_attr[:, self.node_columns_], batch.node_codes)
        edges = hashed_rows(batch.edge_attr[:, self.edge_columns_], batch.edge_codes)
        return refined_labels(batch, self.depth, nodes, edges, self.direction)


@dataclass(eq=False, repr=False)
class Individualize(LabelLift):
    """Adds a code of each node that distinguishes graphs with the same WL labels.

    This is individualization-refinement, as in programs for canonical labeling. Labels (attributes of nodes,
    self-loops) are refined by those of the neighbors, with the values and directions of the edges, until they
    are stable. Then the nodes of the first of the largest cells get a label of their own in turn, and labels
    are refined again, and so on. A branch that ends with all labels different is a certificate of the graph.
    If all branches below a tree node are the same graph, by checked automorphisms, one of them is enough. The
    codes do not depend on the numbering of the nodes. If the tree of a graph is finished (`finished`), two
    nodes have the same code only if an isomorphism maps one to the other, except for collisions of 64 bits.

    Codes are equal or different, without degrees: graphs that differ by one edge share none. `ClosedWalks`
    changes smoothly.

    Parameters
    ----------
    depth : int, optional
        Levels of the tree that are searched in full, by default as many as needed. 0 is refinement alone,
        unless all branches are the same graph.
    limit : int, default=20_000
        Most nodes of a level. A level that would have more is not started for any node of the graph, so
        that the result does not depend on the numbering.
    dim, random_state : int, optional
        As in `WeisfeilerLehman`.

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

    depth: int | None = param(None, Int(0), OneOf(None))
    limit: int = param(NODES_PER_LEVEL, Int(1))
    _: KW_ONLY
    dim: int | None = param(None, Int(1), OneOf(None))
    random_state: Any = param(None, *SEED_RULES)

    def finished(self, X: Any) -> BoolArray:
        """Return which graphs have a finished tree: their codes are complete.

        Parameters
        ----------
        X : collection of graphs, as in `fit`

        Returns
        -------
        array of bool, shape (n_graphs,)

        Examples
        --------
        >>> from grnf import Graph
        >>> path = Graph(3, [(0, 1), (1, 2)])
        >>> Individualize().fit([path]).finished([path])
        array([ True])
        """
        check_is_fitted(self)
        batch = encode(X, self.encoder_).batch
        parts = [node_codes(piece, depth=self.depth, limit=self.limit).finished for piece in pieces(batch)]
        return np.concatenate(parts)

    def _labels(self, batch: GraphBatch) -> list[Keys]:
        return [node_codes(batch, depth=self.depth, limit=self.limit).codes]


def refined_labels(
    batch: GraphBatch, depth: int, nodes: Keys, edges: Keys, direction: str = "any"
) -> list[Keys]:
    """Return the labels of all nodes at depths 0 .. `depth`, from first labels of nodes and of edges."""
    sources, targets, numbers = arcs(batch, direction)
    labels, edge = [nodes], edges[numbers]
    for _ in range(depth):
        around = np.zeros(len(nodes), np.uint64)  # sums are modulo 2^64, as hashes may be
        np.add.at(around, sources, mix(labels[-1][targets] ^ edge))
        labels.append(mix(mix(labels[-1]) * np.uint64(3) + around))
    return labels


def hashed_rows(values: FloatArray, codes: Codes) -> Keys:
    """Hash each row of numbers and categories. Equal rows are equal hashes."""
    hashed = np.zeros(len(values), dtype=np.uint64)
    for column in values.T:
        bits = (column + 0.0).astype(np.float64).view(np.uint64)  # + 0.0 turns -0.0 into 0.0
        hashed = mix(hashed ^ mix(bits))
    keys = np.append(codes.keys, np.uint64(0))  # -1, no category, is the last place
    for places in codes.values.T:
        hashed = mix(hashed ^ mix(keys[places]))
    return hashed


def _with_column(codes: Codes, column: Keys) -> Codes:
    """Return categories with one more column, of these keys mixed."""
    own, place = np.unique(mix(column), return_inverse=True)
    keys = np.union1d(codes.keys, own)
    values = np.column_stack([codes.among(keys).values, np.searchsorted(keys, own)[place]])
    return Codes(values, keys)


def _numbers(labels: Keys, dim: int, seed: int) -> FloatArray:
    """Return `dim` normal numbers of variance 1 / dim for each label, by Box and Muller."""
    distinct, place = np.unique(labels, return_inverse=True)
    keyed = mix(distinct ^ mix(np.array([seed], dtype=np.uint64)))
    counters = np.arange(1, 2 * dim + 1, dtype=np.uint64) * GOLDEN
    uniform = (mix(keyed[:, np.newaxis] + counters) >> np.uint64(11)) * 2.0**-53
    radius = np.sqrt(-2 * np.log1p(-uniform[:, :dim]))
    codes = radius * np.cos(2 * np.pi * uniform[:, dim:]) / np.sqrt(dim)
    return np.asarray(codes[place])
