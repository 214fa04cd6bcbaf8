"""Adjacency matrices, as measured networks come: numpy, MATLAB, Matrix Market, tables of numbers.

A file holds one matrix or many: a stack of shape (graphs, n, n), or (n, n, graphs) as MATLAB has them, or
square arrays of any sizes, called by their names. `grnf.io.from_arrays` defines what entries mean.

MATLAB files (versions 5 to 7) and Matrix Market files are read by scipy once the sizes that they claim were
checked. Damage can end the process within `scipy.io.loadmat` and `mmread`. With `isolated=True` they run in a
process of their own, so that a crash is an error about the file.

Numbers in a text are separated by commas, tabs, semicolons or blanks. A first row or column of names, as
pandas writes them, becomes the node column "name", unless the names only count the nodes. Rows are read one
at a time, and only entries other than 0 are kept.
"""

from __future__ import annotations

import csv
import io
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from functools import cache
from itertools import chain, islice
from typing import IO, Any, TypeAlias, cast

import numpy as np

from grnf._utils.memory import check_graph_memory, check_memory
from grnf.errors import GraphError
from grnf.io.files.file import File, OnError, decoded, each_record
from grnf.io.files.graph_rows import graph_of_row
from grnf.io.files.limits import (
    LONGEST_LINE,
    MOST_EMPTY_GRAPHS,
    SMALL_MEMBER,
    Member,
    open_archive,
)
from grnf.io.files.npz import ArrayStream
from grnf.io.files.values import number, scalar_y
from grnf.io.from_arrays import OTHER_NAMES, USED, batch_from_matrices
from grnf.io.raw import BadGraph, RawGraph
from grnf.typing import FloatArray

NUMPY, ZIP = b"\x93NUMPY", b"PK"
MATLAB, HDF = b"MATLAB 5.0", (b"MATLAB 7.3", b"\x89HDF")
MARKET = b"%%MatrixMarket"
HEAD, PACKED = 128, 15
"""Bytes before the first variable of a MATLAB file, and the type of a packed one."""
LEAST_BYTES = 2
"""Of an entry: a digit and a blank."""
COMMENTS = ("#", "%")
LONGEST_WAIT = 600
"""Seconds for a file in a process of its own."""
TARGETS = ("y", "Y", "label", "labels", "target", "targets")
"""Names of an array with a target for each graph of a stack."""
SPARSE = {"indices", "indptr", "row", "col", "offsets", "data", "shape", "format", "_is_array"}
"""Members of a file that scipy.sparse.save_npz has written."""

_Record: TypeAlias = tuple[str, str | None, Any]


def read_matrices(
    source: File, *, array: str | None = None, y: str | None = None, on_error: OnError = "raise"
) -> Iterator[RawGraph | BadGraph]:
    """Yield the graphs of a file of adjacency matrices.

    Of several arrays, `array` names that of matrices, by default the only stack, or all square arrays. `y`
    names that with a target for each graph of the stack, by default y, label(s) or target(s) if it has that
    length.
    """
    with source.open(recode=False) as file:
        head = file.read(16)
        file.seek(0)
        if head.startswith(ZIP):
            records = _of_archive(file, source, array, y)
        elif head.startswith((MATLAB, *HDF)):
            records = _of_matlab(source, head, array, y)
        elif array is not None or y is not None:
            raise GraphError(f"{source} holds one array: array= and y= name those of .npz and .mat files")
        elif head.startswith(NUMPY):
            records = _of_array(ArrayStream(file, str(source)), None, str(source), {})
        else:
            records = iter([(str(source), None, source)])
        yield from each_record(records, _graph, on_error)


def holds_matrices(source: File) -> bool:
    """Whether a .npy file holds numbers, or a .npz file is not in the format of `write_graphs`."""
    with source.open(recode=False) as file:
        if file.read(2) == ZIP:
            with open_archive(file, str(source)) as archive:
                return "grnf_format.npy" not in archive.namelist()
        return ArrayStream(file, str(source)).dtype.kind in "biuf"


