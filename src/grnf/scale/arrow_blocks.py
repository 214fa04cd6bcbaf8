"""The function from Arrow block to Arrow block: rows of graphs or SMILES in, those rows with vectors out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from grnf._utils.rules import OneOf, checked
from grnf.collection import ON_ERROR, warn_skipped
from grnf.errors import GraphError
from grnf.estimators import GRNF, fit_stream
from grnf.io.files.molecules import molecules_of_values
from grnf.io.files.parquet import FIELDS, graphs_of_rows
from grnf.io.files.tables import named_smiles
from grnf.io.from_molecules import raw_from_smiles
from grnf.io.raw import RawBatch
from grnf.io.vectors.blocks import vectors_array
from grnf.typing import FloatArray, OnError

AT_ONCE = 1024
"""Rows that are embedded at a time, however many a block has."""
BLOCK = "the block"
"""What the data are called in messages."""


class BlockEmbedder:
    """A function from Arrow block to Arrow block, set up once: vectors are added to the rows of graphs.

    It depends on the block alone and can be pickled, so libraries that map functions over Arrow data can use
    it: pyarrow datasets, Hugging Face `datasets`, DuckDB, Ray, Spark, Dask.

    Parameters
    ----------
    transformer : GRNF, ReweightedGRNF, or path
        Fitted; or the file that one was saved to; or not fitted, for molecules, whose columns are known.
    smiles : str, optional
        The column of SMILES; by default the one that is called so, unless there is a column edge_index:
        then rows are graphs, as `grnf convert` writes them to Parquet and data sets on Hugging Face have
        them.
    keep : sequence of str, optional
        Columns that are kept; by default all but those that the graphs are made of.
    column : str, default="embedding"
        Name of the column of vectors: lists of length M.
    on_error : "raise", "nan" or "skip", optional
        What becomes of a row that cannot be used, by default as the transformer has it. With "nan" there is
        a column "error" with the reasons, null for rows without one; a warning lists skipped rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from grnf import GRNF
    >>> embed = BlockEmbedder(GRNF(8, random_state=0))
    >>> embed(pa.table({"name": ["methanol", "water"], "smiles": ["CO", "O"]})).schema
    name: string
    smiles: string
    embedding: fixed_size_list<item: float>[8]
      child 0, item: float
    >>> block = pa.record_batch({"smiles": ["CO", "not a molecule"]})
    >>> BlockEmbedder(GRNF(4, random_state=0), on_error="nan")(block).column("error").is_valid().to_pylist()
    [False, True]
    >>> embed.schema(block.schema).names, [part.num_rows for part in embed.each([block.slice(0, 1)])]
    (['smiles', 'embedding'], [1])
    """

    def __init__(
        self,
        transformer: Any,
        *,
        smiles: str | None = None,
        keep: Sequence[str] | None = None,
        column: str = "embedding",
        on_error: OnError | None = None,
    ) -> None:
        if isinstance(transformer, str | Path):
            transformer = GRNF.load(transformer)
        self.molecules_only = not hasattr(transformer, "n_components_")
        if self.molecules_only:
            transformer = fit_stream(clone(transformer), [raw_from_smiles("CO")])
        self.transformer = transformer
        self.smiles = smiles
        self.keep = None if keep is None else list(keep)
        self.column = column
        self.on_error = checked(on_error or transformer.on_error, "on_error", ON_ERROR, OneOf(None))

    def __call__(self, block: Any) -> Any:
        """Return a block with vectors: a RecordBatch for one, a Table for a Table or a mapping of columns."""
        import pyarrow as pa

        if isinstance(block, pa.RecordBatch):
            made = self._table(pa.Table.from_batches([block])).combine_chunks().to_batches()
            return made[0] if made else pa.RecordBatch.from_pylist([], schema=self.schema(block.schema))
        if isinstance(block, Mapping):
            block = pa.table({name: pa.array(list(values)) for name, values in block.items()})
        if not isinstance(block, pa.Table):
            raise GraphError(f"a block must be an Arrow RecordBatch or Table, got {type(block).__name__}")
        return self._table(block)

    def each(self, blocks: Iterable[Any]) -> Iterator[Any]:
        """Yield block after block, as Spark's `mapInArrow` and `pyarrow.RecordBatchReader` expect.

        Parameters
        ----------
        blocks : iterable of pyarrow.RecordBatch

        Yields
        ------
        pyarrow.RecordBatch
        """
        return map(self, blocks)

    def schema(self, given: Any) -> Any:
        """Return the Arrow schema of what comes out, for blocks of the given schema.

        Parameters
        ----------
        given : pyarrow.Schema

        Returns
        -------
        pyarrow.Schema
        """
        import pyarrow as pa

        number = pa.from_numpy_dtype(np.dtype(self.transformer.dtype))
        fields = [given.field(name) for name in self._kept(given.names)]
        fields.append(pa.field(self.column, pa.list_(number, self.transformer.n_components_)))
        if self.on_error == "nan":
            fields.append(pa.field("error", pa.string()))
        return pa.schema(fields)

    def _kept(self, names: Sequence[str]) -> list[str]:
        if self.keep is not None:
            missing = [name for name in self.keep if name not in names]
            if missing:
                raise GraphError(f"no column {missing[0]!r}. Available: {list(names)[:20]}")
        own = set() if self._smiles(names) else set(FIELDS) - {"graph_id", "y"}
        kept = [name for name in names if name not in own] if self.keep is None else self.keep
        ours = [self.column, *(["error"] if self.on_error == "nan" else [])]
        for name in ours:
            if name in kept:
                raise GraphError(f"the block has a column {name!r} already. Leave it out, or give column=")
        return kept

    def _smiles(self, names: Sequence[str]) -> str | None:
        """Return the column of SMILES, or None if the rows are graphs."""
        if self.smiles is None and "edge_index" in names:
            if self.molecules_only:
                raise GraphError("the transformer is not fitted: fit it on some of these graphs first")
            return None
        column = named_smiles(names, self.smiles, BLOCK)
        if column is None:
            raise GraphError(
                f"neither edge_index nor SMILES among the columns {list(names)[:20]}",
                cure="Name the SMILES column with smiles=",
            )
        return column

    def _table(self, table: Any) -> Any:
        import pyarrow as pa

        schema, smiles = self.schema(table.schema), self._smiles(table.column_names)
        parts = []
        for start in range(0, table.num_rows, AT_ONCE):
            some = table.slice(start, AT_ONCE).combine_chunks().to_batches()[0]
            vectors, rows, reasons = self._vectors(some, smiles, start)
            if len(rows) < some.num_rows:
                some = some.take(pa.array(rows))
            arrays = [some.column(name) for name in schema.names[: -1 if self.on_error != "nan" else -2]]
            arrays.append(vectors_array(vectors))
            if self.on_error == "nan":
                arrays.append(pa.array([reasons.get(place) for place in range(len(rows))], pa.string()))
            parts.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
        return pa.Table.from_batches(parts, schema)

    def _vectors(self, some: Any, smiles: str | None, start: int) -> tuple[FloatArray, Any, dict[int, str]]:
        """Return vectors of some rows, which rows they are of, and what is wrong with bad ones."""
        graphs: RawBatch | list[Any]
        if smiles is not None:
            graphs = molecules_of_values(some.column(smiles).to_pylist())
        else:
            graphs = graphs_of_rows(some, "the block", start, "yield")
        policy = "nan" if self.on_error == "raise" else self.on_error
        embedding = self.transformer.embed(graphs, on_error=policy)
        if embedding.errors and self.on_error == "raise":
            place, reason = embedding.errors[0]
            ids = some.column("graph_id").to_pylist() if "graph_id" in some.schema.names else None
            name = "" if ids is None else f" (graph {ids[place]})"
            raise GraphError(reason, where=f"row {start + place} of the block{name}")
        if self.on_error == "skip":
            skipped = [(start + place, reason) for place, reason in embedding.errors]
            warn_skipped(skipped, len(embedding.rows), 'column "error" of on_error="nan"', stacklevel=5)
        return embedding.vectors, embedding.rows, dict(embedding.errors)
