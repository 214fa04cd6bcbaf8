"""The memory that a graph from a file may take, checked before anything is allocated."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextvars import ContextVar
from functools import cache
from typing import TypeVar

from grnf.errors import GraphError

T = TypeVar("T")
SHARE = 0.5
"""Part of the memory that one graph may take by default."""
LARGEST = 2**34
"""Bytes of memory beyond which one graph may take no more by default."""
NODE, EDGE, VALUE = 64, 64, 32
"""Bytes for a node, an edge, and a value of one of them, as readers and the encoder hold them."""

_limit: ContextVar[int | None] = ContextVar("max_memory", default=None)


@cache
def _machine() -> int:
    """Return the bytes of memory that this process may use."""
    sizes = [LARGEST]
    if hasattr(os, "sysconf"):
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        import resource

        sizes += [limit for limit in resource.getrlimit(resource.RLIMIT_AS)[:1] if limit > 0]
    return min(sizes)


def check_memory(size: int, what: str) -> None:
    """Refuse what would take more bytes than a graph may take."""
    given = _limit.get()
    limit = int(SHARE * _machine()) if given is None else given
    if size > limit:
        raise GraphError(
            f"{what} would take about {size / 1e9:.1f} GB of memory",
            cure=f"Pass a max_memory (--max-memory) of more than {limit} bytes if you trust the file",
        )


def check_graph_memory(n_nodes: int, n_edges: int = 0) -> None:
    """Refuse a graph that would take more memory than one may take."""
    check_memory(NODE * n_nodes + EDGE * n_edges, f"a graph of {n_nodes} nodes and {n_edges} edges")


def within_memory(limit: int | None, items: Iterator[T]) -> Iterator[T]:
    """Yield items that are made while `limit` is what a graph may take, None for half of the memory."""
    while True:
        token = _limit.set(limit)
        try:
            item = next(items)
        except StopIteration:
            return
        finally:
            _limit.reset(token)
        yield item
