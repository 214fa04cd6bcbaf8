"""Samples as one pool: vectors of all graphs in each feature view, and the distances that a test compares.

The first one or two principal axes of vectors of graphs (size, density) hold most of the variance, and hide
differences along the others. Whitened, all of the first p axes count equally. Axes are learned from all
samples together, without knowledge of which graph belongs to which sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from grnf._utils.arrays import offsets, principal_axes
from grnf.collection import Collection, collect, encode, fit_encode, vectors_of
from grnf.errors import GraphError
from grnf.graphs import Codes, GraphBatch
from grnf.io.encode import AttributeEncoder
from grnf.stats.descriptor import GraphDescriptor
from grnf.typing import FloatArray

AXES = (8, 16, 32, 64)
"""Default numbers of whitened axes."""

ROUNDING = 64
"""Axes along which vectors vary by less than so many units in the last place vary by rounding alone."""


def pooled_views(
    samples: Sequence[Any], names: Sequence[str], descriptor: GraphDescriptor, ids: Any = None
) -> tuple[list[Collection], dict[str, FloatArray]]:
    """Return the samples as collections, and the vectors of all of them by the names of their views.

    Samples are graphs, arrays of vectors, or dicts from view to vectors. Errors call them by `names`. The
    descriptor makes the vectors of graphs, and is fitted on all of them.
    """
    given = zip(samples, names, [None] * len(samples) if ids is None else ids, strict=True)
    pairs = [_sample(*each) for each in given]
    collections, views = [sample for sample, _ in pairs], [own for _, own in pairs]
    cure = "Pass graphs for all samples, or vectors made by the same transformer"
    for sample, own in pairs:
        if list(own) != list(views[0]):
            reason = f"{collections[0].name} holds {_kind(views[0])} and {sample.name} {_kind(own)}"
            raise GraphError(reason, cure=cure)
    if not views[0]:
        collections = _encoded(collections)
        return collections, descriptor.fit_transform_views(joined([sample.batch for sample in collections]))
    pooled = {}
    for view, first in views[0].items():
        for sample, own in pairs:
            if own[view].shape[1] != first.shape[1]:
                reason = f"{collections[0].name} has vectors of length {first.shape[1]} and {sample.name} of "
                raise GraphError(f"{reason}length {own[view].shape[1]}", cure=cure)
        pooled[view] = np.concatenate([own[view] for own in views])
    return collections, pooled


def _sample(X: Any, name: str, ids: Sequence[str] | None) -> tuple[Collection, dict[str, FloatArray]]:
    """Return a sample, and its vectors by view. Graphs have no views."""
    if not isinstance(X, Mapping):
        sample = collect(X, name=name, ids=ids)
        if not sample.has_vectors:
            return sample, {}
        sample = vectors_of(sample)
        return sample, {"vectors": sample.vectors}
    views = {}
    for view, Z in X.items():
        Z = np.asarray(Z)
        Z = Z if Z.dtype.kind == "f" else Z.astype(np.float64)
        sample = vectors_of(Z, name=name, ids=ids)
        views[str(view)] = sample.vectors
        n = len(next(iter(views.values())))
        if len(Z) != n:
            raise GraphError(f"{len(Z)} vectors in view {view!r}, {n} in the first one", where=name)
    if not views:
        raise GraphError(f"{name} has no views: at least one array of vectors is needed")
    return sample, views


def _kind(views: Mapping[str, FloatArray]) -> str:
    if not views:
        return "graphs"
    return "vectors" if list(views) == ["vectors"] else f"vectors of the views {', '.join(views)}"


def _encoded(samples: Sequence[Collection]) -> list[Collection]:
    """Return samples of graphs with batches that have the same channels, or raise what differs."""
    settings: dict[str, Any] = {"handle_unknown": "open", "handle_missing": "error"}
    pairs = [fit_encode(sample, AttributeEncoder(**settings)) for sample in samples]
    encoders, encoded = [encoder for encoder, _ in pairs], [own for _, own in pairs]
    unknown = False  # a sample without edges (nodes) has no columns of them
    for sample, encoder, own in zip(samples[1:], encoders[1:], encoded[1:], strict=True):
        batches = encoded[0].batch, own.batch
        for item in ("node", "edge"):
            one, two = (getattr(each, f"{item}_schema_") for each in (encoders[0], encoder))
            found = f"attributes of {item}s differ: {samples[0].name}"
            if dict(one.columns) == dict(two.columns):
                if _channels(batches[0], item) != _channels(batches[1], item):
                    cure = "Read both in the same way, or pass the graphs before encoding"
                    raise GraphError(
                        f"{found} and {sample.name} were encoded with different columns", cure=cure
                    )
            elif all(len(getattr(batch, f"{item}_attr")) for batch in batches):
                cure = "Give both the same columns of the same kind, and leave out those that only one has"
                raise GraphError(f"{found} has {one}, {sample.name} has {two}", cure=cure)
            else:
                unknown = True
    if unknown:
        most = max(encoders, key=lambda e: len(e.node_schema_.columns) + len(e.edge_schema_.columns))
        encoded = [encode(sample, most) for sample in samples]
    return [replace(sample, batch=own.batch) for sample, own in zip(samples, encoded, strict=True)]


def _channels(batch: GraphBatch, item: str) -> list[int]:
    """Return the number of code columns of nodes or edges, and the keys of their other channels."""
    return [getattr(batch, f"{item}_codes").values.shape[1], *getattr(batch, f"{item}_keys").tolist()]


def joined(batches: Sequence[GraphBatch]) -> GraphBatch:
    """Return the graphs of batches with the same columns as one batch."""
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
    """Coordinates (N, r) of a pooled sample along its principal axes, in order of variance.

    `whitened` (N, p) are the first of them, divided by their standard deviations. `numbers` of whitened axes
    are tested, ascending up to p, and the coordinates too if `plain`.
    """

    coordinates: FloatArray
    whitened: FloatArray
    numbers: tuple[int, ...]
    plain: bool = True

    @cached_property
    def _factors(self) -> tuple[list[_Factors], list[_Factors]]:
        cuts = zip((0, *self.numbers), self.numbers, strict=False)
        axes = [self.whitened[:, before:number] for before, number in cuts]
        plain = [_Factors.of(self.coordinates, self.coordinates)] if self.plain else []
        return plain, [_Factors.of(some, some) for some in axes]

    def squares(self, some: slice, others: slice) -> list[FloatArray]:
        """Return squared distances of some rows to others: plain, and along the first whitened axes."""
        plain, added = ([factors.tile(some, others) for factors in each] for each in self._factors)
        return plain + list(accumulate(added, np.add))


def pooled_rows(Z: FloatArray, numbers: Sequence[int] = AXES, axes_only: bool = False) -> PooledRows:
    """Return the rows of a pooled sample Z.

    With nearly as many axes as graphs all graphs would be equally far from each other, so at most a third
    as many axes are used.
    """
    coordinates, variances = _principal(np.asarray(Z))
    most = min(len(variances), max(len(Z) // 3, 1))
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
        variances, axes = variances[::-1], sides[:, ::-1]
    else:
        mean, variances, axes = principal_axes(vectors)
    floor = max(least, min(N, M) * float(np.finfo(np.float64).eps) * float(variances[0]))
    rank = int((variances > floor).sum())
    variances, axes = variances[:rank], axes[:, :rank]
    return (axes * np.sqrt(N * variances) if N <= M else (vectors - mean) @ axes), variances


def sample_axes(Y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean, variances and axes. Few long vectors have no more axes than vectors."""
    if len(Y) >= Y.shape[1]:
        return principal_axes(Y)
    mean = Y.mean(axis=0)
    _, lengths, turned = np.linalg.svd(Y - mean, full_matrices=False)
    return mean, lengths**2 / len(Y), turned.T


