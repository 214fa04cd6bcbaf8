"""Adjacency matrices, as measured networks come: numpy, MATLAB, Matrix Market, tables of numbers.

A file holds one matrix or many: a stack of shape (graphs, n, n), or (n, n, graphs) as MATLAB has them; or
square arrays of any sizes, called by their names. What entries mean is said in `grnf.io.from_arrays`.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import IO, Any, TypeAlias

import numpy as np

from grnf.errors import GraphError
from grnf.io.files.archives import Member, open_archive
from grnf.io.files.file import File
from grnf.io.files.limits import LARGEST_GRAPH
from grnf.io.files.npy_stream import ArrayStream
from grnf.io.files.number_table import read_number_table
from grnf.io.files.records import OnError, each_record
from grnf.io.files.scipy_files import MARKET, read_market, read_matlab
from grnf.io.files.values import scalar_y
from grnf.io.from_arrays import batch_from_matrices
from grnf.io.raw import BadGraph, RawGraph

__all__ = ["holds_matrices", "read_matrices"]

NUMPY, ZIP = b"\x93NUMPY", b"PK"
MATLAB, HDF = b"MATLAB 5.0", (b"MATLAB 7.3", b"\x89HDF")
TARGETS = ("y", "Y", "label", "labels", "target", "targets")
"""What an array beside a stack is called that has a value for each graph."""
SPARSE = {"indices", "indptr", "row", "col", "offsets", "data", "shape", "format", "_is_array"}
"""Members of a file that scipy.sparse.save_npz has written."""

_Record: TypeAlias = tuple[str, str | None, Any]


def read_matrices(
    source: File, *, array: str | None = None, y: str | None = None, on_error: OnError = "raise"
) -> Iterator[RawGraph | BadGraph]:
    """Yield the graphs of a file of adjacency matrices.

    Parameters
    ----------
    source : File
    array : str, optional
        The array of matrices, where a file has several; by default the only stack, or all square arrays.
    y : str, optional
        The array with a target for each graph of the stack; by default the one called y, label(s) or
        target(s), if there is one of that length.
    on_error : {"raise", "yield"}
    """
    with source.reopenable() as again, again.open(recode=False) as file:
        head = file.read(16)
        file.seek(0)
        if head.startswith(ZIP):
            records = _of_archive(file, source, array, y)
        elif head.startswith((MATLAB, *HDF)):
            records = _of_matlab(again, head, array, y)
        elif array is not None or y is not None:
            raise GraphError(f"{source} holds one array: array= and y= name those of .npz and .mat files")
        elif head.startswith(NUMPY):
            size = file.seek(0, 2)
            file.seek(0)
            records = _of_stream(ArrayStream(file, size, str(source)), None, str(source), {})
        else:
            records = iter([(str(source), None, again)])
        yield from each_record(records, _graph, on_error)


def holds_matrices(source: File) -> bool:
    """Whether a .npy file holds numbers, or a .npz file other arrays than those that we write."""
    with source.open_seekable() as file:
        if file.read(2) == ZIP:
            with open_archive(file, str(source)) as archive:
                return "grnf_format.npy" not in archive.namelist()
        size = file.seek(0, 2)
        file.seek(0)
        return ArrayStream(file, size, str(source)).dtype.kind in "biuf"


def _graph(content: File | tuple[Any, str | None, Any]) -> RawGraph:
    """Return the graph of a matrix, with its name and target, or of a text."""
    if isinstance(content, File):
        with content.open() as file:
            is_market = file.read(len(MARKET)) == MARKET
        if not is_market:
            return read_number_table(content)
        content = read_market(content.whole(), content.isolated), None, None
    matrix, name, y = content
    if matrix.shape[0] > LARGEST_GRAPH:
        raise GraphError(f"{matrix.shape[0]} nodes in one graph; files may have up to {LARGEST_GRAPH}")
    return replace(batch_from_matrices([matrix])[0], graph_id=name, y=y)


def _of_stream(
    stream: ArrayStream, name: str | None, where: str, others: Mapping[str, Any]
) -> Iterator[_Record]:
    """Yield the matrices of one array, one of them in memory at a time."""
    _check_numbers(stream.dtype, where)
    batch = _axis_of_graphs(stream.shape, where, last=False)
    if stream.fortran_order or batch == 2:  # not matrix by matrix: held, to be turned
        whole = stream.take(stream.length).reshape(stream.shape, order="F" if stream.fortran_order else "C")
        yield from _of_array(whole, name, where, others, last=False)
        return
    count, n = (stream.shape[0], stream.shape[1]) if batch == 0 else (1, stream.shape[0])
    targets = _targets(others, count if batch == 0 else None)
    for place in range(count):
        matrix = stream.take(n * n).reshape(n, n)
        own = name if batch is None else None
        yield _named(where, place, batch, name), own, (matrix, own, targets(place))


def _of_array(
    values: Any, name: str | None, where: str, others: Mapping[str, Any], last: bool
) -> Iterator[_Record]:
    """Yield the matrices of an array that is in memory, or of a sparse matrix."""
    if not isinstance(values, np.ndarray):
        yield where, name, (values, name, None)
        return
    _check_numbers(values.dtype, where)
    batch = _axis_of_graphs(values.shape, where, last)
    if batch is None:
        yield where, name, (values, name, None)
        return
    stack = np.moveaxis(values, batch, 0)
    targets = _targets(others, len(stack))
    for place, matrix in enumerate(stack):
        yield _named(where, place, batch, name), None, (matrix, None, targets(place))


def _named(where: str, place: int, batch: int | None, name: str | None) -> str:
    own = f"{where}, array {name!r}" if name else where
    return own if batch is None else f"{own}, matrix {place}"


def _check_numbers(dtype: Any, where: str) -> None:
    if dtype.kind not in "biuf":
        raise GraphError(f"{where} must hold adjacency matrices of real numbers, got {dtype}")


def _axis_of_graphs(shape: tuple[int, ...], where: str, last: bool) -> int | None:
    """Return along which axis of a stack its graphs stand, None for one matrix."""
    if len(shape) == 2 and shape[0] == shape[1]:
        return None
    if len(shape) == 3:
        fits = [axis for axis, others in ((0, shape[1:]), (2, shape[:2])) if others[0] == others[1]]
        if fits:
            return fits[-1] if last else fits[0]
    raise GraphError(
        f"{where} has shape {shape}; one adjacency matrix has (n, n), a stack of them (graphs, n, n)"
    )


def _targets(others: Mapping[str, Any], count: int | None) -> Callable[[int], Any]:
    """Return what gives the target of each graph of a stack, from the arrays beside it."""
    for name, values in others.items():
        flat = np.ravel(values)
        if len(flat) != count and name not in TARGETS:
            raise GraphError(f"{name!r} has {len(flat)} values for {count or 1} graphs")
        if len(flat) == count:
            return lambda place: scalar_y(flat[place], "a file of matrices")
    return lambda _: None


def _role(shape: tuple[int, ...], kind: str) -> str | None:
    """Tell what an array in a file may be."""
    if kind not in "biuf":
        return None
    if len(shape) == 2 and shape[0] == shape[1] > 1:
        return "matrix"
    return "stack" if len(shape) == 3 and shape[1] in (shape[0], shape[2]) else None


def _chosen(roles: Mapping[str, str | None], array: str | None, source: File) -> list[str]:
    """Return which arrays of a file are read as graphs."""
    if array is not None:
        if array not in roles:
            raise GraphError(f"{source} has no array {array!r}; it has {list(roles)[:20]}")
        return [array]
    stacks = [name for name, role in roles.items() if role == "stack"]
    matrices = [name for name, role in roles.items() if role == "matrix"]
    if len(stacks) > 1:
        raise GraphError(
            f"{source}: the arrays {stacks[:20]} are all stacks of matrices; name one by array=, or save it "
            "alone"
        )
    if not stacks and not matrices:
        raise GraphError(
            f"{source}: none of the arrays {list(roles)[:20]} is an adjacency matrix, shape (n, n), or a "
            "stack of them, shape (graphs, n, n)"
        )
    return stacks or matrices


def _beside(names: Collection[str], y: str | None, source: File) -> tuple[str, ...]:
    """Return the names of arrays that may hold targets."""
    if y is None:
        return TARGETS
    if y not in names:
        raise GraphError(f"{source} has no array {y!r} for y; it has {list(names)[:20]}")
    return (y,)


def _of_archive(file: IO[bytes], source: File, array: str | None, y: str | None) -> Iterator[_Record]:
    with open_archive(file, str(source)) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        if "format" in names and set(names) <= SPARSE:
            yield str(source), None, (_sparse(file, source), None, None)
            return
        roles: dict[str, str | None] = dict.fromkeys(names)
        others = {}
        asked = _beside(names, y, source)
        for name in names:
            with suppress(GraphError), _member(archive, name, source) as stream:  # objects, names of subjects
                roles[name] = _role(stream.shape, stream.dtype.kind)
                if name in asked and roles[name] is None:
                    others[name] = stream.take(stream.length)
        for name in _chosen(roles, array, source):
            with _member(archive, name, source) as stream:
                yield from _of_stream(stream, name, str(source), others)


@contextmanager
def _member(archive: zipfile.ZipFile, name: str, source: File) -> Iterator[ArrayStream]:
    with closing(Member(archive, f"{name}.npy", str(source))) as member:
        yield ArrayStream(member, member.size, f"{source}: array {name!r}")


def _sparse(file: IO[bytes], source: File) -> Any:
    import scipy.sparse as sp

    file.seek(0)
    try:
        found = sp.load_npz(file)  # which loads no pickles
        if hasattr(found, "check_format"):
            found.check_format(full_check=True)  # places outside of the matrix would be written to
        return found
    except Exception as error:  # whatever a damaged file makes of it
        raise GraphError(f"no sparse matrix, or a damaged one: {error}", where=str(source)) from None


def _of_matlab(source: File, head: bytes, array: str | None, y: str | None) -> Iterator[_Record]:
    if head.startswith(HDF):
        raise GraphError(
            "a MATLAB file of version 7.3", where=str(source), cure="Save it with -v7, or as .npy"
        )
    try:
        arrays = read_matlab(source.whole(recode=False), source.isolated)
    except GraphError as error:
        raise error.located(where=str(source)) from None
    cells = {name: _matrices(values) for name, values in arrays.items()}
    roles = {name: "stack" if cells[name] else _role(*_shape(values)) for name, values in arrays.items()}
    asked = _beside(arrays, y, source)
    others = {name: arrays[name] for name in arrays if name in asked and roles[name] is None}
    for name in _chosen(roles, array, source):
        where = f"{source}, array {name!r}"
        if own := cells[name]:
            targets = _targets(others, len(own))
            yield from ((f"{where}, cell {i}", None, (cell, None, targets(i))) for i, cell in enumerate(own))
        else:
            yield from _of_array(arrays[name], name, where, others, last=True)


def _shape(values: Any) -> tuple[tuple[int, ...], str]:
    """Return shape and kind of numbers of an array or sparse matrix; of other things what is no matrix."""
    return (values.shape, values.dtype.kind) if hasattr(values, "dtype") else ((), "O")


def _matrices(values: Any) -> list[Any]:
    """Return the matrices of a cell array; none if it is something else."""
    cells = values if isinstance(values, list) else []
    return cells if all(_role(*_shape(cell)) == "matrix" for cell in cells) else []