def _graph(content: File | dict[str, Any] | tuple[Any, str | None, Any]) -> RawGraph:
    """Return the graph of a matrix, with its name and target, of a text, or of the arrays of PyG."""
    if isinstance(content, dict):
        return graph_of_row(content)
    if isinstance(content, File):
        with content.open() as file:
            is_market = file.read(len(MARKET)) == MARKET
        if not is_market:
            _check_text(content)
            return _read_number_table(content)
        data = content.whole()
        _check_market(data)
        content = _called(_load_market, data, content.isolated), None, None
    matrix, name, y = content
    check_graph_memory(matrix.shape[0])
    return replace(batch_from_matrices([matrix])[0], graph_id=name, y=y)


def _check_text(source: File) -> None:
    """Refuse what is no table of numbers by its name or its first bytes."""
    with source.open() as file:
        if b"\0" in file.read(HEAD):
            raise GraphError("not a MATLAB file of version 5 to 7", cure="Save it with -v7, or as .npy")
    if source.path.name.lower().removesuffix(".gz").endswith(".mtx"):
        raise GraphError(
            "the first line of a Matrix Market file must begin with %%MatrixMarket", cure="Add it"
        )


def _of_array(values: Any, name: str | None, where: str, others: Mapping[str, Any]) -> Iterator[_Record]:
    """Yield the matrices of an array, a list or a stream, in which case one of them is in memory at a time.

    Targets of the graphs of a stack are in one of the `others`.
    """
    title = f"{where}, array {name!r}" if name else where
    matrices: Iterable[Any]
    if isinstance(values, list):
        count, matrices = len(values), values
    elif hasattr(values, "tocoo") or (axis := _axis_of_graphs(values, title)) is None:
        _targets(others, 0)
        yield where, name, (_whole(values), name, None)
        return
    elif isinstance(values, ArrayStream) and axis == 0 and not values.fortran_order:
        count, n = values.shape[:2]
        if not n and count > MOST_EMPTY_GRAPHS:
            raise GraphError(f"{count} matrices without entries", where=where)
        matrices = (values.take(n * n).reshape(n, n) for _ in range(count))
    else:
        count, matrices = values.shape[axis], np.moveaxis(_whole(values), axis, 0)
    targets, unit = _targets(others, count), "cell" if isinstance(values, list) else "matrix"
    for place, matrix in enumerate(matrices):
        yield f"{title}, {unit} {place}", None, (matrix, None, targets[place] if targets else None)


def _axis_of_graphs(values: Any, where: str) -> int | None:
    """Return the axis of a stack along which its graphs are, None for one matrix."""
    shape: tuple[int, ...] = values.shape
    if values.dtype.kind not in "biuf":
        raise GraphError(f"{where} must hold adjacency matrices of real numbers, got {values.dtype}")
    if len(shape) == 2 and shape[0] == shape[1]:
        return None
    if len(shape) == 3:
        fits = [axis for axis, others in ((0, shape[1:]), (2, shape[:2])) if others[0] == others[1]]
        if fits:  # MATLAB has (n, n, graphs)
            return fits[0] if isinstance(values, ArrayStream) else fits[-1]
    raise GraphError(
        f"{where} must have shape (n, n) for one adjacency matrix or (graphs, n, n) for a stack, got {shape}"
    )


def _targets(others: Mapping[str, Any], count: int) -> list[Any]:
    """Return the target of each graph of a stack, from the other arrays. None of them: an empty list."""
    for name, values in others.items():
        flat = np.ravel(values)
        if len(flat) == count:
            return [scalar_y(value, "a file of matrices") for value in flat]
        if name not in TARGETS:
            raise GraphError(f"{name!r} has {len(flat)} values for {count or 1} graphs")
    return []


def _role(values: Any) -> str | None:
    """Return what an array in a file may be: a matrix, a stack, or None."""
    if isinstance(values, list):  # of cells
        return "stack" if values and all(_role(cell) == "matrix" for cell in values) else None
    if not hasattr(values, "dtype") or values.dtype.kind not in "biuf":
        return None
    shape: tuple[int, ...] = values.shape
    if len(shape) == 2 and shape[0] == shape[1] > 1:
        return "matrix"
    return "stack" if len(shape) == 3 and shape[1] in (shape[0], shape[2]) else None


