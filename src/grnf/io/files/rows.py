"""One graph as one row: the columns that graph data sets on Hugging Face have, plus what makes them lossless.

`edge_index` (2 lists), `edge_attr`, `node_feat` (a list of numbers per edge or node), `y` and `num_nodes` are
theirs. We add `graph_id`, `directed`, `node_text` and `edge_text` (a list of texts per categorical column),
and `grnf_columns`: a JSON text that says which named columns the numbers and texts are. Rows without these
are read too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf.errors import GraphError
from grnf.io.from_arrays import is_symmetric
from grnf.io.raw import RawGraph, checked_raw
from grnf.typing import FloatArray, IntArray

__all__ = ["graph_of_row", "row_of_graph", "typed_numbers", "unpacked_y"]

EXACT = 2**53
"""Whole numbers up to this size are exact as float64; larger ones are stored as text."""


def graph_of_row(row: Mapping[str, Any]) -> RawGraph:
    """Return the graph of a row: arrays or nested lists under the names above.

    Without `directed`, a graph whose arcs all have their reverse with equal attributes is undirected.

    Examples
    --------
    >>> graph_of_row({"edge_index": [[0, 1], [1, 0]], "node_feat": [[6], [8]], "y": [1]})
    RawGraph(n_nodes=2, n_edges=1, node_columns=['node_feat'], edge_columns=[], undirected)
    """
    arcs = _edge_index(row.get("edge_index"))
    node_feat = _matrix(row.get("node_feat"), "node_feat")
    edge_attr = _matrix(row.get("edge_attr"), "edge_attr")
    n_nodes = _number_of_nodes(row.get("num_nodes"), arcs, node_feat)
    graph_id = row.get("graph_id")
    graph_id = None if graph_id is None else str(graph_id)
    directed = row.get("directed")
    if row.get("grnf_columns") is not None:
        return _named(row, n_nodes, arcs, node_feat, edge_attr, graph_id)
    edge_columns = {} if edge_attr is None else {"edge_attr": edge_attr}
    checked_raw(n_nodes, arcs, edge_columns=edge_columns)
    if not directed:
        compared = np.empty((len(arcs), 0)) if edge_attr is None else edge_attr.reshape(len(arcs), -1)
        symmetric = is_symmetric(arcs, compared)
        directed = directed is None and not symmetric
        if symmetric:
            keep = arcs[:, 0] <= arcs[:, 1]
            arcs = arcs[keep]
            edge_columns = {name: values[keep] for name, values in edge_columns.items()}
    return checked_raw(
        n_nodes,
        arcs,
        {} if node_feat is None else {"node_feat": node_feat},
        edge_columns,
        bool(directed),
        graph_id,
        _plain_y(row.get("y")),
    )


def _edge_index(value: Any) -> IntArray:
    if value is None:
        raise GraphError("edge_index is missing: it must be two lists, sources and targets")
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError):
        raise GraphError("edge_index must be two lists of one length: sources and targets") from None
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[0] != 2:
        raise GraphError(f"edge_index must have shape (2, number of arcs); got {array.shape}")
    if array.dtype.kind not in "iu":
        raise GraphError(f"edge_index must hold whole numbers that fit in 64 bits; got {array.dtype}")
    if array.dtype.kind == "u" and array.max() >= 2**63:
        raise GraphError("edge_index names a node beyond 2**63")
    return array.T.astype(np.int64)


def _matrix(value: Any, field: str) -> npt.NDArray[Any] | None:
    if value is None:
        return None
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
    except (ValueError, TypeError, OverflowError):
        raise GraphError(f"{field} must hold numbers, lists of one length") from None
    if array.size == 0:
        return None
    if array.dtype.kind not in "biuf" or array.ndim not in (1, 2):
        raise GraphError(f"{field} must be a list of numbers, or of lists of numbers; got {array.dtype}")
    return array


def _number_of_nodes(value: Any, arcs: IntArray, node_feat: npt.NDArray[Any] | None) -> int:
    if isinstance(value, (list, np.ndarray)) and len(value) == 1:
        value = value[0]
    if value is None:
        return len(node_feat) if node_feat is not None else int(arcs.max()) + 1 if len(arcs) else 0
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise GraphError(f"num_nodes must be a whole number; got {value!r}")
    return int(value)


def _plain_y(y: Any) -> Any:
    if isinstance(y, np.ndarray):
        y = y.tolist()
    while isinstance(y, list) and len(y) == 1:
        y = y[0]
    return y


# ---- rows of our own


def row_of_graph(graph: RawGraph, *, both_arcs: bool = True) -> dict[str, Any]:
    """Return a graph as a row of arrays and lists.

    With `both_arcs`, an undirected graph has the opposite arcs after its edges, as others expect it.
    """
    edges = graph.edges
    layout: dict[str, Any] = {}
    node_feat, node_text = _packed("node", graph.node_columns, graph.n_nodes, layout)
    edge_attr, edge_text = _packed("edge", graph.edge_columns, len(edges), layout)
    layout["edges"] = len(edges)
    arcs = edges
    if both_arcs and not graph.directed:
        others = np.flatnonzero(edges[:, 0] != edges[:, 1])
        arcs = np.vstack([edges, edges[others, ::-1]])
        edge_attr = np.vstack([edge_attr, edge_attr[others]])
    y, layout["y"] = _packed_y(graph.y)
    return {
        "graph_id": graph.graph_id,
        "directed": bool(graph.directed),
        "num_nodes": int(graph.n_nodes),
        "edge_index": np.ascontiguousarray(arcs.T),
        "node_feat": node_feat,
        "edge_attr": edge_attr,
        "node_text": node_text,
        "edge_text": edge_text,
        "y": y,
        "grnf_columns": json.dumps(layout),
    }


def _packed(
    item: str, columns: Mapping[str, Any], count: int, layout: dict[str, Any]
) -> tuple[FloatArray, list[list[str | None]]]:
    """Return numbers side by side and texts; add the place of each column, its name, width and type."""
    numbers: list[FloatArray] = [np.empty((count, 0))]
    texts: list[list[str | None]] = []
    number_layout = layout[f"{item}_numbers"] = []
    text_layout = layout[f"{item}_texts"] = []
    for position, (name, values) in enumerate(columns.items()):
        array = np.asarray(values)
        if array.dtype.kind == "f" or _fits_float(array):
            width = None if array.ndim == 1 else array.shape[1]
            number_layout.append([position, name, width, array.dtype.str])
            numbers.append(array.astype(np.float64).reshape(count, 1 if width is None else width))
        else:
            entries = array.tolist()
            plain = all(entry is None or isinstance(entry, str) for entry in entries)
            kind = "text" if plain else "json" if array.dtype.kind == "O" else array.dtype.str
            text_layout.append([position, name, kind])
            texts.append(entries if plain else [_json_text(entry, name) for entry in entries])
    return np.hstack(numbers), texts


def _fits_float(array: npt.NDArray[Any]) -> bool:
    return array.dtype.kind in "biu" and not (np.abs(array.astype(np.float64)) >= EXACT).any()


def _json_text(value: Any, name: str) -> str | None:
    if value is None:
        return None
    try:
        return json.dumps(value)
    except (TypeError, ValueError):
        raise GraphError(
            f"column {name!r} holds {type(value).__name__}; numbers, truth values, texts and tuples of them "
            "can be written"
        ) from None


def _packed_y(y: Any) -> tuple[FloatArray, Any]:
    if y is None:
        return np.empty(0), None
    try:
        array = np.asarray(y)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.dtype.kind == "f" or _fits_float(array):
        return array.astype(np.float64).ravel(), [array.dtype.str, list(array.shape)]
    plain = y.tolist() if isinstance(y, (np.ndarray, np.generic)) else y
    return np.empty(0), {"json": json.loads(_json_text(plain, "y") or "null")}


def _named(
    row: Mapping[str, Any],
    n_nodes: int,
    arcs: IntArray,
    node_feat: npt.NDArray[Any] | None,
    edge_attr: npt.NDArray[Any] | None,
    graph_id: str | None,
) -> RawGraph:
    try:
        layout = _layout(row["grnf_columns"])
        n_edges = layout["edges"]
        if type(n_edges) is not int or not 0 <= n_edges <= len(arcs):
            raise GraphError(f"{n_edges} edges are said to stand in an edge_index of {len(arcs)}")
        if edge_attr is not None:
            edge_attr = edge_attr[:n_edges]
        node_columns = _unpacked(layout, "node", n_nodes, node_feat, row.get("node_text") or [])
        edge_columns = _unpacked(layout, "edge", n_edges, edge_attr, row.get("edge_text") or [])
        y = unpacked_y(layout["y"], row.get("y"))
    except GraphError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
        raise GraphError(f"grnf_columns does not describe this row: {error!r}") from None
    directed = bool(row.get("directed"))
    return checked_raw(n_nodes, arcs[:n_edges], node_columns, edge_columns, directed, graph_id, y)


@lru_cache(maxsize=256)
def _layout(text: str) -> Any:
    """Return a description of columns; most graphs of a file have the same."""
    return json.loads(text)


def _unpacked(
    layout: Mapping[str, Any],
    item: str,
    count: int,
    numbers: npt.NDArray[Any] | None,
    texts: Sequence[Sequence[str | None]],
) -> dict[str, npt.NDArray[Any]]:
    found: dict[int, tuple[str, npt.NDArray[Any]]] = {}
    start = 0
    for position, name, width, dtype in layout[f"{item}_numbers"]:
        stop = start + (1 if width is None else width)
        block = np.empty((count, 0)) if numbers is None else numbers.reshape(count, -1)[:, start:stop]
        if block.shape[1] != stop - start and count:
            raise GraphError(f"{item} column {name!r} is said to stand at {start}:{stop}, beyond the numbers")
        block = block.reshape(count, stop - start)
        found[position] = name, typed_numbers(block[:, 0] if width is None else block, dtype)
        start = stop
    for (position, name, kind), entries in zip(layout[f"{item}_texts"], texts, strict=True):
        column = np.empty(len(entries), dtype=object)
        column[:] = list(entries)
        if kind != "text":
            column[:] = [None if entry is None else _hashable(json.loads(entry)) for entry in entries]
        found[position] = name, column if kind in ("text", "json") else typed_numbers(column, kind)
    return {str(name): values for _, (name, values) in sorted(found.items())}


def typed_numbers(values: npt.NDArray[Any], dtype: str) -> npt.NDArray[Any]:
    """Return numbers in the type that they had."""
    wanted = np.dtype(dtype)
    if wanted.kind not in "biuf" or wanted.itemsize > 16 or wanted.shape:
        raise GraphError(f"columns of type {dtype!r} are not read")
    if values.dtype.kind == "f" and wanted.kind in "biu" and not np.isfinite(values).all():
        raise GraphError(f"a column of type {dtype!r} holds a number that is not finite")
    return values.astype(wanted)


def _hashable(value: Any) -> Any:
    return tuple(_hashable(entry) for entry in value) if isinstance(value, list) else value


def unpacked_y(layout: Any, y: Any) -> Any:
    """Return the target of a row."""
    if layout is None:
        return None
    if isinstance(layout, dict):
        return layout["json"]
    dtype, shape = layout
    array = typed_numbers(np.asarray(y, dtype=np.float64), dtype).reshape(shape)
    return array if shape else array.item()
