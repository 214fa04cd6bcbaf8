"""What estimators and lifts are given: graphs of any kind to one `GraphBatch`; a policy for bad samples."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils._set_output import _get_output_config

from grnf._utils.rules import OneOf, checked
from grnf.errors import GraphError, GrnfWarning
from grnf.graphs import Graph, GraphBatch, check_graphs
from grnf.io.encode import AttributeEncoder, warn_unused
from grnf.io.objects import is_edge_table, listed_graphs, to_batch
from grnf.io.raw import RawBatch
from grnf.typing import FloatArray, IntArray

__all__ = ["ON_ERROR", "Embedding", "Samples", "encoded_samples", "first_samples", "warn_of_skipped"]

ON_ERROR = OneOf("raise", "nan", "skip")
ROWS_SHOWN = 20


@dataclass(frozen=True, eq=False)
class Embedding:
    """Vectors of the graphs of a collection, with the report of the call that made them.

    Parameters
    ----------
    vectors : array, shape (n_vectors, M)
    rows : array of int, shape (n_vectors,)
        The place in the collection of the graph of each vector: all places, or those that are not skipped.
    errors : list of (int, str)
        Place and reason of each sample that cannot be used: its vector is NaN, or left out.
    index : sequence, optional
        What a pandas collection calls its samples, bad ones too.
    """

    vectors: FloatArray
    rows: IntArray
    errors: list[tuple[int, str]]
    index: Any = None

    @property
    def skipped(self) -> list[tuple[int, str]]:
        """Those of the errors that have no row."""
        kept = set(self.rows.tolist() if self.errors else [])
        return [(row, reason) for row, reason in self.errors if row not in kept]

    def container(self, estimator: Any, where: str) -> Any:
        """Return the vectors, as a dataframe with the index of their rows where one was asked for.

        scikit-learn makes dataframes of whatever rows come out, but gives them the index of all that went in.
        Samples that are left out are named in a warning; `where` says where the reasons are.
        """
        warn_of_skipped(self.skipped, len(self.rows), where, stacklevel=5)
        if self.index is None or _get_output_config("transform", estimator)["dense"] != "pandas":
            return self.vectors
        import pandas as pd  # type: ignore[import-untyped, unused-ignore]

        return pd.DataFrame(self.vectors, index=pd.Index(self.index)[self.rows])


@dataclass
class Samples:
    """The graphs of a collection that can be used, which rows they are, and why the others cannot.

    Parameters
    ----------
    batch : GraphBatch
        The graphs that can be used.
    rows : list of int
        Their places in the collection.
    n_rows : int
        Size of the collection.
    errors : list of (int, str)
        Row and reason of each sample that cannot be used.
    on_error : "raise", "nan" or "skip"
    index : sequence, optional
        What a pandas Series calls its samples; the ids of the graphs of a pandas table of edges.
    """

    batch: GraphBatch
    rows: list[int]
    n_rows: int
    errors: list[tuple[int, str]]
    on_error: str
    index: Any = None

    def embed(self, embed: Callable[[GraphBatch], FloatArray], width: int, dtype: Any) -> Embedding:
        """Embed the graphs; bad samples have rows of NaN, or are left out, and stand in the report."""
        Z = None
        if not self.errors:
            try:
                Z = embed(self.batch)
            except GraphError:
                if self.on_error == "raise":
                    raise
        if Z is None:
            Z = np.full((self.n_rows, width), np.nan, dtype=dtype)
            self._fill(Z, embed, np.arange(len(self.rows)))
            self.errors.sort()
        rows = np.arange(self.n_rows)
        if self.on_error == "skip" and self.errors:
            skipped = [row for row, _ in self.errors]
            Z, rows = np.delete(Z, skipped, axis=0), np.delete(rows, skipped)
        return Embedding(Z, rows, self.errors, self.index)

    def embedded(
        self, embed: Callable[[GraphBatch], FloatArray], width: int, dtype: Any, where: str = "errors_"
    ) -> FloatArray:
        """Return the vectors alone, with a warning that names samples which are left out."""
        embedding = self.embed(embed, width, dtype)
        warn_of_skipped(embedding.skipped, len(embedding.rows), where, stacklevel=4)
        return embedding.vectors

    def _fill(self, Z: FloatArray, embed: Callable[[GraphBatch], FloatArray], members: Any) -> None:
        """Embed some graphs of the batch. If it fails, halve them, until the graphs that fail stand alone."""
        if len(members) == 0:
            return
        try:
            Z[[self.rows[index] for index in members]] = embed(self.batch.take(members))
        except GraphError as error:
            if len(members) == 1:
                self.errors.append((self.rows[members[0]], error.explanation))
            else:
                for half in np.array_split(members, 2):
                    self._fill(Z, embed, half)


def warn_of_skipped(skipped: list[tuple[int, str]], n_kept: int, where: str, stacklevel: int) -> None:
    """Name the samples that are left out, if there are any; `where` says where the reasons are."""
    if skipped:
        shown = ", ".join(str(row) for row, _ in skipped[:ROWS_SHOWN])
        more = f" and {len(skipped) - ROWS_SHOWN} more" if len(skipped) > ROWS_SHOWN else ""
        text = (
            f"{len(skipped)} of {n_kept + len(skipped)} samples are left out: rows {shown}{more}. "
            f"Row {skipped[0][0]}: {skipped[0][1]}. All reasons are in {where}"
        )
        warnings.warn(text, GrnfWarning, stacklevel=stacklevel)


def first_samples(X: Any, encoder: AttributeEncoder, on_error: str) -> tuple[AttributeEncoder, Samples]:
    """Fit an encoder on the samples of `fit` and encode them. Bad samples have no say in the fit."""
    objects = _collected(X, on_error)
    batch = _plain_batch(objects, on_error)
    if batch is not None:
        policies = {"unseen": encoder.unseen, "missing": encoder.missing}
        encoder = AttributeEncoder.of_batch(batch, **policies)
        return encoder, _all_good(batch, on_error, _index(X, objects))
    raws = _raw_batch(objects, on_error)
    encoder.fit(raws)
    samples = _encoded(X, objects, raws, encoder, on_error)
    if not samples.rows:
        raise GraphError(f"none of the {len(raws)} samples can be used; X[0]: {samples.errors[0][1]}")
    return encoder, samples


def encoded_samples(X: Any, encoder: AttributeEncoder, on_error: str) -> Samples:
    """Encode samples by a fitted encoder."""
    objects = _collected(X, on_error)
    if encoder.unnamed:
        batch = _plain_batch(objects, on_error, node_width=encoder.node_width, edge_width=encoder.edge_width)
        if batch is not None:
            encoder.check_keys(batch)
            return _all_good(batch, on_error, _index(X, objects))
    return _encoded(X, objects, _raw_batch(objects, on_error), encoder, on_error)


def _plain_batch(objects: Any, on_error: str, **widths: Any) -> GraphBatch | None:
    """Return a collection that is nothing but good `Graph` records; None if it is another."""
    if not isinstance(objects, GraphBatch) and not all(isinstance(sample, Graph) for sample in objects):
        return None
    try:
        return check_graphs(objects, **widths)
    except GraphError:
        if on_error == "raise":
            raise
        return None


def _raw_batch(objects: Any, on_error: str) -> RawBatch:
    return objects if isinstance(objects, RawBatch) else to_batch(objects, on_error=on_error)


def _encoded(X: Any, objects: Any, raws: RawBatch, encoder: AttributeEncoder, on_error: str) -> Samples:
    """Encode graphs all at once; the bad ones are named, and cost nobody else anything."""
    batch, rows, errors = encoder.encode_batch(raws)
    if errors and on_error == "raise":
        raise GraphError(errors[0][1], index=errors[0][0], where="X")
    warn_unused(encoder.unused_columns(raws))
    return Samples(batch, rows, len(objects), errors, on_error, _index(X, objects))


def _collected(X: Any, on_error: str) -> Any:
    """Return the samples as a list, or as the batch that they are."""
    checked(on_error, "on_error", ON_ERROR)
    return X if isinstance(X, list) and X else listed_graphs(X)


def _index(X: Any, objects: Any) -> Any:
    """Return what a pandas object calls its graphs; known by name so that pandas need not be imported."""
    if type(X).__module__.partition(".")[0] != "pandas":
        return None
    return [graph.graph_id for graph in objects] if is_edge_table(X) else X.index


def _all_good(batch: GraphBatch, on_error: str, index: Any) -> Samples:
    return Samples(batch, list(range(len(batch))), len(batch), [], on_error, index)
