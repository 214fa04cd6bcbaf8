"""From a stream of graphs to a stream of vectors, one block in memory at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from grnf.cli.source import as_graphs, name_of
from grnf.errors import GraphError, OrderTooLargeError

if TYPE_CHECKING:
    from grnf import GRNF
    from grnf.cli.source import Bad
    from grnf.io import RawGraph
    from grnf.io.vectors import VectorBlock
    from grnf.typing import FloatArray

__all__ = ["embed_blocks"]


def embed_blocks(
    grnf: GRNF, items: Iterable[RawGraph | Bad], *, block_size: int, on_error: str, start: int = 0
) -> Iterator[tuple[VectorBlock, list[dict[str, Any]]]]:
    """Embed a stream of graphs; yield blocks of rows, each with its list of bad graphs.

    Parameters
    ----------
    grnf : GRNF
        Fitted.
    items : iterable of RawGraph and Bad
    block_size : int
        Graphs per block, all of them counted.
    on_error : "raise", "nan" or "skip"
        What becomes of graphs that cannot be used: an error, rows of NaN, no rows.
    start : int, default=0
        The place of the first item in its source.
    """
    items = iter(items)
    while block := list(islice(items, block_size)):
        yield _embed_block(grnf, block, start, on_error)
        start += len(block)


def _embed_block(
    grnf: GRNF, block: list[RawGraph | Bad], start: int, on_error: str
) -> tuple[VectorBlock, list[dict[str, Any]]]:
    import numpy as np

    from grnf.io import RawGraph
    from grnf.io.vectors import VectorBlock

    names = [name_of(item, start + place) for place, item in enumerate(block)]
    reasons = {place: item.reason for place, item in enumerate(block) if not isinstance(item, RawGraph)}
    places = [place for place in range(len(block)) if place not in reasons]
    graphs = [item for item in block if isinstance(item, RawGraph)]
    rows, failures = _transform(grnf, graphs)
    reasons |= {places[place]: reason for place, reason in failures.items()}
    if reasons and on_error == "raise":
        place = min(reasons)
        raise GraphError(f"graph {names[place]}: {reasons[place]}")
    bad = [
        {
            "index": start + place,
            "row": None if on_error == "skip" else start + place,
            "graph_id": names[place],
            "reason": reasons[place],
        }
        for place in sorted(reasons)
    ]
    good = [place for place in range(len(block)) if place not in reasons]
    labels = [getattr(item, "y", None) for item in block]
    if on_error == "skip":
        return VectorBlock([names[p] for p in good], [labels[p] for p in good], rows), bad
    Z = np.full((len(block), grnf.n_components_), np.nan, dtype=rows.dtype)
    Z[good] = rows
    return VectorBlock(names, labels, Z), bad


def _transform(grnf: GRNF, graphs: list[RawGraph]) -> tuple[FloatArray, dict[int, str]]:
    """Return the vectors of the graphs that can be embedded, and the reasons why others cannot."""
    import numpy as np

    if not graphs:
        return np.empty((0, grnf.n_components_), dtype=grnf.dtype), {}
    try:
        return grnf.transform(as_graphs(graphs)), {}
    except OrderTooLargeError:
        raise
    except ValueError as error:
        rows: list[FloatArray] = []
        reasons: dict[int, str] = {}
        for place, graph in enumerate(graphs):
            try:
                rows.append(grnf.transform(as_graphs([graph])))
            except ValueError as reason:
                reasons[place] = str(reason)
        if not reasons:
            raise GraphError(str(error)) from None
        return np.concatenate([np.empty((0, grnf.n_components_), dtype=grnf.dtype), *rows]), reasons