def _of_archive(file: IO[bytes], source: File, array: str | None, y: str | None) -> Iterator[_Record]:
    with open_archive(file, str(source)) as archive, ExitStack() as stack:
        arrays: dict[str, ArrayStream | None] = {}
        for member_name in archive.namelist():
            name = member_name.removesuffix(".npy")
            if name != member_name:
                arrays[name] = None
                with suppress(GraphError):  # objects, names of subjects
                    member = stack.enter_context(closing(Member(archive, member_name, str(source))))
                    arrays[name] = ArrayStream(member, f"{source}: array {name!r}", member.size)
        if "format" in arrays and set(arrays) <= SPARSE:
            yield str(source), None, (_sparse(file, source), None, None)
        elif "edge_index" in arrays and array is None:
            given = {name: values for name, values in arrays.items() if name in {*USED, *OTHER_NAMES}}
            if None in given.values():
                raise GraphError(
                    f"{source}: arrays of a graph must hold numbers, got Python objects or damage"
                )
            row = {name: _whole(values) for name, values in given.items()}
            yield str(source), None, {name: v if v.ndim else v.item() for name, v in row.items()}
        else:
            yield from _of_arrays(arrays, source, array, y)


def _of_arrays(
    arrays: Mapping[str, Any], source: File, array: str | None, y: str | None
) -> Iterator[_Record]:
    """Yield the matrices among named arrays, of a stack with their targets."""
    roles = {name: _role(values) for name, values in arrays.items()}
    for name, use in ((array, ""), (y, " for y")):
        if name is not None and name not in roles:
            raise GraphError(f"{source} has no array {name!r}{use}. Available: {list(roles)[:20]}")
    stacks = [name for name, role in roles.items() if role == "stack"]
    if array is None and len(stacks) > 1:
        raise GraphError(
            f"the arrays {stacks[:20]} are all stacks of matrices",
            where=str(source),
            cure="Select one with array=",
        )
    chosen = stacks or [name for name, role in roles.items() if role == "matrix"]
    chosen = chosen if array is None else [array]
    if not chosen:
        raise GraphError(
            f"{source}: none of the arrays {list(roles)[:20]} is an adjacency matrix, shape (n, n), or a "
            "stack of them, shape (graphs, n, n)"
        )
    names = [name for name in (TARGETS if y is None else [y]) if name in roles and roles[name] is None]
    targets = {name: _whole(arrays[name]) for name in names if arrays[name] is not None}
    for name in chosen:
        yield from _of_array(arrays[name], name, str(source), targets)


def _whole(values: Any) -> Any:
    return values.whole() if isinstance(values, ArrayStream) else values


def _sparse(file: IO[bytes], source: File) -> Any:
    import scipy.sparse as sp

    file.seek(0)
    try:
        matrix = sp.load_npz(file)  # which loads no pickles
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)  # places outside of the matrix would be written to
        return matrix
    except Exception as error:  # whatever a damaged file makes of it
        raise GraphError(f"no sparse matrix, or a damaged one: {error}", where=str(source)) from None


def _of_matlab(source: File, head: bytes, array: str | None, y: str | None) -> Iterator[_Record]:
    if head.startswith(HDF):
        raise GraphError(
            "a MATLAB file of version 7.3", where=str(source), cure="Save it with -v7, or as .npy"
        )
    try:
        data = source.whole(recode=False)
        _check_matlab(data)
        arrays: dict[str, Any] = _called(load_matlab, data, source.isolated)
    except GraphError as error:
        raise error.located(where=str(source)) from None
    yield from _of_arrays(arrays, source, array, y)


# ---- files that scipy reads


def _called(load: Callable[[bytes], Any], data: bytes, isolated: bool) -> Any:
    """Call scipy, in another process if it is to be isolated: damage may crash it, or never let it end."""
    if not isolated:
        return load(data)
    from concurrent.futures.process import BrokenProcessPool

    child = _child()
    try:
        return child.submit(load, data).result(LONGEST_WAIT)
    except BrokenProcessPool:
        problem = "damaged: the library that reads it crashed"
    except TimeoutError:
        problem = f"damaged: the library that reads it did not end within {LONGEST_WAIT} seconds"
    for process in list((child._processes or {}).values()):
        process.kill()
    _child.cache_clear()
    raise GraphError(problem)


