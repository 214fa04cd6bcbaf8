"""What `grnf distances` and `grnf kernel` do: matrices, pairs and nearest graphs, some rows at a time."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from grnf.cli.collections import load_collections
from grnf.cli.options import check_free, workers
from grnf.cli.tell import progress
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.collection import Collection
    from grnf.typing import FloatArray

__all__ = ["FirstArgument", "Interval", "Nearest", "PairsFile", "SecondArgument", "Target", "compare"]

FirstArgument = Annotated[
    str, typer.Argument(help="Graphs (- for standard input), or vectors made by grnf embed.")
]
SecondArgument = Annotated[
    str | None, typer.Argument(help="Graphs or vectors to compare with; by default SOURCE itself.")
]
Target = Annotated[
    str, typer.Option("--output", "-o", help="Where to write: .npy, .csv, or - for standard output.")
]
PairsFile = Annotated[
    Path | None, typer.Option("--pairs", help="CSV file of two columns, ids of graphs: only these pairs.")
]
Nearest = Annotated[
    int | None, typer.Option("--nearest", min=1, metavar="K", help="Only the K nearest of each graph.")
]
Interval = Annotated[
    float | None,
    typer.Option(
        "--interval", metavar="DELTA", help="With --pairs: add intervals that fail with this probability."
    ),
]

BYTES_OF_ROWS = 2**25
"""Values that are held at a time."""


def compare(name: str, options: dict[str, Any]) -> None:
    """Write distances or kernel values between graphs, as the options of the command say.

    Parameters
    ----------
    name : "distance" or "kernel"
    options : dict
        All options of the command, by the names of its parameters.
    """
    output, pairs, nearest, interval = (options[key] for key in ("output", "pairs", "nearest", "interval"))
    as_json, quiet = options["as_json"], options["quiet"]
    if pairs is not None and nearest is not None:
        raise typer.BadParameter("give --pairs or --nearest, not both")
    suffixes = (".csv",) if pairs is not None or nearest is not None else (".npy", ".csv")
    if output != "-" and Path(output).suffix not in suffixes:
        raise typer.BadParameter(
            f"{output}: the name must end in {' or '.join(suffixes)}", param_hint="--output"
        )
    if interval is not None and (pairs is None or not 0 < interval < 1):
        raise typer.BadParameter("needs --pairs, and lies between 0 and 1", param_hint="--interval")
    if output != "-":
        check_free(output, options["force"])
    from grnf import metric

    settings = {key: options[key] for key in ("n_components", "orders", "seed")}
    where = {key: options[key] for key in ("format", "like", "quiet")}
    with workers(options["n_jobs"]):
        found = load_collections(options["source"], options["other"], settings=settings, **where)
        if name == "kernel":
            found = [_centred(collection) for collection in found]
    between = metric.pairwise_distances if name == "distance" else metric.pairwise_kernels
    values = Values(name, between, found[0], found[-1], as_json, quiet)
    if pairs is not None:
        values.write_pairs(output, pairs, interval)
    elif nearest is not None:
        values.write_nearest(output, nearest)
    else:
        values.write_matrix(output)
    shape = [len(found[0].ids), len(found[-1].ids)]
    if output != "-" and as_json:
        typer.echo(json.dumps({"output": output, "graphs": shape}))
    elif output != "-" and not quiet:
        typer.echo(f"{shape[0]:,} x {shape[1]:,} graphs: {output}")


@dataclass(frozen=True, eq=False)
class Values:
    """Distances or kernel values between two collections, never more than some rows of them at a time.

    Parameters
    ----------
    name : str
        What the values are called in tables; the nearest have the smallest distance, or the largest kernel.
    between : function of two arrays of vectors
        All values between them.
    first, second : Collection
    as_json : bool
        Lines of JSON in place of CSV tables.
    quiet : bool
    """

    name: str
    between: Callable[[FloatArray, FloatArray], FloatArray]
    first: Collection
    second: Collection
    as_json: bool = False
    quiet: bool = False

    def write_matrix(self, output: str) -> None:
        """Write all values: an array, or a table with a row for each graph of the first collection."""
        if output.endswith(".npy"):
            from grnf._utils.files import atomic_write, npy_header

            with atomic_write(output, "wb") as file:
                for start, rows in self.some_rows():
                    if start == 0:
                        file.write(npy_header((len(self.first.ids), len(self.second.ids)), rows.dtype))
                    file.write(rows.tobytes())
            return
        columns = ["graph_id", self.name] if self.as_json else ["graph_id", *self.second.ids]
        with self._table(output, columns) as add:
            for start, rows in self.some_rows():
                for graph_id, row in zip(self.first.ids[start:], rows.tolist(), strict=False):
                    add([graph_id, [_number(value) for value in row]] if self.as_json else [graph_id, *row])

    def write_pairs(self, output: str, pairs: Path, interval: float | None) -> None:
        """Write the values of the pairs in a file, with intervals that fail with this probability."""
        import numpy as np

        grnf = self.first.transformer
        if interval is not None and grnf is None:
            raise GraphError(
                f"{self.first.name}: the settings of these vectors are not known, since the file "
                f"{Path(self.first.name).name}.json is missing; say them with --like"
            )
        first, second = _positions(self.first), _positions(self.second)
        more = [] if interval is None else ["low", "high", "method"]
        with self._table(output, ["graph_1", "graph_2", self.name, *more]) as add:
            for line, (one, two) in enumerate(_read_pairs(pairs), start=1):
                x = np.asarray(
                    self.first.vectors[_find(first, one, self.first, pairs, line)], dtype=np.float64
                )
                y = np.asarray(
                    self.second.vectors[_find(second, two, self.second, pairs, line)], dtype=np.float64
                )
                value = float(self.between(x[np.newaxis], y[np.newaxis])[0, 0])
                bars = [] if interval is None else self._interval(x, y, interval)
                add([one, two, _number(value), *bars])

    def _interval(self, x: FloatArray, y: FloatArray, delta: float) -> list[Any]:
        """Return the ends of the interval that the transformer of the vectors allows, and its method."""
        from grnf import metric

        grnf: Any = self.first.transformer
        if not math.isfinite(x.sum() + y.sum()):
            return [None, None, None]
        method = "betting" if math.isfinite(grnf.largest_term_) else "clt"
        estimate = metric.distance if self.name == "distance" else metric.kernel_estimate
        found = estimate(x, y, activation=grnf.activation, largest_term=grnf.largest_term_, heads=grnf.heads)
        return [*found.interval(delta, method), method]

    def write_nearest(self, output: str, count: int) -> None:
        """Write for each graph of the first collection its nearest ones in the second, itself left out."""
        import numpy as np

        with self._table(output, ["graph_id", "rank", "neighbour", self.name]) as add:
            for start, rows in self.some_rows():
                keys = -rows if self.name == "kernel" else rows
                for offset, (row, key) in enumerate(zip(rows, keys, strict=True)):
                    if self.first is self.second:
                        key[start + offset] = np.nan
                    order = np.argsort(key, kind="stable")[:count]
                    near = [place for place in order.tolist() if not np.isnan(key[place])]
                    for rank, place in enumerate(near, start=1):
                        add([self.first.ids[start + offset], rank, self.second.ids[place], float(row[place])])

    def some_rows(self) -> Iterator[tuple[int, FloatArray]]:
        """Yield (first row, values of some rows), so many that they take about 32 MB."""
        X, Y = self.first.vectors, self.second.vectors
        step = max(1, BYTES_OF_ROWS // (8 * max(len(Y), 1)))
        with progress(self.name, self.quiet) as advance:
            for start in range(0, len(X), step):
                rows = self.between(X[start : start + step], Y)
                yield start, rows
                advance(len(rows))

    @contextmanager
    def _table(self, output: str, columns: list[str]) -> Iterator[Callable[[list[Any]], Any]]:
        """Give a function that adds a row to a CSV table, or an object to lines of JSON."""
        from grnf._utils.files import atomic_write

        if output == "-":
            yield self._adder(sys.stdout, columns)
            sys.stdout.flush()
        else:
            with atomic_write(output) as file:
                yield self._adder(file, columns)

    def _adder(self, file: IO[str], columns: list[str]) -> Callable[[list[Any]], Any]:
        if self.as_json:
            return lambda row: file.write(json.dumps(dict(zip(columns, row, strict=True))) + "\n")
        table = csv.writer(file, lineterminator="\n")
        table.writerow(columns)
        return lambda row: table.writerow([f"{v:.9g}" if isinstance(v, float) else v for v in row])


def _centred(collection: Collection) -> Collection:
    """Subtract the vector of the null graph from vectors that were made without."""
    grnf = collection.transformer
    if grnf is None or grnf.center:
        return collection
    return replace(collection, vectors=collection.vectors - grnf.null_vector())


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _read_pairs(path: Path) -> Iterator[list[str]]:
    with open(path, newline="", encoding="utf-8") as file:
        for line, row in enumerate(csv.reader(file), start=1):
            if len(row) != 2:
                raise GraphError(f"{path}, line {line}: two ids are wanted, {len(row)} columns found")
            yield [entry.strip() for entry in row]


def _positions(collection: Collection) -> dict[str, int]:
    """Return the row of each id; -1 for ids that several graphs share."""
    places: dict[str, int] = {}
    for row, graph_id in enumerate(collection.ids):
        places[graph_id] = -1 if graph_id in places else row
    return places


def _find(places: dict[str, int], graph_id: str, collection: Collection, path: Path, line: int) -> int:
    row = places.get(graph_id)
    if row is None or row < 0:
        what = "has no graph" if row is None else "has several graphs"
        raise GraphError(f"{path}, line {line}: {collection.name} {what} called {graph_id!r}")
    return row
