"""What a test is given: samples of graphs of any kind, of vectors, or of vectors in several views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grnf._utils.arrays import offsets
from grnf.errors import GraphError
from grnf.graphs import Codes, GraphBatch
from grnf.io import AttributeEncoder
from grnf.io.objects import listed_graphs, own_names
from grnf.samples import encoded_samples, first_samples
from grnf.search.collection import is_vectors
from grnf.stats.descriptor import GraphDescriptor
from grnf.typing import FloatArray

__all__ = ["Pooled", "graph_batches", "joined", "pooled_samples"]


@dataclass(frozen=True, eq=False)
class Pooled:
    """Vectors of samples, one below the other.

    Parameters
    ----------
    views : dict from name to array, shape (N, M)
    sizes : tuple of int
    ids : list of lists of str
        What the graphs of each sample are called.
    protocol : dict
        What made the vectors.
    axes_only : set of str
        Views to look at along whitened axes only.
    """

    views: dict[str, FloatArray]
    sizes: tuple[int, ...]
    ids: list[list[str]]
    protocol: dict[str, Any]
    axes_only: frozenset[str] = frozenset()


def pooled_samples(
    samples: Sequence[Any], names: Sequence[str], descriptor: GraphDescriptor, ids: Any = None
) -> Pooled:
    """Return the vectors of all samples; `names` call the samples in messages."""
    kinds = [_kind(sample) for sample in samples]
    if len(set(kinds)) > 1:
        raise GraphError(
            f"{names[0]} holds {kinds[0]} and {_other(kinds, names)}: both must be graphs, or vectors that "
            "one transformer made"
        )
    if kinds[0] == "graphs":
        objects = [listed_graphs(sample, caller=name) for sample, name in zip(samples, names, strict=True)]
        batches = graph_batches(objects, names)
        views = descriptor.fit_transform_views(joined(batches))
        sizes = tuple(map(len, batches))
        called = [_names(found) for found in objects]
        protocol, axes_only = descriptor.protocol(), frozenset(descriptor.axes_only_)
    else:
        views, sizes = _stacked(samples, names)
        axes_only = frozenset()
        called = [[str(row) for row in range(n)] for n in sizes]
        widths = {name: int(Z.shape[1]) for name, Z in views.items()}
        protocol = {"views": {name: f"vectors of length {M}" for name, M in widths.items()}}
    if ids is not None:
        called = [[str(name) for name in given] for given in ids]
        for name, given, n in zip(names, called, sizes, strict=True):
            if len(given) != n:
                raise GraphError(f"{len(given)} ids for {n} graphs of {name}")
    for view, Z in views.items():
        _check_finite(Z, sizes, names, view if len(views) > 1 else "")
    return Pooled(views, sizes, called, protocol, axes_only)


def graph_batches(samples: Sequence[Any], names: Sequence[str]) -> list[GraphBatch]:
    """Return samples of graphs as batches with the same channels, or say what is different about them."""
    encoders, batches = [], []
    for sample, name in zip(samples, names, strict=True):
        try:
            encoder, found = first_samples(sample, AttributeEncoder(unseen="open", missing="error"), "raise")
        except GraphError as error:
            raise GraphError(_renamed(str(error), name)) from None
        encoders.append(encoder)
        batches.append(found.batch)
    item = _different(encoders[0], encoders[1:], batches)
    if item is None:
        _check_channels(batches, names)
        return batches
    if item[0] == "nothing":  # a sample without edges (nodes) says nothing about their columns
        most = max(encoders, key=lambda e: len(e.node_schema_.columns) + len(e.edge_schema_.columns))
        return [encoded_samples(sample, most, "raise").batch for sample in samples]
    place, what = item[1], item[0]
    first, other = (getattr(encoder, f"{what}_schema_") for encoder in (encoders[0], encoders[place]))
    raise GraphError(
        f"attributes of {what}s differ: {names[0]} has {first}, {names[place]} has {other}; both need the "
        "same columns of the same kind (leave out those that only one has)"
    )


def _different(
    first: AttributeEncoder, others: Sequence[AttributeEncoder], batches: Sequence[GraphBatch]
) -> tuple[str, int] | None:
    """Return whose columns differ, "node" or "edge", and in which sample; "nothing" if one has no items."""
    empty = False
    for place, other in enumerate(others, start=1):
        for item in ("node", "edge"):
            one, two = (getattr(encoder, f"{item}_schema_").columns for encoder in (first, other))
            if dict(one) == dict(two):
                continue
            counts = [len(getattr(batches[at], f"{item}_attr")) for at in (0, place)]
            if min(counts) > 0:
                return item, place
            empty = True
    return ("nothing", 0) if empty else None


def _check_channels(batches: Sequence[GraphBatch], names: Sequence[str]) -> None:
    """Raise a `GraphError` if batches that were encoded before have other channels."""
    for item in ("node", "edge"):
        keys = [getattr(batch, f"{item}_keys") for batch in batches]
        columns = [getattr(batch, f"{item}_codes").values.shape[1] for batch in batches]
        for place, name in enumerate(names):
            if columns[place] != columns[0] or not np.array_equal(keys[place], keys[0]):
                raise GraphError(
                    f"attributes of {item}s differ: {names[0]} and {name} were encoded with other columns; "
                    "read both in one way, or pass the graphs as they were before encoding"
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


def _kind(sample: Any) -> str:
    if isinstance(sample, Mapping):
        return "vectors of the views " + ", ".join(map(str, sample))
    return "vectors" if is_vectors(sample) else "graphs"


def _other(kinds: Sequence[str], names: Sequence[str]) -> str:
    place = next(place for place, kind in enumerate(kinds) if kind != kinds[0])
    return f"{names[place]} {kinds[place]}"


def _names(objects: Any) -> list[str]:
    own = own_names(objects)
    return list(map(str, range(len(objects)))) if own is None or len(set(own)) < len(own) else own


def _renamed(text: str, name: str) -> str:
    return name + text[1:] if text.startswith(("X[", "X ")) else f"{name}: {text}"


def _stacked(samples: Sequence[Any], names: Sequence[str]) -> tuple[dict[str, FloatArray], tuple[int, ...]]:
    """Return vectors of all samples in each view, and the sizes of the samples."""
    given = [dict(sample) if isinstance(sample, Mapping) else {"vectors": sample} for sample in samples]
    views: dict[str, FloatArray] = {}
    sizes = tuple(len(np.atleast_2d(next(iter(views.values())))) if views else 0 for views in given)
    for view in given[0]:
        arrays = [np.atleast_2d(np.asarray(found[view])) for found in given]
        for array, name, n in zip(arrays, names, sizes, strict=True):
            if array.ndim != 2 or array.dtype.kind not in "fiu" or 0 in array.shape:
                raise GraphError(
                    f"{name}: at least one vector is wanted, in an array of two dimensions; got shape "
                    f"{array.shape} of {array.dtype}"
                )
            if array.shape[1] != arrays[0].shape[1]:
                raise GraphError(
                    f"{names[0]} has vectors of length {arrays[0].shape[1]} and {name} of length "
                    f"{array.shape[1]}: all must come from one transformer"
                )
            if len(array) != n:
                raise GraphError(f"{name}: {len(array)} vectors in view {view!r}, {n} in the first one")
        whole = np.concatenate(arrays)
        views[str(view)] = whole if whole.dtype.kind == "f" else whole.astype(np.float64)
    if not views:
        raise GraphError(f"{names[0]} has no views: at least one array of vectors is wanted")
    return views, sizes


def _check_finite(Z: FloatArray, sizes: Sequence[int], names: Sequence[str], view: str) -> None:
    good = np.isfinite(Z).all(axis=1)
    if not good.all():
        row = int(np.flatnonzero(~good)[0])
        place = int(np.searchsorted(np.cumsum(sizes), row, side="right"))
        where = f" in view {view!r}" if view else ""
        raise GraphError(
            f"{names[place]}: row {row - sum(sizes[:place])}{where} holds NaN or infinity; leave it out "
            "(grnf embed --on-error skip leaves out bad graphs)"
        )
