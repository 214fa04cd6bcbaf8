"""Streams of graphs that may be longer than memory: fitted on in one pass, embedded block by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from grnf.errors import GraphError
from grnf.graphs import Graph
from grnf.io.objects import graph_objects, to_raw
from grnf.io.raw import BadGraph, RawGraph
from grnf.rules import Int, checked
from grnf.typing import FloatArray, IntArray, OnError

if TYPE_CHECKING:
    from grnf.estimators.base import GraphTransformer
    from grnf.estimators.transformer import GRNF

__all__ = ["Block", "embed_stream", "fit_stream"]


@dataclass(frozen=True, eq=False)
class Block:
    """Some graphs of a stream and their vectors.

    Parameters
    ----------
    vectors : array, shape (n_vectors, M)
    rows : array of int, shape (n_vectors,)
        The place in the stream of the graph of each vector.
    ids : list of str
        What those graphs are called: their `graph_id` if they have one, else their place.
    y : list
        Their labels; None for graphs without.
    bad : list of BadGraph
        Name, place and reason of each graph of the block that cannot be used, whether or not it has a row.
    """

    vectors: FloatArray
    rows: IntArray
    ids: list[str]
    y: list[Any]
    bad: list[BadGraph]


def embed_stream(
    transformer: GraphTransformer,
    X: Iterable[Any],
    *,
    block_size: int = 1024,
    start: int = 0,
    on_error: OnError | None = None,
    **policies: Any,
) -> Iterator[Block]:
    """Embed a stream of graphs, `block_size` graphs at a time: only so many are held at once.

    Parameters
    ----------
    transformer : GRNF or ReweightedGRNF
        Fitted; it is not changed.
    X : iterable of graphs
        Of any kind that `GRNF` takes, and `BadGraph` for those that could not be read.
    block_size : int, default=1024
        Graphs per block, bad ones included.
    start : int, default=0
        The place of the first graph, where the stream is the rest of another.
    on_error, unseen, missing : optional
        As in `GRNF.embed`. With "raise", the error calls the graph by its name.

    Examples
    --------
    >>> from grnf import GRNF
    >>> from grnf.datasets import make_sbm
    >>> graphs, _ = make_sbm(10, random_state=0)
    >>> grnf = GRNF(8, random_state=0).fit(graphs)
    >>> [block.ids for block in embed_stream(grnf, iter(graphs), block_size=4)]
    [['0', '1', '2', '3'], ['4', '5', '6', '7'], ['8', '9']]
    """
    block_size = checked(block_size, "block_size", Int(1))
    policy = transformer.on_error if on_error is None else on_error
    stream = iter(graph_objects(X))
    while graphs := list(islice(stream, block_size)):
        ids = [_name(graph, start + place) for place, graph in enumerate(graphs)]
        embedding = transformer.embed(graphs, on_error="nan" if policy == "raise" else policy, **policies)
        bad = [BadGraph(ids[place], start + place, reason) for place, reason in embedding.errors]
        if bad and policy == "raise":
            raise GraphError(f"graph {bad[0].graph_id}: {bad[0].reason}")
        yield Block(
            embedding.vectors,
            start + embedding.rows,
            [ids[place] for place in embedding.rows],
            [getattr(graphs[place], "y", None) for place in embedding.rows],
            bad,
        )
        start += len(graphs)


def fit_stream(transformer: GRNF, X: Iterable[Any], *, on_error: OnError | None = None) -> GRNF:
    """Fit on all graphs of a stream, by way of the few that show all attributes and categories there are.

    Graphs that cannot be used have no say; what becomes of them is decided when they are embedded.

    Parameters
    ----------
    transformer : GRNF
    X : iterable of graphs, as in `embed_stream`
    on_error : "raise", "nan" or "skip", optional
        What to do about a graph whose attributes disagree with those of others. By default as the
        transformer says.

    Examples
    --------
    >>> from grnf import GRNF
    >>> fit_stream(GRNF(8, random_state=0), (Graph(n, []) for n in range(10_000))).n_components_
    8
    """
    reasons: list[str] = []
    telling = list(_telling(X, reasons))
    if not telling:
        raise GraphError("there is no graph that can be used" + "".join(f": {why}" for why in reasons))
    transformer._fit_samples(telling, None, on_error)
    return transformer


def _telling(X: Iterable[Any], reasons: list[str]) -> Iterator[RawGraph]:
    """Yield the graphs that show an attribute or a category for the first time, or else the first graph.

    `reasons` gets that of the first bad one.
    """
    seen: set[Any] = set()
    for graph in graph_objects(X):
        try:
            raw = graph if isinstance(graph, RawGraph) else to_raw(graph)
            shown = {"a graph", *_shown("node", raw.node_columns), *_shown("edge", raw.edge_columns)}
            if shown <= seen:
                continue
            Graph(raw.n_nodes, raw.edges)
        except GraphError as error:
            if not reasons:
                reasons.append(str(error))
            continue
        seen |= shown
        yield raw


def _shown(what: str, columns: Mapping[str, Any]) -> Iterator[Any]:
    """Yield what the columns of a graph tell: names, types and widths, and categories."""
    for name, values in columns.items():
        array = np.asarray(values)
        if array.dtype.kind in "fiub":
            yield what, name, "numbers", array.shape[1:]
        elif array.size:
            yield from ((what, name, "category", value) for value in set(array.ravel().tolist()))


def _name(graph: Any, place: int) -> str:
    name = getattr(graph, "graph_id", None)
    return str(place) if name is None else str(name)
