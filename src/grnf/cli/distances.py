"""`grnf distances`: d_P or kappa_P between graphs, as a matrix, for some pairs, or to the nearest graphs."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from grnf._utils.files import is_pipe
from grnf._utils.words import counted
from grnf.cli.graph_input import Sample, VectorJob, holds_vectors
from grnf.cli.messages import progress
from grnf.cli.options import check_new, check_probability, require
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.collection import Collection
    from grnf.typing import FloatArray

ZERO, MOST_ZEROS = 1e-6, 1_000
"""Distances below the first count as 0. The second is the number of such pairs that are tested."""
Pair = tuple[list[str], tuple[int, int]]
"""The ids of two graphs, and their rows."""
BYTES_OF_ROWS = 2**25
"""Size of the rows of the matrix that are held in memory at a time."""


@dataclass(frozen=True)
class Matrix(VectorJob, panel="Method"):
    """Options of `grnf distances`."""

    output: Annotated[
        str,
        "-o",
        "File to write: .npy or .csv, or with --nearest and --pairs .csv, .json or .parquet. - for standard "
        "output.",
    ] = "-"
    pairs: Annotated[Path | None, "CSV file with two columns of ids: compute only these pairs."] = None
    nearest: Annotated[int | None, "K", "Write only the K nearest of each graph.", {"min": 1}] = None

    def check_output(self) -> None:
        """Refuse a file whose name has not the suffix of a table or of a matrix, or that exists already."""
        is_matrix = self.pairs is None and self.nearest is None
        check_new("--output", self.output, (".npy", ".csv") if is_matrix else self.suffixes, self.force)


def distances(
    source: Sample,
    other: Annotated[str | None, "Graphs or vectors to compare with. By default SOURCE itself."] = None,
    *,
    kernel: Annotated[bool, "Compute the kernel kappa_P instead of distances."] = False,
    exact: Annotated[bool, "Compute distances of infinitely many hidden channels, without sampling."] = False,
    confidence: Annotated[
        float | None, "P", "With --pairs: add intervals that contain the value with probability P."
    ] = None,
    job: Matrix,
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
    require(job.pairs is None or job.nearest is None, "give --pairs or --nearest, not both")
    require(confidence is None or job.pairs is not None, "--confidence needs --pairs")
    require(not exact or confidence is None, "--exact has no interval: leave --confidence out")
    check_probability("--confidence", confidence)
    names = [source] if other is None else [source, other]
    name = "kernel" if kernel else "distance"
    job = job.as_in(*names)
    sides = job.collections(names) if exact else job.vectors(names)
    exactly = _exact(sides, name, job) if exact else None
    if kernel and not exact:
        sides = [_centered(side) for side in sides]
    first, second = sides[0], sides[-1]
    zeros: set[tuple[int, int]] = set()
    rows = _rows(first, second, name, exactly, zeros, job.quiet)
    if job.pairs is not None:
        columns = ["graph_1", "graph_2", name, *([] if confidence is None else ["low", "high", "method"])]
        pairs: Iterable[Pair] = _read_pairs(job.pairs, first, second)
        graphs = None
        if confidence is not None and not kernel:
            pairs = list(pairs)
            graphs = _read_again([rows for _, rows in pairs], names, sides, job)
        job.write(columns, _pairs(pairs, first, second, name, confidence, exactly, graphs, zeros))
    elif job.nearest is not None:
        records = _nearest(rows, first, second, name, job.nearest)
        job.write(["graph_id", "rank", "neighbor", name], records)
    elif job.output.endswith(".npy"):
        _write_array(job.output, rows, (len(first), len(second)))
    else:
        _write_matrix(job, rows, first, second, name)
    if zeros:
        _report_zeros(sorted(zeros), names, sides, job)
    if job.output != "-":
        shape = len(first), len(second)
        job.summarize({"graphs": shape}, f"{shape[0]:,} x {shape[1]:,} graphs")


def _centered(collection: Collection) -> Collection:
    """Subtract the vector of the null graph from vectors that were made without."""
    grnf = collection.transformer
    if grnf is None or grnf.center:
        return collection
    return replace(collection, vectors=collection.vectors - grnf.null_vector())


def _exact(sides: Sequence[Collection], name: str, job: Matrix) -> Callable[..., FloatArray]:
    """Return the function that computes exact values of graphs."""
    if not all(side.graphs for side in sides):
        raise GraphError("--exact needs graphs, not vectors", where=sides[0].name)
    grnf = job.transformer().fit([graph for side in sides for graph in side.graphs])
    return partial(grnf.pairwise_kernels if name == "kernel" else grnf.pairwise_distances, exact=True)


def _rows(
    first: Collection,
    second: Collection,
    name: str,
    exactly: Callable[..., FloatArray] | None,
    zeros: set[tuple[int, int]],
    quiet: bool,
) -> Iterator[tuple[int, FloatArray]]:
    """Yield (first row, some rows of the matrix), about 32 MB at a time. Note pairs of graphs at distance 0.

    An exact matrix comes as a whole.
    """
    import numpy as np

    from grnf import metric

    between = metric.pairwise_kernels if name == "kernel" else metric.pairwise_distances
    sides = [first] if first is second else [first, second]
    step = max(1, BYTES_OF_ROWS // (8 * max(len(second), 1))) if exactly is None else len(first)
    with progress(name, quiet) as advance:
        for start in range(0, len(first), step):
            if exactly is None:
                rows = between(first.vectors[start : start + step], second.vectors)
            else:
                rows = exactly(*(side.graphs for side in sides))
            for row, column in np.argwhere(rows < ZERO).tolist() if name == "distance" else ():
                if len(zeros) < MOST_ZEROS and not (first is second and column <= start + row):
                    zeros.add((start + row, column))
            yield start, rows
            advance(len(rows))


def _read_again(
    pairs: Sequence[tuple[int, int]], names: Sequence[str], sides: Sequence[Collection], job: Matrix
) -> list[dict[int, Any]] | None:
    """Read the graphs of pairs of rows again. Return None for vectors, pipes, and graphs without vectors."""
    job, found = replace(job, quiet=True), []
    for at, (name, side) in enumerate(zip(names, sides, strict=True)):
        wanted = {row for pair in pairs for row in (pair if len(names) == 1 else pair[at : at + 1])}
        if name == "-" or is_pipe(name) or holds_vectors(name, job.format):
            return None
        own, ids = {}, []
        with job.open(name) as source:
            for row, (_, graph_id, graph) in enumerate(source.usable(job.on_error, [])):
                ids.append(graph_id)
                if row in wanted:
                    own[row] = graph
        if ids != side.ids:
            return None
        found.append(own)
    return [found[0], found[-1]]


def _report_zeros(
    zeros: list[tuple[int, int]], names: Sequence[str], sides: Sequence[Collection], job: Matrix
) -> None:
    """Print a note if graphs at distance 0 are not isomorphic."""
    from grnf.estimators import GRNF

    graphs = _read_again(zeros, names, sides, job)
    if graphs is None:
        return
    fitted = GRNF(1).fit([graph for side in graphs for graph in side.values()])
    found = [(i, j) for i, j in zeros if fitted._are_different(graphs[0][i], graphs[1][j])]
    if found:
        first, second = sides[0].ids[found[0][0]], sides[-1].ids[found[0][1]]
        job.note(
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
    job: Matrix, rows: Iterator[tuple[int, FloatArray]], first: Collection, second: Collection, name: str
) -> None:
    """Write CSV with a column for each graph, or lines of JSON with a list for each row."""
    from grnf._utils.files import atomic_write
    from grnf._utils.result_tables import safe_text

    safe = safe_text if job.safe_csv else str
    with nullcontext(sys.stdout) if job.output == "-" else atomic_write(job.output) as file:
        table = csv.writer(file, lineterminator="\n")
        if not job.as_json:
            table.writerow(["graph_id", *map(safe, second.ids)])
        for start, some in rows:
            for graph_id, row in zip(first.ids[start:], some.tolist(), strict=False):
                if job.as_json:
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


def _pairs(
    pairs: Iterable[Pair],
    first: Collection,
    second: Collection,
    name: str,
    confidence: float | None,
    exactly: Callable[..., FloatArray] | None,
    graphs: list[dict[int, Any]] | None,
    zeros: set[tuple[int, int]],
) -> Iterator[dict[str, Any]]:
    """Yield the values of pairs, with intervals of this confidence, and note zeros.

    `graphs` are those of the rows, for the upper bounds of distances.
    """
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
    for ids, (i, j) in pairs:
        value = low = high = method = None
        if exactly is not None:
            value = float(exactly([first.graphs[i]], [second.graphs[j]])[0, 0])
        elif math.isfinite(first.vectors[i].sum() + second.vectors[j].sum()):
            found: Any = estimate(first.vectors[i], second.vectors[j], **precision)
            value = found.value
            if confidence is not None:
                if graphs is not None:
                    bound = partial(first.transformer._upper_bound, graphs[0][i], graphs[1][j])
                    found = replace(found, upper=bound)
                method = "betting" if math.isfinite(precision["largest_term"]) else "clt"
                low, high = found.interval(confidence, method)
        if name == "distance" and value is not None and value < ZERO and len(zeros) < MOST_ZEROS:
            zeros.add((i, j))
        record = {"graph_1": ids[0], "graph_2": ids[1], name: value}
        yield record if confidence is None else {**record, "low": low, "high": high, "method": method}


def _read_pairs(path: Path, first: Collection, second: Collection) -> Iterator[Pair]:
    """Yield the ids of the pairs in a file and their rows. A first line without a known id is a header."""
    rows: list[dict[str, list[int]]] = [{}, {}]
    for known, side in zip(rows, (first, second), strict=True):
        for row, name in enumerate(side.ids):
            known.setdefault(name, []).append(row)
    with open(path, newline="", encoding="utf-8") as file:
        for line, entries in enumerate(csv.reader(file), start=1):
            where, ids = f"{path}, line {line}", [entry.strip() for entry in entries]
            if len(ids) != 2:
                raise GraphError(f"expected two ids, found {len(ids)} columns", where=where)
            found = [known.get(name, []) for name, known in zip(ids, rows, strict=True)]
            if line == 1 and not any(found):
                continue
            for name, side, own in zip(ids, (first, second), found, strict=True):
                if len(own) != 1:
                    number = "several graphs" if own else "no graph"
                    raise GraphError(f"{side.name} has {number} called {name!r}", where=where)
            yield ids, (found[0][0], found[1][0])