@cache
def _child() -> Any:
    """Return a process that reads files. It is started once, and after a crash again."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    return ProcessPoolExecutor(1, get_context("spawn"))


def load_matlab(data: bytes) -> dict[str, Any]:
    """Return the variables by name: arrays, sparse matrices, lists for cells, or None for other kinds.

    Cells that hold one number or text each become an array of these, and the fields of a struct variables.
    """
    from scipy.io import loadmat

    try:
        given = loadmat(cast("Any", io.BytesIO(data)), spmatrix=False)
        variables = {name: value for name, value in given.items() if not name.startswith("__")}
        for name, value in list(variables.items()):
            if value.dtype.names and value.size == 1:
                del variables[name]
                variables |= {f"{name}.{field}": value[field].item() for field in value.dtype.names}
        return {name: _variable(value) for name, value in variables.items()}
    except Exception as error:  # whatever a damaged file makes of it
        raise GraphError(f"damaged MATLAB file: {error or type(error).__name__}") from None


def _load_market(data: bytes) -> Any:
    from scipy.io import mmread

    try:
        matrix = mmread(io.BytesIO(data), spmatrix=False)
    except Exception as error:
        raise GraphError(f"damaged Matrix Market file: {error or type(error).__name__}") from None
    if matrix.dtype.kind not in "biuf":
        raise GraphError(f"expected a matrix of real numbers, got {matrix.dtype}")
    return matrix


def _variable(value: Any) -> Any:
    if hasattr(value, "tocoo"):
        if hasattr(value, "check_format"):
            value.check_format(full_check=True)  # positions outside of the matrix would be written to
        return value.tocoo() if value.dtype.kind in "biuf" else None
    if not hasattr(value, "dtype"):
        return None
    if value.dtype.kind == "O":
        cells = [_variable(cell) for cell in value.ravel(order="F") if isinstance(cell, np.ndarray)]
        if cells and all(isinstance(cell, np.ndarray) and cell.size == 1 for cell in cells):
            return np.array([cell.item() for cell in cells])
        return cells
    if value.dtype.kind == "U":
        return np.char.rstrip(value)
    return value if value.dtype.kind in "biuf" else None


def _check_matlab(data: bytes) -> None:
    """Refuse variables that end behind the file, and such that unpack to more than memory should hold."""
    order: Any = "little" if data[HEAD - 2 : HEAD] == b"IM" else "big"
    place, unpacked = HEAD, 0
    while place + 8 <= len(data):
        kind, length = (int.from_bytes(data[at : at + 4], order) for at in (place, place + 4))
        place += 8
        if length > len(data) - place:
            raise GraphError(f"truncated: a variable has {length} bytes, and {len(data) - place} follow")
        if kind == PACKED:
            for piece in _unpacked(data[place : place + length]):
                unpacked += len(piece)
                check_memory(unpacked, f"{unpacked} unpacked bytes")
        place += length


def _unpacked(data: bytes) -> Iterator[bytes]:
    unpack = zlib.decompressobj()
    try:
        while data:
            yield unpack.decompress(data, SMALL_MEMBER)
            data = unpack.unconsumed_tail
    except zlib.error as error:
        raise GraphError(f"damaged: {error}") from None


def _check_market(data: bytes) -> None:
    """Compare the sizes that a file claims with its length, and with what a graph may have."""
    from scipy.io import mminfo

    try:
        n, width, count, form, *_ = mminfo(io.BytesIO(data))
    except (ValueError, OverflowError) as error:
        raise GraphError(f"damaged Matrix Market file: {error}") from None
    if n != width:
        raise GraphError(f"an adjacency matrix must be square, got shape ({n}, {width})")
    check_graph_memory(n)
    count = count if form == "coordinate" else n * (n - 1) // 2  # one half of a symmetric array is there
    if count * LEAST_BYTES > len(data):
        raise GraphError(f"truncated: {count} entries claimed in {len(data)} bytes")


# ---- adjacency matrices as text


def is_number_table(source: File, least: int = 3) -> bool:
    """Whether a text is a square table of numbers with at least so many columns, that of names included."""
    try:
        width, _, rows = _number_rows(source)
        first = next(rows)[1]
        fields = first[-width:]
        enough = len(first) >= least and _are_numbers(fields)
        return enough and 1 + sum(1 for _ in islice(rows, width + 1)) in (width, width + _only_count(fields))
    except (GraphError, StopIteration):
        return False


def _read_number_table(source: File) -> RawGraph:
    """Read the matrix of a text."""
    import scipy.sparse as sp

    n, names, rows = _number_rows(source)
    nonzeros: list[tuple[Any, Any]] = []
    labels, length = [], 0
    for line, fields in rows:
        length = length or len(fields)
        if len(fields) != length:
            problem = (
                f"the rows of an adjacency matrix must have equal lengths, got {len(fields)} fields after"
            )
            raise GraphError(f"{problem} {length}", where=f"line {line}")
        if not nonzeros:
            may_count = length == n and _only_count(fields)
        labels += fields[: length - n]
        values = _numbers(fields[length - n :], line)
        places = np.flatnonzero(values != 0)
        nonzeros.append((places, values[places]))
    if len(nonzeros) == n + 1 and may_count:  # the first row only counts the columns
        nonzeros = nonzeros[1:]
    if len(nonzeros) != n:
        raise GraphError(f"{len(nonzeros)} rows of {n} numbers, but an adjacency matrix must be square")
    ends = np.repeat(np.arange(n), [len(places) for places, _ in nonzeros])
    others = np.concatenate([np.empty(0, np.int64), *(places for places, _ in nonzeros)])
    weights = np.concatenate([np.empty(0), *(values for _, values in nonzeros)])
    raw = batch_from_matrices([sp.coo_array((weights, (ends, others)), shape=(n, n))])[0]
    names = names or labels
    if not names or _only_count(names):
        return raw
    return replace(raw, node_columns={"name": np.array(names, dtype=object)})


def _number_rows(source: File) -> tuple[int, list[str], Iterator[tuple[int, list[str]]]]:
    """Return the number of columns of numbers, their names in the first row if it has some, and the rows."""
    rows = _rows(source)
    head = list(islice(rows, 2))
    if not head:
        raise GraphError("the table has no numbers, but it must be an adjacency matrix")
    first, second = head[0][1], head[-1][1]
    if _are_numbers(first):
        return len(first), [], chain(head, rows)
    if first[0] and len(first) > 1 and _are_numbers(first[1:]):  # the name of a row
        return len(first) - 1, [], chain(head, rows)
    width = len(second) - (not first[0] or len(second) > len(first) or not _are_numbers(second[:1]))
    return width, first[len(first) - width :], chain(head[1:], rows)


def _rows(source: File) -> Iterator[tuple[int, list[str]]]:
    """Yield line numbers and fields of the lines that are neither blank nor comments."""
    delimiter: str | None = ""
    for place, line in source.lines(LONGEST_LINE):
        text = decoded(line, f"line {place}").rstrip()
        if not text.strip() or text.lstrip().startswith(COMMENTS):
            continue
        if delimiter == "":
            marks = "\t;," if source.decimal == "." else "\t;"
            delimiters = [mark for mark in marks if mark in text]
            delimiter = max(delimiters, key=text.count) if delimiters else None
        try:
            fields = text.split() if delimiter is None else next(csv.reader([text], delimiter=delimiter))
        except csv.Error as error:
            raise GraphError(f"line {place}: {error}") from None
        if source.decimal == ",":
            fields = [field.replace(",", ".") for field in fields]
        yield place, [field.strip() for field in fields]


def _are_numbers(fields: list[str]) -> bool:
    return all(isinstance(number(field), int | float) for field in fields)


def _numbers(fields: list[str], line: int) -> FloatArray:
    if not _are_numbers(fields):
        wrong = next(field for field in fields if not _are_numbers([field]))
        raise GraphError(f"line {line}: {wrong!r} is not a number. Use 0 for pairs without an edge")
    return np.array(fields, dtype=np.float64)


def _only_count(names: list[str]) -> bool:
    return any(names == [str(first + place) for place in range(len(names))] for first in (0, 1))
