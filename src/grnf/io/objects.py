"""Graphs of every library: which kind an object is, and the converter of its kind.

`to_batch` converts a list of objects, `to_raw` one object. Each kind has one converter, from a list of
objects to a `RawBatch`. Those of networkx, igraph and rustworkx are here. The kind of an object follows from
the names of its class and of the modules of its class, so no library is imported to find out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from typing import Any

import numpy as np

from grnf._utils.arrays import offsets
from grnf.errors import GraphError, GrnfWarning
from grnf.graphs import Graph, GraphBatch
from grnf.io.from_arrays import batch_from_dicts, batch_from_matrices, batch_from_pyg, batch_from_tuples
from grnf.io.from_molecules import batch_from_molecules, batch_from_smiles
from grnf.io.from_tables import batch_from_frames, column_names, graphs_from_tables, molecules_from_table
from grnf.io.raw import (
    BadGraph,
    RawBatch,
    RawColumn,
    RawGraph,
    as_column,
    column_of_values,
    joined,
    raw_from_graph,
    without_failures,
)
from grnf.typing import IntArray

ACCEPTED = (
    "grnf.Graph, networkx, igraph and rustworkx graphs, PyTorch Geometric Data, adjacency matrices of numpy "
    "or scipy, RDKit molecules, SMILES strings, (edge_index, x, edge_attr) tuples, dictionaries with "
    "edge_index, dataframes of edges (source, target) and objects with a method __grnf_graph__"
)
KEYS = ("graph_id", "source", "target")
"""Columns that make a dataframe a table of edges."""
NOT_COLLECTIONS = (bytes, set, frozenset)
LIBRARY_ERRORS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What libraries raise when an object is damaged."""
IDS = ("_nx_name", "__networkx_node__")
"""Attributes in which igraph and rustworkx keep the ids of nodes that come from networkx; not columns."""
Converter = Callable[[Sequence[Any]], RawBatch]
Attributes = Mapping[Any, Any]
Parts = tuple[list[Attributes], list[int], list[Attributes]]
"""Attributes of the nodes, ends of the edges one after the other, and attributes of the edges."""


def to_batch(
    graphs: Sequence[Any], *, on_error: str = "raise", caller: str = "X", stereo: bool = False
) -> RawBatch:
    """Convert graphs of any kinds, see `to_raw`. `stereo` is an option of molecules (`batch_from_molecules`).

    With `on_error="raise"`, the first object that cannot be converted raises a `GraphError` with its index.
    Otherwise such objects are bad graphs of the batch. `caller` is the name of the argument, for messages.
    """
    errors: dict[int, GraphError] = {}
    places: dict[Converter, list[int]] = {}
    for place, graph in enumerate(graphs):
        places.setdefault(_converter(graph), []).append(place)
    parts = []
    for convert, own in places.items():
        if stereo and convert in (batch_from_smiles, batch_from_molecules):
            convert = partial(convert, stereo=True)

        def attempt(rows: Sequence[int], convert: Converter = convert) -> RawBatch:
            return _converted(convert, [graphs[row] for row in rows]) if rows else RawBatch.empty()

        batch, good, failed = without_failures(own, attempt, first_only=on_error == "raise")
        errors |= failed | {good[row]: GraphError(reason) for row, reason in batch.bad.items()}
        parts.append((good, batch))
    if errors and on_error == "raise":
        index = min(errors)
        raise errors[index].located(index=index, where=caller) from errors[index].__cause__
    return joined(parts, len(graphs), {place: error.explanation for place, error in errors.items()})


def _converted(convert: Converter, graphs: list[Any]) -> RawBatch:
    """Convert graphs of the same kind. Whatever their library raises becomes a `GraphError`."""
    try:
        return convert(graphs)
    except GraphError:
        raise
    except LIBRARY_ERRORS as error:
        raise GraphError(f"{_type_name(graphs[0])} cannot be read: {error}") from error


def to_raw(graph: Any) -> RawGraph:
    """Convert one graph of any kind that is known.

    Parameters
    ----------
    graph : object
        One of these:

        - a `Graph` or `RawGraph`, or an object whose method `__grnf_graph__` returns a `Graph`,
        - a networkx, igraph or rustworkx graph, or a PyTorch Geometric `Data`,
        - an RDKit molecule or a SMILES string,
        - an adjacency matrix (numpy, scipy sparse, torch),
        - a tuple (edge_index, x, edge_attr) or a dictionary of these arrays,
        - a dataframe of its edges with the columns source and target, alone or as (edges, nodes).

        Attributes without a name are the columns "x" of nodes, "edge_attr" of edges.

    Returns
    -------
    RawGraph

    Examples
    --------
    >>> to_raw(([[0, 1], [1, 2]],))
    RawGraph(n_nodes=3, n_edges=2, node_columns=[], edge_columns=[], directed)
    """
    batch = _converted(_converter(graph), [graph])
    if batch.bad:
        raise GraphError(batch.bad[0])
    return graph if isinstance(graph, RawGraph) else batch[0]


