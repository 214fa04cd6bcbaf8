"""Streams of graphs that may be longer than memory: fitted on in one pass, embedded block by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grnf._utils.rules import Int, checked
from grnf.errors import GraphError
from grnf.graphs import Graph
from grnf.io.objects import graph_objects, to_raw
from grnf.io.raw import BadGraph, RawBatch, RawGraph, columns_of_graphs, is_missing
from grnf.io.vectors.blocks import VectorBlock
from grnf.typing import OnError

if TYPE_CHECKING:
    from grnf.estimators.transformer import GRNF, GraphTransformer

__all__ = ["embed_stream", "fit_stream"]

FIRST = 1024
"""Graphs that show the names and kinds of columns of an open vocabulary."""


def embed_stream(
    transformer: GraphTransformer,
    X: Iterable[Any],
    *,
    block_size: int = 1024,
    start: int = 0,
    on_error: OnError | None = None,
    **policies: Any,
) -> Iterator[tuple[VectorBlock, list[BadGraph]]]:
    """Embed a stream of graphs; yield the vectors of a block of them at a time, and the bad graphs of it.

    A block has ids, labels and vectors of its graphs, in the order of the stream, and can go to
    `grnf.io.vectors.write_vectors`. Graphs are called by their `graph_id`, or else by their place. What a
    table says of them beside (SMILES, columns that its reader was told to keep) goes with their rows.

    Parameters
    ----------
    transformer : GRNF or ReweightedGRNF
        Fitted; it is not changed.
    X : iterable of graphs
        Of any kind that `GRNF` takes, and `BadGraph` for those that could not be read; or blocks of them, as
        `grnf.io.read_blocks` yields them.
    block_size : int, default=1024
        Graphs per block, bad ones included; no more are held at once.
    start : int, default=0
        The place of the first graph, where the stream is the rest of another.
    on_error, handle_unknown, handle_missing : optional
        As in `GRNF.embed`. With "raise", the error calls the graph by its name.

    Examples
    --------
    >>> from grnf import GRNF
    >>> grnf = GRNF(8, random_state=0).fit([Graph(3, [])])
    >>> stream = (Graph(n, []) if n != 3 else "no graph" for n in range(5))
    >>> for block, bad in embed_stream(grnf, stream, block_size=2, on_error="skip"):
    ...     print(block.ids, block.Z.shape, [graph.index for graph in bad])
    ['0', '1'] (2, 8) []
    ['2'] (1, 8) [3]
    ['4'] (1, 8) []
    """
    policy = transformer.on_error if on_error is None else on_error
    for graphs in _blocks(X, checked(block_size, "block_size", Int(1))):
        names = _names(graphs)
        ids = [str(start + place if name is None else name) for place, name in enumerate(names)]
        embedding = transformer.embed(graphs, on_error="nan" if policy == "raise" else policy, **policies)
        bad = [BadGraph(ids[place], start + place, reason) for place, reason in embedding.errors]
        if bad and policy == "raise":
            raise GraphError(bad[0].reason, where=f"graph {bad[0].graph_id}")
        rows = embedding.rows.tolist()
        y, columns = _beside(graphs)
        own = {name: [values[place] for place in rows] for name, values in columns.items()}
        yield (
            VectorBlock([ids[place] for place in rows], [y[place] for place in rows], embedding.vectors, own),
            bad,
        )
        start += len(graphs)


def _blocks(X: Iterable[Any], block_size: int) -> Iterator[RawBatch | list[Any]]:
    """Yield the blocks that a stream is made of; single graphs are gathered to blocks of that size."""
    waiting: list[Any] = []
    for item in graph_objects(X):
        if isinstance(item, RawBatch | list):
            if waiting:
                yield waiting
                waiting = []
            if len(item):
                yield item
            continue
        waiting.append(item)
        if len(waiting) == block_size:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _names(graphs: RawBatch | list[Any]) -> Sequence[str | None]:
    if isinstance(graphs, RawBatch):
        return graphs.graph_ids
    return [getattr(graph, "graph_id", None) for graph in graphs]


def _beside(graphs: RawBatch | list[Any]) -> tuple[Sequence[Any], Mapping[str, Sequence[Any]]]:
    """Return the labels of graphs, and their own columns."""
    if isinstance(graphs, RawBatch):
        return graphs.y, graphs.graph_columns
    return [getattr(graph, "y", None) for graph in graphs], columns_of_graphs(graphs)


def fit_stream(transformer: GRNF, X: Iterable[Any], *, on_error: OnError | None = None) -> GRNF:
    """Fit on a stream of graphs, or of blocks of them.

    With an open vocabulary there is no more to learn than names and kinds of columns, so only the first
    graphs are looked at. A closed one is learned from all, by way of the few that show all categories there
    are. Graphs that cannot be used have no say; what becomes of them is decided when they are embedded. With
    `on_error` other than "raise", neither have those whose attributes disagree with the others.

    Examples
    --------
    >>> from grnf import GRNF
    >>> fit_stream(GRNF(8, random_state=0), (Graph(n, []) for n in range(10_000))).n_components_
    8
    """
    reasons: list[str] = []
    telling = list(_telling(X, reasons, transformer.handle_unknown == "open"))
    if not telling:
        raise GraphError("there is no graph that can be used" + "".join(f": {why}" for why in reasons))
    transformer._fit_samples(telling, None, on_error)
    return transformer


def _telling(X: Iterable[Any], reasons: list[str], kinds_alone: bool) -> Iterator[RawGraph]:
    """Yield the graphs that show an attribute or a category for the first time, or else the first graph.

    `reasons` gets that of the first bad one. Where kinds of columns are all that is asked for, the first
    `FIRST` graphs are enough.
    """
    seen: set[Any] = set()
    for place, graph in enumerate(_graphs(X)):
        if kinds_alone and seen and place >= FIRST:
            return
        try:
            raw = graph if isinstance(graph, RawGraph) else to_raw(graph)
            columns = (("node", raw.node_columns), ("edge", raw.edge_columns))
            shown = {"a graph"}.union(*(_shown(what, own, kinds_alone) for what, own in columns))
            if not shown <= seen:
                Graph(raw.n_nodes, raw.edges)
                seen |= shown
                yield raw
        except GraphError as error:
            reasons += [] if reasons else [str(error)]


def _graphs(X: Iterable[Any]) -> Iterator[Any]:
    for item in graph_objects(X):
        yield from item if isinstance(item, RawBatch | list) else [item]


def _shown(what: str, columns: Mapping[str, Any], kinds_alone: bool) -> Iterator[Any]:
    """Yield what the columns of a graph tell: names, types and widths, and categories."""
    for name, values in columns.items():
        array = np.asarray(values)
        if array.dtype.kind in "fiub":
            yield what, name, "numbers", array.shape[1:]
        elif array.size and kinds_alone:
            if not all(map(is_missing, array.ravel())):
                yield what, name, "category"
        elif array.size:
            yield from ((what, name, "category", value) for value in set(array.ravel().tolist()))
