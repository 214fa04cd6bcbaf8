"""Lists of graphs of one library, walked over once: nodes and edges go straight into the columns of a block.

Converting graph by graph makes a dozen small arrays for each; here there is one list per column of a block,
and one array of it at the end. What cannot be read so goes the careful way, graph by graph by
`grnf.io.to_raw`, which gives the same columns and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from grnf._utils.arrays import offsets
from grnf.errors import GraphError
from grnf.io.batch import RawBatch, RawColumn
from grnf.io.columns import as_column, is_missing
from grnf.io.from_libraries import IGRAPH_IDS
from grnf.io.from_torch import block_of_pyg
from grnf.io.molecule_blocks import block_of_molecules, block_of_smiles
from grnf.io.raw import RawGraph
from grnf.typing import BoolArray, IntArray

__all__ = ["block_of_objects"]

NUMBERS = {int, float, bool}
NOTHING = type(None)


def block_of_objects(graphs: Sequence[Any]) -> RawBatch | None:
    """Return the graphs of a list as a block, or None if they must be looked at one by one."""
    kinds = set(map(type, graphs))
    if len(kinds) != 1:
        return None
    make = _door(kinds.pop())
    if make is None:
        return None
    try:
        return make(graphs)
    except (GraphError, ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
        return None


def _door(kind: type) -> Callable[[Sequence[Any]], RawBatch] | None:
    """Return what reads lists of this class, seen from its package, so that no library is imported."""
    if kind is RawGraph:
        return RawBatch.of
    if issubclass(kind, str):
        return block_of_smiles
    package = kind.__module__.partition(".")[0]
    if package == "rdkit" and hasattr(kind, "GetAtoms"):
        return block_of_molecules
    if package == "networkx" and hasattr(kind, "is_directed"):
        return _of_networkx
    if package == "torch_geometric" and hasattr(kind, "node_attrs") and kind.__name__ == "Data":
        return block_of_pyg
    if package == "igraph" and hasattr(kind, "get_edgelist"):
        return _of_igraph
    return None


def _of_networkx(graphs: Sequence[Any]) -> RawBatch:
    ends: list[Any] = []
    node_rows: list[Mapping[Any, Any]] = []
    edge_rows: list[Mapping[Any, Any]] = []
    n_nodes, n_edges = [], []
    add_end, add_row = ends.append, edge_rows.append
    for graph in graphs:
        names, first, before = list(graph), len(ends), len(edge_rows)
        node_rows += [row for _, row in graph.nodes(data=True)]
        for source, target, row in graph.edges(data=True):  # not list(...), which counts the edges first
            add_end(source)
            add_end(target)
            add_row(row)
        if names != list(range(len(names))):
            number = {node: place for place, node in enumerate(names)}
            ends[first:] = [number[end] for end in ends[first:]]
        n_nodes.append(len(names))
        n_edges.append(len(edge_rows) - before)
    node_ptr, edge_ptr = offsets(n_nodes), offsets(n_edges)
    return RawBatch(
        node_ptr,
        edge_ptr,
        np.array(ends, dtype=np.int64).reshape(-1, 2),
        _columns_of_rows(node_rows, node_ptr),
        _columns_of_rows(edge_rows, edge_ptr),
        np.array([graph.is_directed() for graph in graphs], np.bool_),
        [str(graph.name) or None for graph in graphs],
        [graph.graph.get("y") for graph in graphs],
    )


def _of_igraph(graphs: Sequence[Any]) -> RawBatch:
    node_ptr = offsets([graph.vcount() for graph in graphs])
    edge_ptr = offsets([graph.ecount() for graph in graphs])
    ends = chain.from_iterable(chain.from_iterable(graph.get_edgelist() for graph in graphs))
    return RawBatch(
        node_ptr,
        edge_ptr,
        np.fromiter(ends, np.int64, 2 * int(edge_ptr[-1])).reshape(-1, 2),
        _columns_of_sequences([graph.vs for graph in graphs], node_ptr, IGRAPH_IDS),
        _columns_of_sequences([graph.es for graph in graphs], edge_ptr, ()),
        np.array([graph.is_directed() for graph in graphs], np.bool_),
        [None] * len(graphs),
        [None] * len(graphs),
    )


def _columns_of_sequences(sequences: list[Any], ptr: IntArray, ids: tuple[str, ...]) -> dict[str, RawColumn]:
    """Return the attributes of vertices or edges of igraph."""
    attributes = [sequence.attributes() for sequence in sequences]
    columns = {}
    for name in dict.fromkeys(chain.from_iterable(attributes)):
        if name in ids:
            continue
        absent = np.array([name not in own for own in attributes], np.bool_)
        values: list[Any] = []
        for sequence, lacks, count in zip(sequences, absent.tolist(), np.diff(ptr).tolist(), strict=True):
            values += [None] * count if lacks else sequence[name]
        columns[name] = _column(values, absent)
    return columns


def _columns_of_rows(rows: list[Mapping[Any, Any]], ptr: IntArray) -> dict[str, RawColumn]:
    """Return the columns of dictionaries, one for each key that any of them has."""
    if not any(rows):
        return {}
    columns: dict[str, RawColumn] = {}
    if len(rows[0]) * len(rows) == sum(map(len, rows)) and len(set(map(str, rows[0]))) == len(rows[0]):
        try:
            return {str(key): _column([row[key] for row in rows], None) for key in rows[0]}
        except KeyError:  # as many, but others
            pass
    keys = dict.fromkeys(chain.from_iterable(rows))
    for key in keys:
        if str(key) in columns:
            raise GraphError("two attributes have one name when written as text")
        try:
            values, absent = [row[key] for row in rows], None
        except KeyError:
            values = [row.get(key) for row in rows]
            has = np.append(0, np.cumsum([key in row for row in rows]))
            absent = np.asarray(has[ptr[1:]] == has[ptr[:-1]])
        columns[str(key)] = _column(values, absent)
    return columns


def _column(values: list[Any], absent: BoolArray | None) -> RawColumn:
    """Return a column of values of one kind."""
    absent = None if absent is None or not absent.any() else absent
    kinds = set(map(type, values))
    if kinds <= NUMBERS:
        return RawColumn(np.array(values, dtype=np.float64), None, absent)
    if kinds <= {str, NOTHING} and str in kinds:
        return _coded(values, absent)
    array = as_column(values)
    if array.dtype != object:
        return RawColumn(array, None, absent)
    if kinds & NUMBERS and str in kinds:
        raise GraphError("numbers in some graphs and text in others: the first graph decides")
    return _coded(array.tolist(), absent)


def _coded(values: Iterable[Any], absent: BoolArray | None) -> RawColumn:
    values = list(values)
    table = {value: -1 if is_missing(value) else 0 for value in dict.fromkeys(values)}
    known = tuple(value for value, code in table.items() if code == 0)
    table.update(zip(known, range(len(known)), strict=True))
    return RawColumn(np.fromiter(map(table.__getitem__, values), np.int64, len(values)), known, absent)