def iter_raw(graphs: Any, *, caller: str = "X") -> Iterator[RawGraph]:
    """Convert a collection of graphs of any kinds, see `graph_objects`."""
    objects = list(graph_objects(graphs, caller=caller))
    for given, raw in zip(objects, to_batch(objects, caller=caller), strict=True):
        yield given if isinstance(given, RawGraph) else raw  # type: ignore[misc]


def graph_objects(graphs: Any, *, caller: str = "X", stereo: bool = False) -> Iterable[Any]:
    """Return the graphs of a collection one by one, not converted, or raise a `GraphError`.

    A dataframe with the columns graph_id, source, target is a table of edges. With a table of nodes it is the
    pair (edges, nodes). A dataframe with a SMILES column is a table of molecules, with stereochemistry if
    `stereo`. The batches of a PyTorch Geometric DataLoader are taken apart.
    """
    if is_edge_table(graphs):
        return graphs_from_tables(graphs)
    if isinstance(graphs, tuple) and len(graphs) == 2 and is_edge_table(graphs[0]):
        return graphs_from_tables(*graphs)
    if isinstance(graphs, (GraphBatch, RawBatch, list, tuple)):
        return graphs
    kind: Any = type(graphs)
    roots = _roots(kind)
    if isinstance(graphs, np.ndarray) or ("torch" in roots and hasattr(graphs, "is_floating_point")):
        if graphs.shape[1:] == (1,) and getattr(graphs.dtype, "kind", "?") in "OUT":  # a column of a table
            graphs = graphs[:, 0]
        if graphs.ndim == 3 or (graphs.ndim == 1 and getattr(graphs.dtype, "kind", "?") in "OUT"):
            return list(graphs)
        raise GraphError(
            f"{caller} must have shape (n_graphs, n, n), or be a one-dimensional array of objects, got shape "
            f"{tuple(graphs.shape)}",
            cure="Put one adjacency matrix into a list: [matrix]",
        )
    if "torch_geometric" in roots and hasattr(graphs, "to_data_list"):
        return list(graphs.to_data_list())
    if "torch" in roots and hasattr(graphs, "batch_sampler"):
        return _graphs_of_loader(graphs)
    if not isinstance(graphs, BadGraph) and _converter_of_class(kind) is not None:
        raise GraphError(f"{caller} must be a collection of graphs, got {_type_name(graphs)}: pass [graph]")
    if column_names(graphs) is not None:
        molecules = molecules_from_table(graphs, stereo=stereo)
        if molecules is not None:
            return molecules
        raise GraphError(
            f"{caller} is a dataframe without a SMILES column and without the columns {', '.join(KEYS)} of a "
            "table of edges",
            cure="Pass the column that holds graphs or SMILES strings, or name the columns in "
            "grnf.io.graphs_from_tables. Put the edges of a single graph into a list: [edges]",
        )
    if isinstance(graphs, Iterable) and not isinstance(graphs, NOT_COLLECTIONS):
        return graphs
    if not isinstance(graphs, Iterable) and hasattr(graphs, "__getitem__") and hasattr(graphs, "__len__"):
        return (graphs[index] for index in range(len(graphs)))
    raise GraphError(f"{caller} must be a collection of graphs, got {_type_name(graphs)}")


def _graphs_of_loader(loader: Any) -> Iterator[Any]:
    """Yield the graphs of a DataLoader. Rows of the result have the order in which it gives them."""
    if type(loader.sampler).__name__ == "RandomSampler":
        warnings.warn(
            "the DataLoader shuffles, so the rows are in an order of their own. Pass shuffle=False, or "
            "loader.dataset",
            GrnfWarning,
            stacklevel=4,
        )
    for item in loader:
        yield from item.to_data_list() if hasattr(item, "to_data_list") else [item]


def listed_graphs(graphs: Any, *, caller: str = "X", stereo: bool = False) -> Any:
    """Return a collection as a list of graphs, or as the batch that it is. There must be some."""
    objects = graph_objects(graphs, caller=caller, stereo=stereo)
    objects = objects if isinstance(objects, GraphBatch | RawBatch | list) else list(objects)
    if not len(objects):
        raise GraphError(f"{caller} is empty: it must contain at least one graph")
    return objects


def _roots(kind: type) -> frozenset[str]:
    """Return the packages that a class and its parents come from."""
    return frozenset(base.__module__.partition(".")[0] for base in kind.__mro__)


def batch_from_graphs(graphs: Sequence[Graph | RawGraph]) -> RawBatch:
    """Convert `Graph` and `RawGraph`."""
    return RawBatch.of([raw_from_graph(graph) for graph in graphs])


