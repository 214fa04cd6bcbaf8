"""`grnf distances`: d_P or kappa_P between graphs, as a matrix, for some pairs, or to the nearest graphs."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from typer import Argument, Option

from grnf._utils.files import is_pipe
from grnf._utils.words import counted
from grnf.cli.graph_input import Input, Sample, holds_vectors
from grnf.cli.messages import progress
from grnf.cli.options import LikeFeatures, Output, Run, check_probability, require
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.collection import Collection
    from grnf.typing import FloatArray

__all__ = ["distances"]

ZERO, MOST_ZEROS = 1e-6, 1_000
"""Distances below the first count as 0. The second is the number of such pairs that are tested."""
BYTES_OF_ROWS = 2**25
"""Size of the rows of the matrix that are held in memory at a time."""


@dataclass(frozen=True)
class Matrix(Output):
    """Output options of `grnf distances`."""

    suffixes: ClassVar[tuple[str, ...]] = (".npy", ".csv")

    helps: ClassVar[dict[str, str]] = {
        "output": "File to write: .npy or .csv, or with --nearest and --pairs .csv, .json or .parquet. - for "
        "standard output."
    }


def distances(
    source: Sample,
    other: Annotated[
        str | None, Argument(help="Graphs or vectors to compare with. By default SOURCE itself.")
    ] = None,
    *,
    kernel: Annotated[
        bool, Option("--kernel", help="Compute the kernel kappa_P instead of distances.")
    ] = False,
    pairs: Annotated[
        Path | None,
        Option(help="CSV file with two columns of ids: compute only these pairs."),
    ] = None,
    exact: Annotated[
        bool,
        Option("--exact", help="Compute distances of infinitely many hidden channels, without sampling."),
    ] = False,
    confidence: Annotated[
        float | None,
        Option(metavar="P", help="With --pairs: add intervals that contain the value with probability P."),
    ] = None,
    nearest: Annotated[
        int | None, Option(min=1, metavar="K", help="Write only the K nearest of each graph.")
    ] = None,
    out: Matrix,
    reading: Input,
    features: LikeFeatures,
    run: Run,
) -> None:
    """Compute distances or kernel values between graphs.

    The result is a matrix with a row for each graph of SOURCE and a column for each graph of OTHER. For more
    settings, embed the graphs with grnf embed first, and pass its vectors, or its .json file with --like. Use
    --format vectors if the file name does not show that a file holds vectors. With --kernel, the result is a
    Gram matrix for SVC(kernel="precomputed"), and the nearest graphs have the largest values.

    The file of --pairs may begin with a header.

    With --exact, nothing is sampled: the distance is that of infinitely many hidden channels, which is close
    to d_P. The whole matrix is held in memory, except with --pairs.

    Examples:
      grnf distances MUTAG.zip --output distances.npy
      grnf distances train.parquet test.smi --nearest 5 --output nearest.csv
    """
    require(pairs is None or nearest is None, "give --pairs or --nearest, not both")
    require(confidence is None or pairs is not None, "--confidence needs --pairs")
    require(not exact or confidence is None, "--exact has no interval: leave --confidence out")
    check_probability("--confidence", confidence)
    is_table = pairs is not None or nearest is not None
    (Output(out.output, out.force) if is_table else out).check()
    names = [source] if other is None else [source, other]
    name = "kernel" if kernel else "distance"
    reading = reading.as_in(features, *names)
    with run.threads():
        collections = reading.collections(names, run) if exact else reading.vectors(names, features, run)
    if kernel and not exact:
        collections = [_centered(collection) for collection in collections]
    first, second = collections[0], collections[-1]
    zeros: set[tuple[int, int]] = set()
    exactly = _exact(collections, name, features) if exact else None
    rows = _rows(first, second, name, run) if exactly is None else _exact_rows(exactly, first, second)
    if name == "distance":
        rows = _noting_zeros(rows, first is second, zeros)
    if pairs is not None:
        columns = ["graph_1", "graph_2", name, *([] if confidence is None else ["low", "high", "method"])]
        if confidence is not None and not kernel and _can_be_read_again(names):
            first = _with_graphs(first, reading, run)
            second = first if other is None else _with_graphs(second, reading, run)
        out.write(columns, _pairs(pairs, first, second, name, confidence, zeros, exactly), run.as_json)
    elif nearest is not None:
        records = _nearest(rows, first, second, name, nearest)
        out.write(["graph_id", "rank", "neighbor", name], records, run.as_json)
    elif out.output.endswith(".npy"):
        _write_array(out.output, rows, (len(first), len(second)))
    else:
        _write_matrix(out, rows, first, second, name, run.as_json)
    _report_zeros(zeros, names, (first, second), reading, run)
    if out.output != "-":
        shape = len(first), len(second)
        out.summarize({"graphs": shape}, run, f"{shape[0]:,} x {shape[1]:,} graphs")


def _centered(collection: Collection) -> Collection:
    """Subtract the vector of the null graph from vectors that were made without."""
    grnf = collection.transformer
    if grnf is None or grnf.center:
        return collection
    return replace(collection, vectors=collection.vectors - grnf.null_vector())


def _rows(first: Collection, second: Collection, name: str, run: Run) -> Iterator[tuple[int, FloatArray]]:
    """Yield (first row, some rows of the matrix), about 32 MB at a time."""
    from grnf import metric

    between = metric.pairwise_kernels if name == "kernel" else metric.pairwise_distances
    step = max(1, BYTES_OF_ROWS // (8 * max(len(second), 1)))
    with progress(name, run.quiet) as advance:
        for start in range(0, len(first), step):
            rows = between(first.vectors[start : start + step], second.vectors)
            yield start, rows
            advance(len(rows))


def _exact(collections: Sequence[Collection], name: str, features: LikeFeatures) -> Callable[..., FloatArray]:
    """Return the function that computes exact values of graphs."""
    if not all(collection.graphs for collection in collections):
        raise GraphError("--exact needs graphs, not vectors", where=collections[0].name)
    grnf = features.transformer().fit([graph for each in collections for graph in each.graphs or ()])
    return partial(grnf.pairwise_kernels if name == "kernel" else grnf.pairwise_distances, exact=True)


def _exact_rows(
    exactly: Callable[..., FloatArray], first: Collection, second: Collection
) -> Iterator[tuple[int, FloatArray]]:
    """Yield the whole matrix of exact values."""
    sides = [first] if first is second else [first, second]
    yield 0, exactly(*(list(side.graphs or ()) for side in sides))


def _noting_zeros(
    rows: Iterator[tuple[int, FloatArray]], same: bool, zeros: set[tuple[int, int]]
) -> Iterator[tuple[int, FloatArray]]:
    """Pass rows on, and note pairs of different graphs with distance 0."""
    import numpy as np

    for start, some in rows:
        for row, column in np.argwhere(some < ZERO).tolist():
            if len(zeros) < MOST_ZEROS and not (same and column <= start + row):
                zeros.add((start + row, column))
        yield start, some


def _can_be_read_again(names: list[str]) -> bool:
    return not any(name == "-" or is_pipe(name) for name in names)


def _report_zeros(
    zeros: set[tuple[int, int]],
    names: list[str],
    sides: tuple[Collection, Collection],
    reading: Input,
    run: Run,
) -> None:
    """Print a note if graphs at distance 0 are not isomorphic. The graphs are read again."""
    if (
        not zeros
        or not _can_be_read_again(names)
        or any(holds_vectors(name, reading.format) for name in names)
    ):
        return
    chosen: list[dict[int, Any]] = []
    for position in (0, -1):
        rows, count = {pair[position] for pair in zeros}, 0
        with reading.open(names[position], run) as source:
            chosen.append({})
            for *_, graph in source.usable(reading.on_error, []):
                if count in rows:
                    chosen[-1][count] = graph
                count += 1
        if count != len(sides[position]):  # some have no vector, so rows are others
            return
    from grnf.estimators import GRNF

    fitted = GRNF(1).fit([graph for side in chosen for graph in side.values()])
    found = [(i, j) for i, j in sorted(zeros) if fitted._are_different(chosen[0][i], chosen[1][j])]
    if found:
        first, second = sides[0].ids[found[0][0]], sides[1].ids[found[0][1]]
        run.note(
            f"grnf: distance 0 of graphs that are not isomorphic: {counted(len(found), 'pairs')}, for "
            f"example {first} and {second}. A larger order, for example --orders 1:1/3,2:1/3,3:1/3, may "
            "distinguish them"
        )


def _write_array(output: str, rows: Iterator[tuple[int, FloatArray]], shape: tuple[int, int]) -> None:
    from grnf._utils.files import atomic_write, npy_header

    with atomic_write(output, "wb") as file:
        for start, some in rows:
            if start == 0:
                file.write(npy_header(shape, some.dtype))
            file.write(some.tobytes())


def _write_matrix(
    out: Output,
    rows: Iterator[tuple[int, FloatArray]],
    first: Collection,
    second: Collection,
    name: str,
    as_json: bool,
) -> None:
    """Write CSV with a column for each graph, or lines of JSON with a list for each row."""
    from grnf._utils.files import atomic_write
    from grnf._utils.result_tables import safe_text

    safe = safe_text if out.safe_csv else str
    with nullcontext(sys.stdout) if out.output == "-" else atomic_write(out.output) as file:
        table = csv.writer(file, lineterminator="\n")
        if not as_json:
            table.writerow(["graph_id", *map(safe, second.ids)])
        for start, some in rows:
            for graph_id, row in zip(first.ids[start:], some.tolist(), strict=False):
                if as_json:
                    values = [None if math.isnan(value) else value for value in row]
                    file.write(json.dumps({"graph_id": graph_id, name: values}) + "\n")
                else:
                    table.writerow([safe(graph_id), *(f"{value:.9g}" for value in row)])
        file.flush()


def _nearest(
    rows: Iterator[tuple[int, FloatArray]], first: Collection, second: Collection, name: str, count: int
) -> Iterator[dict[str, Any]]:
    """Yield for each graph of the first collection its nearest ones in the second, except itself."""
    import numpy as np

    for start, some in rows:
        keys = -some if name == "kernel" else some
        for number, (row, key) in enumerate(zip(some, keys, strict=True), start=start):
            if first is second:
                key[number] = np.nan
            order = np.argsort(key, kind="stable")[:count]
            for rank, column in enumerate(order[~np.isnan(key[order])].tolist(), start=1):
                neighbor, value = second.ids[column], float(row[column])
                yield {"graph_id": first.ids[number], "rank": rank, "neighbor": neighbor, name: value}


def _with_graphs(collection: Collection, reading: Input, run: Run) -> Collection:
    """Read the graphs of vectors again, for the upper bounds of distances. Bad ones were reported before."""
    graphs = reading.collection(collection.name, replace(run, quiet=True))
    if graphs.graphs is None or graphs.ids != collection.ids:
        return collection
    return replace(collection, graphs=list(graphs.graphs))


def _pairs(
    path: Path,
    first: Collection,
    second: Collection,
    name: str,
    confidence: float | None,
    zeros: set[tuple[int, int]],
    exactly: Callable[..., FloatArray] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the values of the pairs in a file, with intervals of this confidence, and note zeros."""
    from grnf import metric

    precision = {}
    if confidence is not None:
        if first.transformer is None:
            raise GraphError(
                f"the settings of these vectors are not known, since the file "
                f"{Path(first.name).name}.json is missing",
                where=first.name,
                cure="Pass them with --like",
            )
        precision = first.transformer._precision()
    estimate = metric.distance if name == "distance" else metric.kernel_estimate
    sides = [(collection, _rows_of_ids(collection)) for collection in (first, second)]
    for line, ids in _read_pairs(path):
        if line == 1 and not any(graph_id in rows for graph_id, (_, rows) in zip(ids, sides, strict=True)):
            continue  # a header
        i, j = (
            _row(rows, graph_id, side.name, f"{path}, line {line}")
            for graph_id, (side, rows) in zip(ids, sides, strict=True)
        )
        if exactly is not None and first.graphs and second.graphs:
            exact_value = float(exactly([first.graphs[i]], [second.graphs[j]])[0, 0])
            if name == "distance" and exact_value < ZERO and len(zeros) < MOST_ZEROS:
                zeros.add((i, j))
            yield {"graph_1": ids[0], "graph_2": ids[1], name: exact_value}
            continue
        x, y = first.vectors[i], second.vectors[j]
        value = estimate(x, y, **precision) if math.isfinite(x.sum() + y.sum()) else None
        if name == "distance" and value is not None and value.value < ZERO and len(zeros) < MOST_ZEROS:
            zeros.add((i, j))
        record = {"graph_1": ids[0], "graph_2": ids[1], name: None if value is None else value.value}
        if isinstance(value, metric.DistanceEstimate) and first.graphs and second.graphs:
            graphs = first.graphs[i], second.graphs[j]
            value = replace(value, upper=partial(first.transformer._upper_bound, *graphs))
        if confidence is not None:
            method = "betting" if math.isfinite(precision["largest_term"]) else "clt"
            low, high = (None, None) if value is None else value.interval(confidence, method)
            record |= {"low": low, "high": high, "method": None if value is None else method}
        yield record


def _read_pairs(path: Path) -> Iterator[tuple[int, list[str]]]:
    with open(path, newline="", encoding="utf-8") as file:
        for line, row in enumerate(csv.reader(file), start=1):
            if len(row) != 2:
                raise GraphError(f"expected two ids, found {len(row)} columns", where=f"{path}, line {line}")
            yield line, [entry.strip() for entry in row]


def _rows_of_ids(collection: Collection) -> dict[str, int]:
    """Return the row of each id, -1 for ids that several graphs share."""
    rows: dict[str, int] = {}
    for row, graph_id in enumerate(collection.ids):
        rows[graph_id] = -1 if graph_id in rows else row
    return rows


def _row(rows: dict[str, int], graph_id: str, name: str, where: str) -> int:
    row = rows.get(graph_id)
    if row is None or row < 0:
        number = "no graph" if row is None else "several graphs"
        raise GraphError(f"{name} has {number} called {graph_id!r}", where=where)
    return row
