"""Splits of graphs into parts that are far from each other, the leakage of a split, and diverse subsets."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf._utils.random import SEED_RULES, draw_seed, page_generator
from grnf._utils.rules import Int, OneOf, checked
from grnf.collection import collect
from grnf.errors import GraphError
from grnf.search.clusters import GraphClusterer, components, radius_of, rows_of
from grnf.search.self_join import SelfJoin
from grnf.typing import FloatArray, IntArray

logger = logging.getLogger("grnf")

STRATUM = 20
"""Different values of a continuous target that are one stratum."""

METHODS = ("distance", "clusters", "scaffold", "random")


def split_graphs(
    X: Any,
    sizes: Sequence[float] = (0.8, 0.1, 0.1),
    *,
    by: str = "distance",
    radius: float | None = None,
    y: Any = None,
    transformer: Any = None,
    space: str = "plain",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> IntArray:
    """Split a collection into parts such as training, validation and test graphs.

    Parameters
    ----------
    X : collection of graphs of any kind, or array of vectors, shape (n, M)
    sizes : sequence of float, default=(0.8, 0.1, 0.1)
        Shares of the parts, or numbers in the same proportions.
    by : "distance", "clusters", "scaffold" or "random", default="distance"
        "distance": connected components, if graphs up to a distance `radius` are connected, stay together, so
        graphs of different parts are farther apart than `radius`. "clusters": Butina's clusters
        (`GraphClusterer`) stay together. "scaffold": molecules with the same Murcko scaffold (RDKit) stay
        together. "random": single graphs, in equal proportions along `y`.
    radius : float, optional
        For "distance" and "clusters". By default the median distance of a graph to its nearest neighbor.
    y : array-like, shape (n,), optional
        For "random": classes or numbers whose distribution is the same in all parts.
    transformer : object with `transform`, optional
    space : "plain" or "whitened", default="plain"
    n_jobs : int, optional
        As in `GraphClusterer`.
    random_state : int, Generator or None, default=0
        Order of groups of equal size, or of graphs for "random".

    Returns
    -------
    parts : array of int, shape (n,)
        Number of the part of each graph, from 0. Groups are assigned from the largest to the smallest, each
        to the part that lacks most. A group that is larger than its part changes the sizes, with a notice.

    Examples
    --------
    >>> from grnf.search import split_graphs
    >>> split_graphs(np.array([[0.0], [0.1], [0.2], [5.0], [5.1]]), (3, 2), radius=1.0)
    array([0, 0, 0, 1, 1])
    """
    shares = np.asarray(sizes, np.float64)
    if shares.ndim != 1 or len(shares) < 2 or not (np.isfinite(shares).all() and (shares > 0).all()):
        raise GraphError(f"sizes must be at least two positive numbers, got {sizes!r}")
    checked(by, "by", OneOf(*METHODS), owner="split_graphs")
    generator = page_generator(draw_seed(checked(random_state, "random_state", *SEED_RULES)), 0, stream=5)
    shares = shares / shares.sum()
    if by == "random":
        count = len(collect(X))
        return _spread(_stratified_order(y, generator.permutation(count)), shares)
    if by == "scaffold":
        groups = _scaffolds(X)
    elif by == "clusters":
        clusterer = GraphClusterer(radius=radius, transformer=transformer, space=space, n_jobs=n_jobs)
        groups = clusterer.fit(X).labels_
    else:
        join = SelfJoin(rows_of(X, transformer, space, n_jobs)[1], n_jobs)
        groups = components(join, radius_of(join, radius))
    return _assign(groups, shares, generator)


def _stratified_order(y: Any, order: IntArray) -> IntArray:
    """Return rows sorted by a target, those with equal (or similar) targets in the given order."""
    if y is None:
        return order
    if len(y) != len(order):
        raise GraphError(f"y must have a value for each of the {len(order)} graphs, got {len(y)}")
    values, ranks = np.unique(np.asarray(y), return_inverse=True)
    if len(values) > len(order) / STRATUM:
        ranks = ranks // STRATUM
    return order[np.argsort(ranks[order], kind="stable")]


def _spread(order: IntArray, shares: FloatArray) -> IntArray:
    """Assign rows in order, each to the part that lacks most so far: any run of rows is split by shares."""
    parts, filled = np.empty(len(order), np.int64), np.zeros(len(shares))
    for number, row in enumerate(order.tolist(), start=1):
        part = int(np.argmax(shares * number - filled))
        parts[row] = part
        filled[part] += 1
    return parts


def _assign(groups: IntArray, shares: FloatArray, generator: Any) -> IntArray:
    """Assign groups from the largest to the smallest, each to the part that lacks most graphs."""
    counts = np.bincount(groups)
    lacking = shares * len(groups)
    part_of = np.empty(len(counts), np.int64)
    for group in np.lexsort((generator.permutation(len(counts)), -counts)).tolist():
        part = int(np.argmax(lacking))
        part_of[group] = part
        lacking[part] -= counts[group]
    parts: IntArray = part_of[groups]
    sizes = np.bincount(parts, minlength=len(shares))
    if (sizes == 0).any():
        raise GraphError(
            f"part {int(np.argmin(sizes))} has no graphs, because the largest group has {counts.max():,} of "
            f"{len(groups):,} graphs",
            cure="Choose a smaller radius, or another way to split",
        )
    if np.abs(lacking).max() > 0.01 * len(groups):
        logger.info(
            "parts have %s instead of %s of the graphs: the largest group, which stays together, has %.1f%%",
            _percent(sizes / len(groups)), _percent(shares), 100 * counts.max() / len(groups),
        )  # fmt: skip
    return parts


def _percent(shares: FloatArray) -> str:
    return ", ".join(f"{100 * share:.1f}%" for share in shares)


def _scaffolds(X: Any) -> IntArray:
    """Return the number of the Murcko scaffold of each molecule. Those without rings share one."""
    from rdkit.Chem import MolFromSmiles
    from rdkit.Chem.Scaffolds import MurckoScaffold

    scaffold: Any = MurckoScaffold.MurckoScaffoldSmiles
    collection = collect(X)
    numbers: dict[str, int] = {}
    groups = []
    for row, graph in zip(collection.rows.tolist(), collection.graphs or [], strict=False):
        smiles = graph if isinstance(graph, str) else getattr(graph, "graph_columns", {}).get("smiles")
        mol = None if smiles is None else MolFromSmiles(smiles)
        if mol is None:
            raise GraphError("a scaffold needs a molecule with SMILES", index=row, where=collection.title)
        groups.append(numbers.setdefault(scaffold(mol=mol), len(numbers)))
    if not groups:
        raise GraphError("scaffolds need molecules with SMILES, got vectors", where=collection.title)
    return np.array(groups, np.int64)


def split_distances(
    X: Any, parts: npt.ArrayLike, *, transformer: Any = None, space: str = "plain", n_jobs: int | None = None
) -> tuple[FloatArray, IntArray]:
    """Return the distance of each graph to the nearest graph of an earlier part: the leakage of a split.

    The least distance is the least between graphs of any two parts.

    Parameters
    ----------
    X : collection of graphs of any kind, or array of vectors, shape (n, M)
    parts : array-like of int, shape (n,)
        Number of the part of each graph: 0 for training, 1 for validation, and so on.
    transformer : object with `transform`, optional
    space : "plain" or "whitened", default="plain"
    n_jobs : int, optional
        As in `GraphClusterer`.

    Returns
    -------
    distances : array, shape (n,)
        Infinite for graphs of the first part.
    nearest : array of int, shape (n,)
        Row of the nearest graph of an earlier part, or -1 for graphs of the first part.

    Examples
    --------
    >>> from grnf.search import split_distances
    >>> split_distances(np.array([[0.0], [1.0], [3.0]]), [0, 0, 1])
    (array([inf, inf,  2.]), array([-1, -1,  1]))
    """
    _, rows = rows_of(X, transformer, space, n_jobs)
    numbers = np.asarray(parts)
    if numbers.shape != (len(rows),) or numbers.dtype.kind not in "iu":
        raise GraphError(f"parts must be {len(rows)} whole numbers, got an array of {numbers.shape}")
    join = SelfJoin(rows, n_jobs)
    distances, nearest = np.full(len(rows), np.inf), np.full(len(rows), -1)
    for part in np.unique(numbers)[1:]:
        own = numbers == part
        found = join.nearest(1, own, numbers < part)
        distances[own], nearest[own] = found[0][:, 0], found[1][:, 0]
    return distances, nearest


def pick_diverse(
    X: Any,
    n_picks: int,
    *,
    first: Sequence[int] = (0,),
    transformer: Any = None,
    space: str = "plain",
    n_jobs: int | None = None,
) -> tuple[IntArray, FloatArray]:
    """Pick a diverse subset: each graph is the farthest from those before it (MaxMin).

    The picks are those of `rdkit.SimDivFilters.MaxMinPicker` with the same distances and first picks. Of
    graphs at equal distances, the first is picked.

    Parameters
    ----------
    X : collection of graphs of any kind, or array of vectors, shape (n, M)
    n_picks : int
        At most the number of graphs.
    first : sequence of int, default=(0,)
        Rows of the graphs that are picked first.
    transformer : object with `transform`, optional
    space : "plain" or "whitened", default="plain"
    n_jobs : int, optional
        As in `GraphClusterer`.

    Returns
    -------
    rows : array of int, shape (n_picks,)
        In the order in which they are picked.
    distances : array, shape (n_picks,)
        Distance to the nearest of the graphs before, infinite for the first.

    Examples
    --------
    >>> from grnf.search import pick_diverse
    >>> pick_diverse(np.array([[0.0], [1.0], [5.0], [3.0]]), 3)
    (array([0, 2, 3]), array([inf,  5.,  2.]))
    """
    _, rows = rows_of(X, transformer, space, n_jobs)
    count = checked(n_picks, "n_picks", Int(1))
    if count > len(rows):
        raise GraphError(f"n_picks must be at most {len(rows)} (graphs), got {count}")
    if not len(first) or len(set(first)) < len(first) or not all(0 <= row < len(rows) for row in first):
        raise GraphError(f"first must be different rows from 0 to {len(rows) - 1}, got {list(first)}")
    return SelfJoin(rows, n_jobs).diverse(count, first)
