"""Vectors of graphs that were embedded before: a row depends on its graph and its map alone, so it keeps."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from importlib.metadata import version
from typing import Any

import numpy as np

from grnf.graphs import GraphBatch
from grnf.typing import FloatArray

__all__ = ["EmbeddingCache", "embedded_once", "graph_hashes"]

Embed = Callable[[GraphBatch], FloatArray]


class EmbeddingCache:
    """Keeps rows by (map, graph), the least recently used ones being dropped first.

    A copy or a pickle of it is empty.

    Parameters
    ----------
    max_bytes : int
        Bytes of rows that are kept.

    Attributes
    ----------
    computed : int
        Graphs that were embedded because their rows were not at hand.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.computed = 0
        self._rows: OrderedDict[tuple[Hashable, bytes], FloatArray] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def rows(self, map_key: Hashable, batch: GraphBatch, embed: Embed) -> FloatArray:
        """Return the rows of all graphs, calling `embed` with those only whose rows are not kept."""
        keys = [(map_key, graph) for graph in graph_hashes(batch)]
        with self._lock:
            found = {key: self._rows[key] for key in keys if key in self._rows}
            for key in found:
                self._rows.move_to_end(key)
        first = {key: index for index, key in reversed(list(enumerate(keys))) if key not in found}
        if first:
            missing = sorted(first.values())
            Z = embed(batch if len(missing) == len(batch) else batch.take(missing))
            fresh = {keys[index]: row for index, row in zip(missing, Z, strict=True)}
            self._keep(fresh)
            if len(missing) == len(batch):
                return Z
            found |= fresh
        return np.stack([found[key] for key in keys])

    def __reduce__(self) -> Any:
        return EmbeddingCache, (self.max_bytes,)

    def _keep(self, fresh: dict[tuple[Hashable, bytes], FloatArray]) -> None:
        with self._lock:
            self.computed += len(fresh)
            for key, row in fresh.items():
                if key not in self._rows:
                    self._rows[key] = row.copy()  # a view would keep the whole block alive
                    self._bytes += row.nbytes
            while self._bytes > self.max_bytes:
                _, row = self._rows.popitem(last=False)
                self._bytes -= row.nbytes


def embedded_once(memory: Any, map_key: Hashable, batch: GraphBatch, embed: Embed) -> FloatArray:
    """Return the rows of a batch from a `joblib.Memory`, which holds whole batches: one file for each."""
    kept = memory.cache(_embedded, ignore=["batch", "embed"])
    return np.asarray(kept((version("grnf"), map_key, graph_hashes(batch)), batch, embed))


def _embedded(of: Any, batch: GraphBatch, embed: Embed) -> FloatArray:  # noqa: ARG001
    """Embed; joblib knows the result again by `of`, which says all that it depends on."""
    return embed(batch)


def graph_hashes(batch: GraphBatch) -> list[bytes]:
    """Hash each graph: numbering of nodes and order of edges included, so equal hashes are equal graphs.

    What the channels are counts too: the same numbers under other names have other vectors.
    """
    hashes = []
    names = batch.node_keys.tobytes() + b" " + batch.edge_keys.tobytes()
    of_nodes, of_edges = (
        np.append(codes.keys, np.uint64(0))[codes.values] for codes in (batch.node_codes, batch.edge_codes)
    )
    for g in range(len(batch)):
        nodes = slice(batch.node_ptr[g], batch.node_ptr[g + 1])
        edges = slice(batch.edge_ptr[g], batch.edge_ptr[g + 1])
        digest = hashlib.blake2b(digest_size=16)
        digest.update(repr((nodes.stop - nodes.start, bool(batch.directed[g]), names)).encode())
        numbers = batch.edges[edges], batch.node_attr[nodes], batch.edge_attr[edges]
        for array in (*numbers, of_nodes[nodes], of_edges[edges]):
            digest.update(np.ascontiguousarray(array).tobytes())
        hashes.append(digest.digest())
    return hashes