def batch_from_networkx(graphs: Sequence[Any]) -> RawBatch:
    """Convert networkx graphs, directed or not, also multigraphs.

    Every attribute of nodes and of edges becomes a column. It is missing for nodes and edges that lack it.
    Nodes are numbered in the order of ``graph.nodes``. A repeated edge is listed repeatedly.
    """
    return _batch_of_rows(
        map(_rows_of_networkx, graphs),
        [graph.is_directed() for graph in graphs],
        [str(graph.name) or None for graph in graphs],
        [graph.graph.get("y") for graph in graphs],
    )


def _rows_of_networkx(graph: Any) -> Parts:
    names, ends, rows = list(graph), list[Any](), list[Attributes]()
    for source, target, row in graph.edges(data=True):  # not list(...), which counts the edges first
        ends.append(source)
        ends.append(target)
        rows.append(row)
    if names != list(range(len(names))):
        number = {node: place for place, node in enumerate(names)}
        ends = [number[end] for end in ends]
    return [row for _, row in graph.nodes(data=True)], ends, rows


def _batch_of_rows(
    graphs: Iterable[Parts],
    directed: list[bool],
    ids: Sequence[str | None] | None = None,
    y: Sequence[Any] | None = None,
) -> RawBatch:
    """Return graphs whose nodes and edges have dictionaries of attributes."""
    node_rows, ends, edge_rows = list[Attributes](), list[int](), list[Attributes]()
    n_nodes, n_edges = [], []
    for nodes, own, edges in graphs:
        node_rows += nodes
        ends += own
        edge_rows += edges
        n_nodes.append(len(nodes))
        n_edges.append(len(edges))
    node_ptr, edge_ptr = offsets(n_nodes), offsets(n_edges)
    return RawBatch(
        node_ptr,
        edge_ptr,
        np.array(ends, dtype=np.int64).reshape(-1, 2),
        _columns_of_rows(node_rows, node_ptr, "node"),
        _columns_of_rows(edge_rows, edge_ptr, "edge"),
        np.array(directed, np.bool_),
        ids or [None] * len(directed),
        y or [None] * len(directed),
    )


def _columns_of_rows(rows: list[Attributes], ptr: IntArray, item: str) -> dict[str, RawColumn]:
    """Return the columns of dictionaries, one for each key that any of them has."""
    if not any(rows):
        return {}
    columns: dict[str, RawColumn] = {}
    for key in dict.fromkeys(chain.from_iterable(rows)):
        if key in IDS:
            continue
        if str(key) in columns:
            raise GraphError(f"two attributes are both called {str(key)!r} when written as text. Rename one")
        try:
            values, absent = [row[key] for row in rows], None
        except KeyError:
            values = [row.get(key) for row in rows]
            has = np.append(0, np.cumsum([key in row for row in rows]))
            absent = np.asarray(has[ptr[1:]] == has[ptr[:-1]])
        columns[str(key)] = column_of_values(values, ptr, absent, f"{item} column {str(key)!r}")
    return columns


def batch_from_igraph(graphs: Sequence[Any]) -> RawBatch:
    """Convert igraph graphs. Every attribute becomes a column, also the vertex attribute "name".

    If the names are only ids of vertices, remove them with ``del graph.vs["name"]``.
    """
    node_ptr = offsets([graph.vcount() for graph in graphs])
    edge_ptr = offsets([graph.ecount() for graph in graphs])
    ends = chain.from_iterable(chain.from_iterable(graph.get_edgelist() for graph in graphs))
    return RawBatch(
        node_ptr,
        edge_ptr,
        np.fromiter(ends, np.int64, 2 * int(edge_ptr[-1])).reshape(-1, 2),
        _columns_of_sequences([graph.vs for graph in graphs], node_ptr, "node"),
        _columns_of_sequences([graph.es for graph in graphs], edge_ptr, "edge"),
        np.array([graph.is_directed() for graph in graphs], np.bool_),
        [None] * len(graphs),
        [None] * len(graphs),
    )


def _columns_of_sequences(sequences: list[Any], ptr: IntArray, item: str) -> dict[str, RawColumn]:
    """Return the attributes of vertices or edges of igraph."""
    attributes = [sequence.attributes() for sequence in sequences]
    columns = {}
    for name in dict.fromkeys(chain.from_iterable(attributes)):
        if name in IDS:
            continue
        absent = np.array([name not in own for own in attributes], np.bool_)
        values: list[Any] = []
        for sequence, lacks, count in zip(sequences, absent.tolist(), np.diff(ptr).tolist(), strict=True):
            values += [None] * count if lacks else sequence[name]
        columns[name] = column_of_values(values, ptr, absent, f"{item} column {name!r}")
    return columns


