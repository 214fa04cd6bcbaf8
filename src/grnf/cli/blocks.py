"""From a stream of graphs to a stream of vectors, one block in memory at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from itertools import islice
from typing import TYPE_CHECKING, Any

from grnf.cli.source import name_of
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf import GRNF
    from grnf.io import BadGraph, RawGraph
    from grnf.io.vectors import VectorBlock

__all__ = ["embed_blocks"]


def embed_blocks(
    grnf: GRNF, items: Iterable[RawGraph | BadGraph], *, block_size: int, on_error: str, start: int = 0
) -> Iterator[tuple[VectorBlock, list[dict[str, Any]]]]:
    """Embed a stream of graphs; yield blocks of rows, each with its list of bad graphs.

    Parameters
    ----------
    grnf : GRNF
        Fitted.
    items : iterable of RawGraph and BadGraph
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
    grnf: GRNF, block: list[RawGraph | BadGraph], start: int, on_error: str
) -> tuple[VectorBlock, list[dict[str, Any]]]:
    import numpy as np

    from grnf.io.vectors import VectorBlock

    names = [name_of(item, start + place) for place, item in enumerate(block)]
    lenient = copy(grnf)
    lenient.on_error = "nan"
    Z = np.asarray(lenient.transform(block))
    reasons = dict(lenient.errors_)
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
    labels = [getattr(item, "y", None) for item in block]
    if on_error == "skip":
        good = [place for place in range(len(block)) if place not in reasons]
        return VectorBlock([names[p] for p in good], [labels[p] for p in good], Z[good]), bad
    return VectorBlock(names, labels, Z), bad