def rounding_variance(vectors: FloatArray, unit: float) -> float:
    """Return the variance along an axis that rounding alone may make. `unit` is that of the last place."""
    return (ROUNDING * unit) ** 2 * float(np.einsum("ij,ij->", vectors, vectors)) / len(vectors)


class _Factors(NamedTuple):
    """Squared distances between rows of X and of Y: left @ right, if at least `least`, else 0."""

    left: FloatArray
    right: FloatArray
    least: float

    @classmethod
    def of(cls, X: FloatArray, Y: FloatArray) -> _Factors:
        """Return (-2 x, |x|^2, 1) and (y, 1, |y|^2), whose product is |x - y|^2."""
        center = Y.mean(axis=0) if len(Y) else 0.0  # numbers far from 0 are rounded more
        X, Y = X - center, Y - center
        x, y = (np.einsum("ij,ij->i", Z, Z) for Z in (X, Y))
        left = np.column_stack([-2 * X, x, np.ones(len(X))])
        right = np.vstack([Y.T, np.ones(len(Y)), y])
        # equal rows are 0 apart, not the root of a rounding error
        return cls(left, right, 1e-13 * float(x.max(initial=0) + y.max(initial=0)))

    def tile(self, some: slice, others: slice) -> FloatArray:
        squares = self.left[some] @ self.right[:, others]
        squares *= squares >= self.least
        return squares


def distances(X: FloatArray, Y: FloatArray) -> FloatArray:
    """Return the Euclidean distances between rows."""
    return np.asarray(np.sqrt(_Factors.of(X, Y).tile(slice(None), slice(None))))