def batch_from_rustworkx(graphs: Sequence[Any]) -> RawBatch:
    """Convert rustworkx graphs.

    Payloads that are dictionaries give named columns. A payload that is a single number is the weight of an
    edge. Other payloads are the columns "x" of nodes and "edge_attr" of edges. None is not a payload, nor is
    the index of the node itself, which rustworkx stores when it reads an adjacency matrix.
    """
    return _batch_of_rows(map(_rows_of_rustworkx, graphs), [hasattr(graph, "successors") for graph in graphs])


def _rows_of_rustworkx(graph: Any) -> Parts:
    number = {index: position for position, index in enumerate(graph.node_indices())}
    payloads = graph.nodes()
    payloads = [None] * len(number) if payloads == list(number) else payloads
    return (
        _rows_of_payloads(payloads, "x", "x"),
        [number[end] for edge in graph.edge_list() for end in edge],
        _rows_of_payloads(graph.edges(), "weight", "edge_attr"),
    )


def _rows_of_payloads(payloads: Sequence[Any], number: str, other: str) -> list[Attributes]:
    """Return payloads of a graph as dictionaries. `number` and `other` name those that are not."""
    if all(payload is None or isinstance(payload, Mapping) for payload in payloads):
        return [payload or {} for payload in payloads]
    column = as_column(payloads)
    name = number if column.dtype != object and column.ndim == 1 else other
    return [{name: payload} for payload in payloads]


def _batch_from_protocol(graphs: Sequence[Any]) -> RawBatch:
    """Convert objects of user classes whose method `__grnf_graph__` returns a `Graph`."""
    return batch_from_graphs([graph.__grnf_graph__() for graph in graphs])


def _batch_from_bad(graphs: Sequence[BadGraph]) -> RawBatch:
    return replace(RawBatch.empty(len(graphs)), bad={i: graph.reason for i, graph in enumerate(graphs)})


def _batch_from_unknown(graphs: Sequence[Any]) -> RawBatch:
    graph = graphs[0]
    hint = ""
    if graph is None:
        hint = ". None usually stands for a molecule that could not be read"
    elif isinstance(graph, list):
        hint = ". Write edges as a tuple (edge_index,), an adjacency matrix as a numpy array"
    elif column_names(graph) is not None:
        hint = (
            ". A dataframe is a table: see grnf.io.graphs_from_tables, or .to_numpy() for an adjacency matrix"
        )
    raise GraphError(f"{_type_name(graph)} cannot be converted to a graph. Accepted: {ACCEPTED}{hint}")


BY_CLASS: dict[type | tuple[type, ...], Converter] = {
    (Graph, RawGraph): batch_from_graphs,
    BadGraph: _batch_from_bad,
    str: batch_from_smiles,
    np.ndarray: batch_from_matrices,
    tuple: batch_from_tuples,
}
BY_PACKAGE: dict[tuple[str, str], Converter] = {
    ("networkx", "is_directed"): batch_from_networkx,
    ("torch_geometric", "node_attrs"): batch_from_pyg,
    ("torch_geometric", "node_types"): batch_from_pyg,
    ("igraph", "get_edgelist"): batch_from_igraph,
    ("rustworkx", "edge_list"): batch_from_rustworkx,
    ("rdkit", "GetAtoms"): batch_from_molecules,
    ("scipy", "tocsr"): batch_from_matrices,
    ("torch", "is_floating_point"): batch_from_matrices,
}
"""Converters by the package of the class and a method that it must have."""


def _converter(graph: Any) -> Converter:
    """Return the converter of an object."""
    kind: Any = type(graph)
    convert = _converter_of_class(kind)
    if convert is None or convert is batch_from_tuples:  # perhaps dataframes
        names = column_names(graph[0] if isinstance(graph, tuple) and len(graph) == 2 else graph)
        if names is not None and all((key in names) == (key != KEYS[0]) for key in KEYS):
            return batch_from_frames
    return convert or _batch_from_unknown


@cache
def _converter_of_class(kind: Any) -> Converter | None:
    if hasattr(kind, "__grnf_graph__"):
        return _batch_from_protocol
    for classes, convert in BY_CLASS.items():
        if issubclass(kind, classes):
            return convert
    roots = _roots(kind)
    for (package, method), convert in BY_PACKAGE.items():
        if package in roots and hasattr(kind, method):
            return convert
    return batch_from_dicts if issubclass(kind, dict) else None


def is_edge_table(graphs: Any) -> bool:
    """Whether this is a dataframe with the columns that `graphs_from_tables` requires."""
    names = column_names(graphs)
    return names is not None and all(key in names for key in KEYS)


def _type_name(graph: Any) -> str:
    kind = type(graph)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    return f"an object of type {name}"
