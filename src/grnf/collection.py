"""A collection of graphs or vectors: what can be used, where it was in the input, and why the rest cannot.

`encode` and `fit_encode` turn graphs of any kind into one `GraphBatch`, under a policy for bad graphs.
`vectors_of` turns graphs, vectors or a `Collection` into finite vectors. The transformer is passed in.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from grnf._utils.rules import OneOf, checked
from grnf.errors import GraphError, GrnfWarning
from grnf.graphs import Graph, GraphBatch, check_graphs
from grnf.io.encode import AttributeEncoder
from grnf.io.objects import is_edge_table, iter_raw, listed_graphs, to_batch
from grnf.io.raw import RawBatch, failures
from grnf.typing import BoolArray, FloatArray, IntArray

__all__ = [
    "NAN_ON_ERROR",
    "ON_ERROR",
    "Collection",
    "collect",
    "encode",
    "fit_encode",
    "is_fitted",
    "vectors_of",
    "warn_skipped",
]

ON_ERROR = OneOf("raise", "nan", "skip")
NAN_ON_ERROR = OneOf("raise", "nan")
"""For methods that return one row per graph."""
LARGEST = 1e18
"""Entries of vectors must be smaller: squares of larger ones overflow single precision."""

ABSENT: Any = None
"""Instead of a batch or vectors."""

ROWS_SHOWN = 20
ROWS_CHECKED = 8192
"""Rows of vectors that are checked at a time."""


@dataclass(frozen=True, eq=False)
class Collection:
    """The graphs of a collection that can be used, and the errors of the others.

    `encode` returns it with a batch, `GRNF.embed` and `vectors_of` with vectors, `collect` with its input.
    `grnf.stats`, `grnf.search` and `grnf.maps` take a `Collection` instead of graphs or vectors.

    Parameters
    ----------
    n_rows : int
        Graphs in the input, good and bad.
    rows : array of int, shape (n,)
        Positions in the input of the graphs that are kept, ascending. With ``on_error="nan"`` all are kept.
    errors : list of (int, str)
        Position and reason of each graph that cannot be used.
    batch : GraphBatch, optional
        The graphs, encoded.
    vectors : array, shape (n, M), optional
    graphs : sequence, optional
        The graphs unchanged, or as `RawGraph`.
    names : sequence of str or None, optional
        Names of all graphs in the input, or None for a graph without a name.
    index : sequence, optional
        Index of a pandas input, bad graphs included.
    transformer : object, optional
        The fitted transformer of the vectors.
    name : str
        Name of the collection in errors, such as its file. By default "X".
    start : int, default=0
        Number of the first graph, if the input is a part of a stream.
    on_error : "raise", "nan" or "skip"
        What `embed` does about graphs whose features cannot be computed.
    """

    n_rows: int
    rows: IntArray
    errors: list[tuple[int, str]] = field(default_factory=list)
    batch: GraphBatch = ABSENT
    vectors: FloatArray = ABSENT
    graphs: Any = None
    names: Sequence[str | None] | None = None
    index: Any = None
    transformer: Any = None
    name: str = ""
    start: int = 0
    on_error: str = "raise"

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def has_vectors(self) -> bool:
        """Whether there are vectors: they were given, or made."""
        return self.vectors is not None

    @property
    def title(self) -> str:
        """The name of the collection in errors."""
        return self.name or "X"

    @cached_property
    def ids(self) -> list[str]:
        """Names of the graphs that are kept. A graph without a name has its number."""
        return self._named(self.rows.tolist())

    @cached_property
    def all_ids(self) -> list[str]:
        """Names of all graphs in the input."""
        return self._named(range(self.n_rows))

    @property
    def unique_ids(self) -> list[str]:
        """`ids`, or numbers if two graphs have the same name."""
        ids = self.ids
        return ids if len(set(ids)) == len(ids) else [str(self.start + row) for row in self.rows.tolist()]

    @property
    def skipped(self) -> list[tuple[int, str]]:
        """The errors of graphs that are not kept."""
        kept = set(self.rows.tolist() if self.errors else [])
        return [(row, reason) for row, reason in self.errors if row not in kept]

    def take(self, places: IntArray | BoolArray) -> Self:
        """Return some of the kept graphs, by their places among them or by a mask."""
        places = np.arange(len(self))[places]
        return replace(
            self,
            rows=self.rows[places],
            batch=ABSENT if self.batch is None else self.batch.take(places),
            vectors=self.vectors[places] if self.has_vectors else ABSENT,
            graphs=_taken(self.graphs, places),
        )

    def embed(self, function: Callable[[GraphBatch], FloatArray], width: int, dtype: npt.DTypeLike) -> Self:
        """Return the collection with the vectors that a function makes of its batch, and without the batch.

        Graphs that fail have rows of NaN, or are left out, as `on_error` asks. `errors` has the reasons.
        """
        if self.on_error == "raise" or not self.errors:
            try:
                with _named_memory_errors(self.batch):
                    return replace(self, vectors=function(self.batch), batch=ABSENT)
            except GraphError as error:
                if self.on_error == "raise":
                    row = None if error.index is None else int(self.rows[error.index])
                    raise error.located(index=row, where=self.title) from error.__cause__
        Z = np.full((self.n_rows, width), np.nan, dtype=dtype)

        def fill(places: Sequence[int]) -> None:
            batch = self.batch.take(places)
            with _named_memory_errors(batch):
                Z[self.rows[places]] = function(batch)

        failed = dict(failures(range(len(self)), fill)) if len(self) else {}
        errors = [*self.errors, *((int(self.rows[at]), error.explanation) for at, error in failed.items())]
        rows = np.arange(self.n_rows)
        if self.on_error == "skip" and errors:
            rows = np.delete(rows, [row for row, _ in errors])
            Z = Z[rows]
        return replace(self, rows=rows, errors=sorted(errors), batch=ABSENT, vectors=Z)

    def _named(self, rows: Sequence[int]) -> list[str]:
        if self.names is None:
            return [str(self.start + row) for row in rows]
        own = [self.names[row] for row in rows]
        return [str(self.start + row if one is None else one) for row, one in zip(rows, own, strict=True)]


@contextmanager
def _named_memory_errors(batch: GraphBatch) -> Iterator[None]:
    """Turn an error for lack of memory into one that names the largest graph."""
    try:
        yield
    except MemoryError as error:
        largest = int(np.argmax(batch.sizes))
        raise GraphError(
            f"out of memory: this graph has {batch.sizes[largest]:,} nodes ({error})",
            index=largest,
            cure="Use fewer features or lower orders, or leave it out with on_error='skip' (--on-error skip)",
        ) from error


def warn_skipped(skipped: list[tuple[int, str]], n_kept: int, where: str, stacklevel: int) -> None:
    """Warn of graphs that are left out, if there are any. `where` is the place of the reasons."""
    if skipped:
        shown = ", ".join(str(row) for row, _ in skipped[:ROWS_SHOWN])
        more = f" and {len(skipped) - ROWS_SHOWN} more" if len(skipped) > ROWS_SHOWN else ""
        text = (
            f"{len(skipped)} of {n_kept + len(skipped)} samples are left out: rows {shown}{more}. "
            f"Row {skipped[0][0]}: {skipped[0][1]}. All reasons are in {where}"
        )
        warnings.warn(text, GrnfWarning, stacklevel=stacklevel)


def fit_encode(
    X: Any, encoder: AttributeEncoder, on_error: str = "raise", *, name: str = "", stereo: bool = False
) -> tuple[AttributeEncoder, Collection]:
    """Fit an encoder on the good graphs of a collection, and encode them.

    The policies of the encoder are used. It is not fitted itself if the graphs need no encoding. `stereo` is
    whether SMILES strings and RDKit molecules have stereochemistry.
    """
    given = _graphs(X, on_error, name, stereo)
    batch = _plain_batch(given, on_error)
    if batch is not None:
        encoder = AttributeEncoder.of_batch(
            batch, handle_unknown=encoder.handle_unknown, handle_missing=encoder.handle_missing
        )
        return encoder, replace(given, batch=batch, graphs=None)
    raws = _raws(given, stereo)
    encoder.fit(raws)
    collection = _encoded(given, raws, encoder, on_error)
    if not len(collection):
        row, reason = collection.errors[0]
        raise GraphError(
            f"none of the {collection.n_rows} samples can be used. {collection.title}[{row}]: {reason}"
        )
    return encoder, collection


def encode(X: Any, encoder: AttributeEncoder, on_error: str = "raise", *, name: str = "") -> Collection:
    """Encode a collection of graphs by a fitted encoder. Parameters are those of `fit_encode`."""
    given = _graphs(X, on_error, name, encoder.has_stereo)
    if encoder.unnamed:
        widths = {"node_width": encoder.node_width, "edge_width": encoder.edge_width}
        batch = _plain_batch(given, on_error, **widths)
        if batch is not None:
            encoder.check_keys(batch)
            return replace(given, batch=batch, graphs=None)
    return _encoded(given, _raws(given, encoder.has_stereo), encoder, on_error)


def collect(X: Any, *, name: str = "", ids: Sequence[str] | None = None, start: int = 0) -> Collection:
    """Return graphs, vectors or a collection as a `Collection`. Nothing is encoded or embedded.

    Vectors are a floating-point array with one or two dimensions, or a list of lists of numbers. `start` is
    the number of the first graph, and `ids` replace the names of the graphs.
    """
    lists = isinstance(X, list) and len(X) > 0 and all(isinstance(row, list) for row in X)
    if lists and all(isinstance(entry, int | float) for row in X for entry in row):
        X = np.array(X, dtype=np.float64)
    if isinstance(X, Collection):
        collection = replace(X, name=X.name or name)
    elif isinstance(X, np.ndarray) and X.ndim in (1, 2) and X.dtype.kind == "f":
        X = np.atleast_2d(X)
        collection = Collection(len(X), np.arange(len(X)), vectors=X, name=name, start=start)
    else:
        collection = replace(_graphs(X, "raise", name), start=start)
    if collection.n_rows == 0 or (collection.has_vectors and collection.vectors.shape[1] == 0):
        raise GraphError(f"{collection.title} is empty: at least one graph is needed")
    if ids is None:
        return collection
    if len(ids) != collection.n_rows:
        raise GraphError(f"{len(ids)} ids for {collection.n_rows} graphs", where=collection.title)
    return replace(collection, names=[str(one) for one in ids])


def vectors_of(
    X: Any,
    transformer: Any = None,
    *,
    name: str = "",
    on_error: str = "raise",
    ids: Sequence[str] | None = None,
    start: int = 0,
    keep_graphs: bool = False,
    width: int = 0,
) -> Collection:
    """Return the vectors of graphs, or vectors unchanged, all of them finite.

    A transformer that is not fitted is cloned and fitted on X, and the result has it. A bad graph, or a
    vector that is not finite, is an error, or it is left out and reported. The other parameters are those of
    `collect`. With `keep_graphs` the result has the graphs as `RawGraph`. `width` is the length that vectors
    must have, 0 for any.
    """
    collection = collect(X, name=name, ids=ids, start=start)
    if not collection.has_vectors:
        collection = _embedded(collection, transformer, on_error)
        collection = replace(collection, graphs=list(iter_raw(collection.graphs)) if keep_graphs else None)
    elif collection.transformer is None and transformer is not None and is_fitted(transformer):
        collection = replace(collection, transformer=transformer)
    if width and len(collection) and (found := collection.vectors.shape[1]) != width:
        raise GraphError(
            f"vectors have length {found}, expected length {width}",
            where=collection.title,
            cure="Make all vectors with the same transformer",
        )
    good = _finite(collection.vectors)
    if good.all():
        return collection
    reason = f"the vector holds NaN, infinity or a number beyond {LARGEST:g}"
    known = dict(collection.errors)
    bad = {row: reason for row in collection.rows[~good].tolist() if row not in known}
    _raise_first(collection, bad, on_error)
    return replace(collection.take(good), errors=sorted([*collection.errors, *bad.items()]))


def is_fitted(transformer: Any) -> bool:
    """Whether a transformer is fitted, or needs no fit."""
    if not hasattr(transformer, "fit"):
        return True
    try:
        check_is_fitted(transformer)
    except NotFittedError:
        return False
    return True


def _embedded(given: Collection, transformer: Any, on_error: str) -> Collection:
    """Return a collection of graphs with vectors, without the graphs that cannot be used."""
    if transformer is None:
        raise GraphError(
            f"{given.title} holds graphs, and nothing is known that makes vectors of them",
            cure="Give vectors, or a transformer that makes them",
        )
    if not is_fitted(transformer):
        transformer = clone(transformer)
        if on_error != "raise" and "on_error" in transformer.get_params(deep=False):
            transformer.set_params(on_error="nan")
        try:
            transformer = transformer.fit(given.graphs)
        except GraphError as error:
            index = None if error.index is None else given.start + int(given.rows[error.index])
            raise GraphError(error.reason, index=index, where=given.title, cure=error.cure) from None
    failed: dict[int, str] = {}
    if hasattr(transformer, "embed"):
        made = transformer.embed(given.graphs, on_error="skip")
        Z, places = made.vectors, made.rows
        failed = {int(given.rows[place]): reason for place, reason in made.errors}
        _raise_first(given, failed, on_error)
    else:
        Z = np.asarray(transformer.transform(given.graphs))
        places = np.arange(len(Z))
        if len(Z) != len(given):
            raise GraphError(f"{len(Z)} vectors of {len(given)} graphs", where=given.title)
    errors = sorted([*given.errors, *failed.items()])
    return replace(given.take(places), errors=errors, vectors=Z, transformer=transformer)


def _raise_first(given: Collection, failed: dict[int, str], on_error: str) -> None:
    if failed and on_error == "raise":
        row = min(failed)
        own = None if given.names is None else given.names[row]
        called = "" if own is None or own == str(row) else f" (id {own!r})"
        raise GraphError(f"{failed[row]}{called}", index=given.start + row, where=given.title)


def _finite(Z: FloatArray) -> BoolArray:
    good = np.ones(len(Z), dtype=np.bool_)
    for start in range(0, len(Z), ROWS_CHECKED):
        some = slice(start, start + ROWS_CHECKED)
        good[some] = np.abs(Z[some]).max(axis=1, initial=0) < LARGEST  # false for NaN
    return good


def _graphs(X: Any, on_error: str, name: str, stereo: bool = False) -> Collection:
    """Return graphs of any kind as a collection with `graphs`: a list, or the batch that they are."""
    checked(on_error, "on_error", ON_ERROR)
    if isinstance(X, Collection):
        if X.graphs is None:
            raise GraphError(f"{X.title} must be graphs, got vectors")
        return replace(X, name=X.name or name, on_error=on_error)
    objects = X if isinstance(X, list) and X else listed_graphs(X, caller=name or "X", stereo=stereo)
    names: Sequence[str | None] | None = None
    if isinstance(objects, RawBatch):
        names = objects.graph_ids
    elif not isinstance(objects, GraphBatch):
        names = [getattr(graph, "graph_id", None) for graph in objects]
    index = None
    if type(X).__module__.partition(".")[0] == "pandas":  # by its name, so that pandas is not imported
        index = names if is_edge_table(X) else getattr(X, "index", None)
    rows = np.arange(len(objects))
    return Collection(len(rows), rows, graphs=objects, names=names, index=index, name=name, on_error=on_error)


def _plain_batch(given: Collection, on_error: str, **widths: Any) -> GraphBatch | None:
    """Return a collection that is nothing but good `Graph` records, or None for any other."""
    objects = given.graphs
    if not isinstance(objects, GraphBatch) and not all(isinstance(sample, Graph) for sample in objects):
        return None
    try:
        return check_graphs(objects, caller=given.title, **widths)
    except GraphError:
        if on_error == "raise":
            raise
        return None


def _raws(given: Collection, stereo: bool) -> RawBatch:
    """Return all graphs with named columns. Those that cannot be converted are its bad graphs."""
    if isinstance(given.graphs, RawBatch):
        return given.graphs
    return to_batch(given.graphs, on_error="collect", stereo=stereo)


def _encoded(given: Collection, raws: RawBatch, encoder: AttributeEncoder, on_error: str) -> Collection:
    """Encode all graphs at once. Those that fail are reported, and do not affect the others."""
    if encoder.encoded_keys_ is not None:
        raws = replace(raws, bad={**_foreign(given.graphs, encoder), **raws.bad})
    batch, places, bad = encoder.encode_batch(raws)
    failed = {int(given.rows[place]): reason for place, reason in bad}
    _raise_first(given, failed, on_error)
    encoder.warn_of_unused(raws)
    errors = sorted([*given.errors, *failed.items()])
    return replace(given, rows=given.rows[places], errors=errors, batch=batch, graphs=None)


def _foreign(graphs: Any, encoder: AttributeEncoder) -> dict[int, str]:
    """Return the graphs that another encoder has encoded. Their columns have lost their names."""
    found = {}
    for place, graph in enumerate(graphs):
        if isinstance(graph, Graph):
            try:
                encoder.check_keys(graph)
            except GraphError as error:
                found[place] = error.explanation
    return found


def _taken(graphs: Any, places: IntArray) -> Any:
    """Return some graphs of a sequence or batch."""
    if graphs is None or len(places) == len(graphs):
        return graphs
    return graphs.take(places) if hasattr(graphs, "take") else [graphs[place] for place in places.tolist()]
