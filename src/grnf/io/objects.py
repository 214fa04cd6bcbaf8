"""One door for objects of every kind: `to_raw` for one graph, `iter_raw` for a collection.

What an object is, is seen from the names of its class and of the modules that its class comes from, so no
library is imported to find out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from grnf.errors import GraphError
from grnf.graphs import Graph, GraphBatch
from grnf.io.batch import RawBatch
from grnf.io.columns import check_columns
from grnf.io.from_arrays import raw_from_dense, raw_from_sparse, raw_from_tuple
from grnf.io.from_libraries import raw_from_igraph, raw_from_networkx, raw_from_rustworkx
from grnf.io.from_molecules import raw_from_mol, raw_from_smiles
from grnf.io.from_tables import graphs_from_tables, raw_from_tables
from grnf.io.from_torch import raw_from_pyg
from grnf.io.raw import BadGraph, RawGraph, raw_from_graph

__all__ = ["graph_objects", "is_edge_table", "iter_raw", "listed_graphs", "own_names", "to_raw"]

ACCEPTED = (
    "grnf.Graph, networkx, igraph and rustworkx graphs, PyTorch Geometric Data, adjacency matrices of numpy "
    "or scipy, RDKit molecules, SMILES strings, (edge_index, x, edge_attr) tuples and dataframes of edges "
    "(source, target)"
)
KEYS = ("graph_id", "source", "target")
"""Columns by which a table of edges is known."""

WITHOUT_ROWS = (bytes, dict, set, frozenset)
Converter = Callable[[Any], RawGraph]


def to_raw(graph: Any) -> RawGraph:
    """Convert one graph of any kind that is known.

    Parameters
    ----------
    graph : object
        A `Graph` or `RawGraph`; a networkx, igraph or rustworkx graph; a PyTorch Geometric `Data`; an
        adjacency matrix (numpy, scipy sparse, torch); an RDKit molecule; a SMILES string; a tuple
        (edge_index, x, edge_attr); or a dataframe of its edges with the columns source and target, alone or
        as (edges, nodes). Unnamed attributes are the columns "x" of nodes, "edge_attr" of edges.

    Examples
    --------
    >>> to_raw(([[0, 1], [1, 2]],))
    RawGraph(n_nodes=3, n_edges=2, node_columns=[], edge_columns=[], directed)
    """
    if _is_table_of_one(graph[0] if isinstance(graph, tuple) and len(graph) == 2 else graph):
        convert: Converter | None = _raw_from_frames
    else:
        convert = _converter(type(graph))
    if convert is None:
        found = _described(graph)
        raise GraphError(f"no graph can be made of {found}; accepted are {ACCEPTED}{_hint(graph)}")
    try:
        raw = convert(graph)
        check_columns(raw)
    except GraphError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise GraphError(f"{_described(graph)} cannot be read: {error}") from error
    return raw


def iter_raw(graphs: Any, *, caller: str = "X") -> Iterator[RawGraph]:
    """Convert a collection of graphs one by one; kinds may be mixed.

    Parameters
    ----------
    graphs : iterable of graphs, array of shape (n_graphs, n, n), PyTorch Geometric Batch, GraphBatch, or
        table of edges
    caller : str
        Name of the argument, for messages.

    Examples
    --------
    >>> [raw.n_nodes for raw in iter_raw([Graph(3, [(0, 1)]), np.zeros((2, 2))])]
    [3, 2]
    """
    for index, graph in enumerate(graph_objects(graphs, caller=caller)):
        try:
            yield to_raw(graph)
        except GraphError as error:
            raise error.located(index=index, where=caller) from None


def graph_objects(graphs: Any, *, caller: str = "X") -> Iterable[Any]:
    """Return the single graphs of a collection as they are, or say why it is none.

    A dataframe with the columns graph_id, source, target is a table of edges; a table of nodes may stand
    beside it: (edges, nodes).

    Examples
    --------
    >>> len(graph_objects(np.zeros((5, 3, 3))))
    5
    """
    if is_edge_table(graphs):
        return graphs_from_tables(graphs)
    if isinstance(graphs, tuple) and len(graphs) == 2 and is_edge_table(graphs[0]):
        return graphs_from_tables(*graphs)
    if isinstance(graphs, (GraphBatch, RawBatch, list, tuple)):
        return graphs
    roots = _roots(type(graphs))
    if isinstance(graphs, np.ndarray) or ("torch" in roots and hasattr(graphs, "is_floating_point")):
        if graphs.ndim == 3 or (graphs.ndim == 1 and getattr(graphs.dtype, "kind", "?") in "OUT"):
            return list(graphs)
        raise GraphError(
            f"{caller} has shape {tuple(graphs.shape)}; an array of graphs has shape (n_graphs, n, n), or is "
            "a one-dimensional array of objects. One adjacency matrix goes into a list: [matrix]"
        )
    if "torch_geometric" in roots and hasattr(graphs, "to_data_list"):
        return list(graphs.to_data_list())
    if _converter(type(graphs)) is not None:
        raise GraphError(f"{caller} must be a collection of graphs; got {_described(graphs)}: pass [graph]")
    if _is_frame(graphs):
        raise GraphError(
            f"{caller} is a dataframe without the columns {', '.join(KEYS)} of a table of edges; pass the "
            "column that holds graphs or SMILES strings, or name the columns in grnf.io.graphs_from_tables. "
            "The edges of one graph go into a list: [edges]"
        )
    if isinstance(graphs, Iterable) and not isinstance(graphs, WITHOUT_ROWS):
        return graphs
    if not isinstance(graphs, Iterable) and hasattr(graphs, "__getitem__") and hasattr(graphs, "__len__"):
        return (graphs[index] for index in range(len(graphs)))
    raise GraphError(f"{caller} must be a collection of graphs; got {_described(graphs)}")


def listed_graphs(graphs: Any, *, caller: str = "X") -> Any:
    """Return a collection as a list of graphs, or as the batch that it is; there must be some.

    Examples
    --------
    >>> listed_graphs(iter(["CCO", "C"]))
    ['CCO', 'C']
    """
    objects = graph_objects(graphs, caller=caller)
    objects = objects if isinstance(objects, GraphBatch | RawBatch | list) else list(objects)
    if not len(objects):
        raise GraphError(f"{caller} is empty: at least one graph is wanted")
    return objects


def own_names(objects: Any) -> list[str] | None:
    """Return what the graphs of `listed_graphs` call themselves; None if one has no name."""
    if isinstance(objects, GraphBatch):
        return None
    if isinstance(objects, RawBatch):
        names = list(objects.graph_ids)
    else:
        names = [getattr(graph, "graph_id", None) for graph in objects]
    return None if None in names else [str(name) for name in names]


def _roots(kind: type) -> frozenset[str]:
    """Return the packages that a class and its parents come from."""
    return frozenset(base.__module__.partition(".")[0] for base in kind.__mro__)


BY_PACKAGE: dict[tuple[str, str], Converter] = {
    ("networkx", "is_directed"): raw_from_networkx,
    ("torch_geometric", "node_attrs"): raw_from_pyg,
    ("torch_geometric", "node_types"): raw_from_pyg,
    ("igraph", "get_edgelist"): raw_from_igraph,
    ("rustworkx", "edge_list"): raw_from_rustworkx,
    ("rdkit", "GetAtoms"): raw_from_mol,
    ("scipy", "tocsr"): raw_from_sparse,
    ("torch", "is_floating_point"): raw_from_dense,
}
"""Converters by the package of the class and a method that it must have."""


def _converter(kind: type) -> Converter | None:
    if issubclass(kind, (Graph, RawGraph)):
        return raw_from_graph
    if issubclass(kind, BadGraph):
        return _refused
    if issubclass(kind, str):
        return raw_from_smiles
    if issubclass(kind, np.ndarray):
        return raw_from_dense
    if issubclass(kind, tuple):
        return raw_from_tuple
    roots = _roots(kind)
    for (package, method), convert in BY_PACKAGE.items():
        if package in roots and hasattr(kind, method):
            return convert
    return None


def _raw_from_frames(graph: Any) -> RawGraph:
    return raw_from_tables(*graph) if isinstance(graph, tuple) else raw_from_tables(graph)


def _refused(graph: BadGraph) -> RawGraph:
    raise GraphError(graph.reason)


def is_edge_table(graphs: Any) -> bool:
    """Whether this is a dataframe with the columns that `graphs_from_tables` looks for."""
    return _is_frame(graphs) and all(key in graphs.columns for key in KEYS)


def _is_table_of_one(graph: Any) -> bool:
    """Whether this is a dataframe of the edges of one graph."""
    return _is_frame(graph) and all((key in graph.columns) == (key != KEYS[0]) for key in KEYS)


def _is_frame(graphs: Any) -> bool:
    return hasattr(graphs, "columns") and hasattr(graphs, "__getitem__")


def _described(graph: Any) -> str:
    kind = type(graph)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    return f"an object of type {name}"


def _hint(graph: Any) -> str:
    if graph is None:
        return ". None usually stands for a molecule that could not be read"
    if isinstance(graph, list):
        return ". Write edges as a tuple (edge_index,), an adjacency matrix as a numpy array"
    if _is_frame(graph):
        return (
            ". A dataframe is a table: see grnf.io.graphs_from_tables, or .to_numpy() for an adjacency matrix"
        )
    return ""
