"""Streams of graphs that may be longer than memory: fitted on in one pass, embedded block by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
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

FIRST = 1024
"""Graphs that show the names and kinds of columns of an open vocabulary."""


def embed_stream(
    transformer: GraphTransformer,
    X: Iterable[Any],
    *,
    block_size: int = 1024,
    start: int = 0,
    on_error: OnError | None = None,
    name: str = "",
    **policies: Any,
) -> Iterator[tuple[VectorBlock, list[BadGraph]]]:
    """Embed a stream of graphs. Yield a block of vectors at a time, and its bad graphs.

    The stream has graphs of any kind, `BadGraph` for those that could not be read, or blocks of them, as
    `grnf.io.read_blocks` yields them. A block has ids, labels, vectors and further columns of its graphs, and
    can be passed to `grnf.io.vectors.write_vectors`. The id of a graph is its `graph_id`, or its number,
    counted from `start`. At most `block_size` graphs are held at once. `name` is the stream in errors.

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
        if isinstance(graphs, RawBatch):
            names, y, columns = graphs.graph_ids, graphs.y, graphs.graph_columns
        else:
            names, y = ([getattr(graph, name, None) for graph in graphs] for name in ("graph_id", "y"))
            columns = columns_of_graphs(graphs)
        ids = [str(start + place if name is None else name) for place, name in enumerate(names)]
        embedding = transformer.embed(graphs, on_error="nan" if policy == "raise" else policy, **policies)
        bad = [BadGraph(ids[place], start + place, reason) for place, reason in embedding.errors]
        if bad and policy == "raise":
            raise GraphError(bad[0].reason, where=f"graph {bad[0].graph_id}").located(where=name)
        rows = embedding.rows.tolist()
        own = {name: [values[place] for place in rows] for name, values in columns.items()}
        labels = [y[place] for place in rows]
        yield VectorBlock([ids[place] for place in rows], labels, embedding.vectors, own), bad
        start += len(graphs)


def _blocks(X: Iterable[Any], block_size: int) -> Iterator[RawBatch | list[Any]]:
    """Yield the blocks of a stream. Single graphs are collected in blocks of that size."""
    waiting: list[Any] = []
    for item in graph_objects(X):
        is_block = isinstance(item, RawBatch | list)
        if not is_block:
            waiting.append(item)
        if waiting and (is_block or len(waiting) == block_size):
            yield waiting
            waiting = []
        if is_block and len(item):
            yield item
    if waiting:
        yield waiting


def fit_stream(transformer: GRNF, X: Iterable[Any], *, on_error: OnError | None = None) -> GRNF:
    """Fit on a stream of graphs, or of blocks of them.

    With an open vocabulary, only names and types of columns are learned, from the first graphs. A closed one
    is learned from all graphs, of which only those that add a category are stored. Graphs that cannot be used
    are ignored. With `on_error` other than "raise", so are those whose attributes disagree with others.

    Examples
    --------
    >>> from grnf import GRNF
    >>> fit_stream(GRNF(8, random_state=0), (Graph(n, []) for n in range(10_000))).n_components_
    8
    """
    reasons: list[str] = []
    examples = list(_examples(X, reasons, transformer.handle_unknown == "open"))
    if not examples:
        raise GraphError("there is no graph that can be used" + "".join(f": {why}" for why in reasons))
    transformer._fit_samples(examples, None, on_error)
    return transformer


def _examples(X: Iterable[Any], reasons: list[str], types_only: bool) -> Iterator[RawGraph]:
    """Yield the graphs that have an attribute or a category for the first time, or else the first graph.

    `reasons` gets that of the first bad one. For types of columns, the first `FIRST` graphs are enough.
    """
    seen: set[Any] = set()
    blocks = (item if isinstance(item, RawBatch | list) else [item] for item in graph_objects(X))
    for place, graph in enumerate(chain.from_iterable(blocks)):
        if types_only and seen and place >= FIRST:
            return
        try:
            raw = graph if isinstance(graph, RawGraph) else to_raw(graph)
            columns = (("node", raw.node_columns), ("edge", raw.edge_columns))
            properties = {"a graph"}.union(*(_properties(what, own, types_only) for what, own in columns))
            if not properties <= seen:
                Graph(raw.n_nodes, raw.edges)
                seen |= properties
                yield raw
        except GraphError as error:
            reasons += [] if reasons else [str(error)]


def _properties(what: str, columns: Mapping[str, Any], types_only: bool) -> Iterator[Any]:
    """Yield names, types and widths of the columns of a graph, and categories."""
    for name, values in columns.items():
        array = np.asarray(values)
        if array.dtype.kind in "fiub":
            yield what, name, "numbers", array.shape[1:]
        elif not types_only:
            yield from ((what, name, "category", value) for value in set(array.ravel().tolist()))
        elif not all(map(is_missing, array.ravel())):
            yield what, name, "category"
