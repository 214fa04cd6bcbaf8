"""`grnf distances`: d_P or kappa_P between graphs, as a matrix, for some pairs, or to the nearest graphs."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from grnf.cli.inputs import Sample, load_vectors
from grnf.cli.options import (
    Input,
    JsonRun,
    LikeFeatures,
    Output,
    check_probability,
    check_suffix,
    require,
)
from grnf.cli.tell import progress
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.collection import Collection
    from grnf.typing import FloatArray

__all__ = ["distances"]

BYTES_OF_ROWS = 2**25
"""Values that are held at a time."""


@dataclass(frozen=True)
class Matrix(Output):
    """Where `grnf distances` writes."""

    suffixes: ClassVar[tuple[str, ...]] = (".npy", ".csv")

    output: Annotated[
        str, typer.Option("--output", "-o", help="File to write: .npy or .csv; - for standard output.")
    ] = "-"


def distances(
    source: Sample,
    other: Annotated[
        str | None, typer.Argument(help="Graphs or vectors to compare with; by default SOURCE itself.")
    ] = None,
    *,
    kernel: Annotated[
        bool, typer.Option("--kernel", help="Compute the kernel kappa_P instead of distances.")
    ] = False,
    pairs: Annotated[
        Path | None, typer.Option(help="CSV file with two columns of ids: compute only these pairs.")
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(metavar="DELTA", help="With --pairs: add intervals with error probability DELTA."),
    ] = None,
    nearest: Annotated[
        int | None, typer.Option(min=1, metavar="K", help="Write only the K nearest of each graph.")
    ] = None,
    out: Matrix,
    reading: Input,
    features: LikeFeatures,
    run: JsonRun,
) -> None:
    """Compute distances or kernel values between graphs.

    The result is a matrix with a row for each graph of SOURCE and a column for each graph of OTHER. For more
    settings, embed the graphs with grnf embed first, and pass its vectors, or its .json file with --like. Use
    --format vectors if the file name does not show that a file holds vectors. With --kernel, the result is a
    Gram matrix for SVC(kernel="precomputed"), and the nearest graphs have the largest values.

    Example: grnf distances MUTAG.zip --nearest 5 --output nearest.csv
    """
    require(pairs is None or nearest is None, "give --pairs or --nearest, not both")
    require(interval is None or pairs is not None, "--interval needs --pairs")
    check_probability("--interval", interval)
    if out.output != "-" and (pairs is not None or nearest is not None):
        check_suffix("--output", out.output, (".csv",))
    out.check()
    from grnf import metric

    with run.threads():
        found = load_vectors([source] if other is None else [source, other], reading, features, run)
    if kernel:
        found = [_centered(collection) for collection in found]
    between = metric.pairwise_kernels if kernel else metric.pairwise_distances
    values = Values("kernel" if kernel else "distance", between, found[0], found[-1], run)
    if pairs is not None:
        values.write_pairs(out.output, pairs, interval)
    elif nearest is not None:
        values.write_nearest(out.output, nearest)
    else:
        values.write_matrix(out.output)
    shape = len(found[0]), len(found[-1])
    if out.output != "-":
        out.summarize({"graphs": shape}, run, f"{shape[0]:,} x {shape[1]:,} graphs")


def _centered(collection: Collection) -> Collection:
    """Subtract the vector of the null graph from vectors that were made without."""
    grnf = collection.transformer
    if grnf is None or grnf.center:
        return collection
    return replace(collection, vectors=collection.vectors - grnf.null_vector())


@dataclass(frozen=True, eq=False)
class Values:
    """Distances or kernel values between two collections, computed some rows at a time.

    Parameters
    ----------
    name : "distance" or "kernel"
        Title of the values in tables; the nearest have the smallest distance, or the largest kernel.
    between : function of two arrays of vectors
        All values between them.
    first, second : Collection
    run : JsonRun
        With `as_json`, tables are lines of JSON instead of CSV.
    """

    name: str
    between: Callable[[FloatArray, FloatArray], FloatArray]
    first: Collection
    second: Collection
    run: JsonRun

    def write_matrix(self, output: str) -> None:
        """Write all values: an array, or a table with a row for each graph of the first collection."""
        if output.endswith(".npy"):
            from grnf._utils.files import atomic_write, npy_header

            with atomic_write(output, "wb") as file:
                for start, rows in self.some_rows():
                    if start == 0:
                        file.write(npy_header((len(self.first), len(self.second)), rows.dtype))
                    file.write(rows.tobytes())
            return
        ids = self.first.ids
        columns = ["graph_id", self.name] if self.run.as_json else ["graph_id", *self.second.ids]
        with self._table(output, columns) as add:
            for start, rows in self.some_rows():
                for graph_id, row in zip(ids[start:], rows.tolist(), strict=False):
                    add(
                        [graph_id, [_number(value) for value in row]]
                        if self.run.as_json
                        else [graph_id, *row]
                    )

    def write_pairs(self, output: str, pairs: Path, interval: float | None) -> None:
        """Write the values of the pairs in a file, with intervals that fail with this probability."""
        import numpy as np

        if interval is not None and self.first.transformer is None:
            raise GraphError(
                f"the settings of these vectors are not known, since the file "
                f"{Path(self.first.name).name}.json is missing",
                where=self.first.name,
                cure="Pass them with --like",
            )
        sides = [(collection, _rows_of_ids(collection)) for collection in (self.first, self.second)]
        more = [] if interval is None else ["low", "high", "method"]
        with self._table(output, ["graph_1", "graph_2", self.name, *more]) as add:
            for line, names in enumerate(_read_pairs(pairs), start=1):
                x, y = (
                    np.asarray(side.vectors[_find(known, name, side, f"{pairs}, line {line}")], np.float64)
                    for name, (side, known) in zip(names, sides, strict=True)
                )
                value = float(self.between(x[np.newaxis], y[np.newaxis])[0, 0])
                bars = [] if interval is None else self._interval(x, y, interval)
                add([*names, _number(value), *bars])

    def _interval(self, x: FloatArray, y: FloatArray, delta: float) -> list[Any]:
        """Return the ends of the interval that the transformer of the vectors allows, and its method."""
        from grnf import metric

        if not math.isfinite(x.sum() + y.sum()):
            return [None, None, None]
        precision = self.first.transformer._precision()
        method = "betting" if math.isfinite(precision["largest_term"]) else "clt"
        estimate = metric.distance if self.name == "distance" else metric.kernel_estimate
        return [*estimate(x, y, **precision).interval(delta, method), method]

    def write_nearest(self, output: str, count: int) -> None:
        """Write for each graph of the first collection its nearest ones in the second, except itself."""
        import numpy as np

        ids, others = self.first.ids, self.second.ids
        with self._table(output, ["graph_id", "rank", "neighbor", self.name]) as add:
            for start, rows in self.some_rows():
                keys = -rows if self.name == "kernel" else rows
                for offset, (row, key) in enumerate(zip(rows, keys, strict=True)):
                    if self.first is self.second:
                        key[start + offset] = np.nan
                    order = np.argsort(key, kind="stable")[:count]
                    for rank, place in enumerate(order[~np.isnan(key[order])].tolist(), start=1):
                        add([ids[start + offset], rank, others[place], float(row[place])])

    def some_rows(self) -> Iterator[tuple[int, FloatArray]]:
        """Yield (first row, values of some rows), about 32 MB at a time."""
        X, Y = self.first.vectors, self.second.vectors
        step = max(1, BYTES_OF_ROWS // (8 * max(len(Y), 1)))
        with progress(self.name, self.run.quiet) as advance:
            for start in range(0, len(X), step):
                rows = self.between(X[start : start + step], Y)
                yield start, rows
                advance(len(rows))

    @contextmanager
    def _table(self, output: str, columns: list[str]) -> Iterator[Callable[[list[Any]], Any]]:
        """Give a function that adds a row to a CSV table, or an object to lines of JSON."""
        from grnf._utils.files import atomic_write

        with nullcontext(sys.stdout) if output == "-" else atomic_write(output) as file:
            if self.run.as_json:
                yield lambda row: file.write(json.dumps(dict(zip(columns, row, strict=True))) + "\n")
            else:
                table = csv.writer(file, lineterminator="\n")
                table.writerow(columns)
                yield lambda row: table.writerow([f"{v:.9g}" if isinstance(v, float) else v for v in row])
            file.flush()


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _read_pairs(path: Path) -> Iterator[list[str]]:
    with open(path, newline="", encoding="utf-8") as file:
        for line, row in enumerate(csv.reader(file), start=1):
            if len(row) != 2:
                raise GraphError(f"expected two ids, found {len(row)} columns", where=f"{path}, line {line}")
            yield [entry.strip() for entry in row]


def _rows_of_ids(collection: Collection) -> dict[str, int]:
    """Return the row of each id; -1 for ids that several graphs share."""
    rows: dict[str, int] = {}
    for row, graph_id in enumerate(collection.ids):
        rows[graph_id] = -1 if graph_id in rows else row
    return rows


def _find(rows: dict[str, int], graph_id: str, collection: Collection, where: str) -> int:
    row = rows.get(graph_id)
    if row is None or row < 0:
        what = "no graph" if row is None else "several graphs"
        raise GraphError(f"{collection.name} has {what} called {graph_id!r}", where=where)
    return row
