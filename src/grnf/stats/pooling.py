"""Samples as one pool: vectors of all graphs in each feature view, and the rows that a test compares.

The first one or two principal axes of vectors of graphs (size, density) hold most of the variance, and hide
differences along the others. Whitened, all of the first p axes count equally. Axes are learned from all
samples together, without knowledge of which graph belongs to which sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grnf._utils.arrays import offsets, principal_axes
from grnf.collection import Collection, collect, encode, fit_encode, vectors_of
from grnf.errors import GraphError
from grnf.graphs import Codes, GraphBatch
from grnf.io import AttributeEncoder
from grnf.stats.descriptor import GraphDescriptor
from grnf.typing import FloatArray

__all__ = ["AXES", "PooledRows", "joined", "pooled_rows", "pooled_views", "rounding_variance"]

AXES = (8, 16, 32, 64)
"""Numbers of axes that a test looks at."""

ROUNDING = 64
"""Axes along which vectors vary by less than so many units in the last place vary by rounding alone."""


def pooled_views(
    samples: Sequence[Any], names: Sequence[str], descriptor: GraphDescriptor, ids: Any = None
) -> tuple[list[Collection], dict[str, FloatArray]]:
    """Return the samples as collections, and the vectors of all of them by the names of their views.

    Parameters
    ----------
    samples : sequence of collections of graphs, of arrays of vectors, or of dicts from view to vectors
    names : sequence of str
        What errors call the samples.
    descriptor : GraphDescriptor
        Makes the vectors of graphs; it is fitted on all of them.
    ids : sequence of sequences of str, optional
        Names of the graphs of each sample.

    Examples
    --------
    >>> found, views = pooled_views([np.zeros((2, 3)), np.ones((4, 3))], ["X", "Y"], GraphDescriptor())
    >>> [len(sample) for sample in found], {name: Z.shape for name, Z in views.items()}
    ([2, 4], {'vectors': (6, 3)})
    """
    called = [None] * len(samples) if ids is None else ids
    read = [_sample(*each) for each in zip(samples, names, called, strict=True)]
    found, views = [sample for sample, _ in read], [own for _, own in read]
    for sample, own in read:
        if list(own) != list(views[0]):
            raise GraphError(
                f"{found[0].name} holds {_kind(views[0])} and {sample.name} {_kind(own)}: both must be "
                "graphs, or vectors that one transformer made"
            )
    if not views[0]:
        found = _encoded(found)
        return found, descriptor.fit_transform_views(joined([sample.batch for sample in found]))
    pooled = {}
    for view, first in views[0].items():
        for sample, own in read:
            if own[view].shape[1] != first.shape[1]:
                raise GraphError(
                    f"{found[0].name} has vectors of length {first.shape[1]} and {sample.name} of length "
                    f"{own[view].shape[1]}: all must come from one transformer"
                )
        pooled[view] = np.concatenate([own[view] for own in views])
    return found, pooled


def _sample(X: Any, name: str, ids: Sequence[str] | None) -> tuple[Collection, dict[str, FloatArray]]:
    """Return a sample, and its vectors by view; no views for graphs."""
    if not isinstance(X, Mapping):
        found = collect(X, name=name, ids=ids)
        if not found.has_vectors:
            return found, {}
        found = vectors_of(found)
        return found, {"vectors": found.vectors}
    views = {}
    for view, Z in X.items():
        Z = np.asarray(Z)
        Z = Z if Z.dtype.kind == "f" else Z.astype(np.float64)
        found = vectors_of(Z, name=name, ids=ids)
        views[str(view)] = found.vectors
        n = len(next(iter(views.values())))
        if len(Z) != n:
            raise GraphError(f"{len(Z)} vectors in view {view!r}, {n} in the first one", where=name)
    if not views:
        raise GraphError(f"{name} has no views: at least one array of vectors is needed")
    return found, views


def _kind(views: Mapping[str, FloatArray]) -> str:
    if not views:
        return "graphs"
    return "vectors" if list(views) == ["vectors"] else f"vectors of the views {', '.join(views)}"


def _encoded(samples: Sequence[Collection]) -> list[Collection]:
    """Return samples of graphs with batches that have the same channels, or raise what differs."""
    pairs = [
        fit_encode(sample, AttributeEncoder(handle_unknown="open", handle_missing="error"))
        for sample in samples
    ]
    encoders, found = [encoder for encoder, _ in pairs], [encoded for _, encoded in pairs]
    silent = False  # a sample without edges (nodes) shows nothing about their columns
    for place in range(1, len(samples)):
        for item in ("node", "edge"):
            one, two = (getattr(encoders[i], f"{item}_schema_") for i in (0, place))
            if dict(one.columns) == dict(two.columns):
                continue
            if all(len(getattr(found[i].batch, f"{item}_attr")) for i in (0, place)):
                raise GraphError(
                    f"attributes of {item}s differ: {samples[0].name} has {one}, {samples[place].name} has "
                    f"{two}; both need the same columns of the same kind (leave out those that only one has)"
                )
            silent = True
    if silent:
        most = max(encoders, key=lambda e: len(e.node_schema_.columns) + len(e.edge_schema_.columns))
        found = [encode(sample, most) for sample in samples]
    else:
        _check_channels(found)
    return [replace(sample, batch=own.batch) for sample, own in zip(samples, found, strict=True)]


def _check_channels(samples: Sequence[Collection]) -> None:
    """Raise a `GraphError` if batches that were encoded before have different channels."""
    for item in ("node", "edge"):
        keys = [getattr(sample.batch, f"{item}_keys") for sample in samples]
        columns = [getattr(sample.batch, f"{item}_codes").values.shape[1] for sample in samples]
        for place, sample in enumerate(samples):
            if columns[place] != columns[0] or not np.array_equal(keys[place], keys[0]):
                raise GraphError(
                    f"attributes of {item}s differ: {samples[0].name} and {sample.name} were encoded with "
                    "different columns; read both in one way, or pass the graphs before encoding"
                )


def joined(batches: Sequence[GraphBatch]) -> GraphBatch:
    """Return the graphs of batches of equal columns as one batch.

    Examples
    --------
    >>> from grnf import Graph
    >>> joined([GraphBatch.from_graphs([Graph(2, [(0, 1)])]), GraphBatch.from_graphs([Graph(3, [])])])
    GraphBatch(2 graphs, 5 nodes, 1 edges, node_width=0, edge_width=0)
    """
    codes = []
    for item in ("node", "edge"):
        own: list[Codes] = [getattr(batch, f"{item}_codes") for batch in batches]
        keys = np.unique(np.concatenate([each.keys for each in own]))
        codes.append(Codes(np.concatenate([each.among(keys).values for each in own]), keys))
    return replace(
        batches[0],
        node_ptr=offsets(np.concatenate([np.diff(batch.node_ptr) for batch in batches])),
        edge_ptr=offsets(np.concatenate([np.diff(batch.edge_ptr) for batch in batches])),
        edges=np.concatenate([batch.edges for batch in batches]),
        node_attr=np.concatenate([batch.node_attr for batch in batches]),
        edge_attr=np.concatenate([batch.edge_attr for batch in batches]),
        directed=np.concatenate([batch.directed for batch in batches]),
        node_codes=codes[0],
        edge_codes=codes[1],
    )


@dataclass(frozen=True, eq=False)
class PooledRows:
    """Coordinates of a pooled sample along its principal axes, in order of variance.

    Parameters
    ----------
    coordinates : array, shape (N, r)
        Their distances are those of the vectors, up to rounding.
    whitened : array, shape (N, p)
        The first of them, divided by their standard deviations.
    numbers : tuple of int
        How many whitened axes to look at, ascending: p is the last.
    as_it_is : bool
        Whether to look at the coordinates too.
    """

    coordinates: FloatArray
    whitened: FloatArray
    numbers: tuple[int, ...]
    as_it_is: bool = True


def pooled_rows(Z: FloatArray, numbers: Sequence[int] = AXES, axes_only: bool = False) -> PooledRows:
    """Return the rows of a pooled sample Z.

    With nearly as many axes as graphs all graphs would be equally far from each other, so at most a third
    as many are looked at.

    Examples
    --------
    >>> Z = np.arange(60.0).reshape(12, 5) ** 2
    >>> rows = pooled_rows(Z)
    >>> rows.numbers, rows.whitened.std(axis=0).round(6)
    ((2,), array([1., 1.]))
    """
    coordinates, variances = _principal(np.asarray(Z))
    most = min(len(variances), max(len(Z) // 3, 1))
    # a number beyond what there is stands for all there are
    kept = sorted({min(int(number), most) for number in numbers} if most else set())
    p = kept[-1] if kept else 0
    whitened = coordinates[:, :p] / np.sqrt(variances[:p])
    return PooledRows(coordinates, whitened, tuple(kept), not (axes_only and kept))


def _principal(Z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return coordinates along the principal axes that are more than rounding, and their variances."""
    unit = float(np.finfo(Z.dtype).eps) if Z.dtype.kind == "f" else 0.0
    vectors = Z.astype(np.float64)
    N, M = vectors.shape
    least = rounding_variance(vectors, unit)
    if N <= M:
        vectors -= vectors.mean(axis=0)
        variances, sides = np.linalg.eigh(vectors @ vectors.T / N)
        variances, sides = variances[::-1], sides[:, ::-1]
        rank = _rank(variances, least, N)
        return sides[:, :rank] * np.sqrt(N * variances[:rank]), variances[:rank]
    mean, variances, axes = principal_axes(vectors)
    rank = _rank(variances, least, M)
    return (vectors - mean) @ axes[:, :rank], variances[:rank]


def rounding_variance(vectors: FloatArray, unit: float) -> float:
    """Return the variance along an axis that rounding alone may make; `unit` is that of the last place."""
    return (ROUNDING * unit) ** 2 * float(np.einsum("ij,ij->", vectors, vectors)) / len(vectors)


def _rank(variances: FloatArray, least: float, size: int) -> int:
    floor = max(least, size * float(np.finfo(np.float64).eps) * float(variances[0]))
    return int((variances > floor).sum())
