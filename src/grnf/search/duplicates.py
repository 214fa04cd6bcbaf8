"""Graphs that are copies of each other, or nearly: in one collection, or between two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grnf.errors import GraphError
from grnf.io.objects import iter_raw
from grnf.io.raw import RawGraph
from grnf.search.index import GraphIndex
from grnf.search.isomorphism import compare_raw
from grnf.symmetry import Answer
from grnf.typing import FloatArray

__all__ = ["Pair", "duplicate_groups", "leaked", "near_duplicates"]

ROUNDING = 1e-4
"""Vectors of isomorphic graphs differ by rounding alone: by less than this share of their length in single
precision (measured 1e-6). Candidates are all confirmed graph by graph, so a larger share costs time only."""


@dataclass(frozen=True)
class Pair:
    """Two graphs that are near each other, and whether they are the same."""

    first: str
    second: str
    distance: float
    answer: Answer


def duplicate_groups(
    graphs: Any, transformer: Any, *, ids: Sequence[str] | None = None, n_jobs: int | None = None
) -> tuple[list[list[str]], list[Pair]]:
    """Return the groups of isomorphic graphs, and the pairs of which it is undecided whether they are.

    Parameters
    ----------
    graphs : collection of graphs of any kind
    transformer : GRNF
        Its vectors say which graphs are compared: two isomorphic ones have equal vectors, to rounding.
    ids : sequence of str, optional
    n_jobs : int, optional

    Examples
    --------
    >>> from grnf import GRNF, Graph
    >>> path = Graph(3, [(0, 1), (1, 2)])
    >>> graphs = [path, Graph(3, [(0, 1), (1, 2), (2, 0)]), path.permuted([1, 0, 2])]
    >>> duplicate_groups(graphs, GRNF(64, random_state=0))
    ([['0', '2']], [])
    """
    index, raws, names = _indexed(graphs, transformer, ids, n_jobs)
    place = {name: row for row, name in enumerate(names)}
    leader, undecided = list(range(len(names))), []
    members: dict[int, list[int]] = {row: [row] for row in range(len(names))}
    for row, (name, found, far) in enumerate(_close(index, raws, names)):
        for other, distance in zip(found, far, strict=True):
            first = leader[place[other]]
            if place[other] >= row or first == leader[row]:
                continue
            answer = compare_raw(raws[first], raws[row])
            if answer == "isomorphic":
                members[first] += members.pop(leader[row])
                for member in members[first]:
                    leader[member] = first
            elif answer == "undecided":
                undecided.append(Pair(names[first], name, float(distance), answer))
    groups = [sorted(group) for group in members.values() if len(group) > 1]
    return [[names[row] for row in group] for group in sorted(groups)], undecided


def near_duplicates(
    graphs: Any,
    transformer: Any,
    eps: float,
    *,
    ids: Sequence[str] | None = None,
    n_jobs: int | None = None,
) -> list[Pair]:
    """Return all pairs of graphs up to a distance, nearest first, and whether they are the same.

    Parameters are those of `duplicate_groups`.
    """
    index, raws, names = _indexed(graphs, transformer, ids, n_jobs)
    place = {name: row for row, name in enumerate(names)}
    hits = index.within(_vectors(index, raws), eps, ids=names)
    pairs = []
    for row, (found, far) in enumerate(zip(hits.ids, hits.distances, strict=True)):
        for other, distance in zip(found, far, strict=True):
            if place[other] < row:
                pairs.append(_pair(raws[place[other]], raws[row], other, names[row], float(distance)))
    return sorted(pairs, key=lambda pair: pair.distance)


def leaked(
    train: Any,
    test: Any,
    transformer: Any,
    *,
    eps: float | None = None,
    train_ids: Sequence[str] | None = None,
    test_ids: Sequence[str] | None = None,
    n_jobs: int | None = None,
) -> list[Pair]:
    """Return the graphs of one collection that are in another: pairs (of the first, of the second).

    With `eps`, all pairs up to that distance; without, only those that are the same, or undecided.

    Examples
    --------
    >>> from grnf import GRNF, Graph
    >>> path = Graph(3, [(0, 1), (1, 2)])
    >>> train, test = [path, Graph(3, [])], [Graph(2, []), path.permuted([1, 0, 2])]
    >>> [(pair.first, pair.second) for pair in leaked(train, test, GRNF(64, random_state=0))]
    [('0', '1')]
    """
    index, raws, names = _indexed(train, transformer, train_ids, n_jobs)
    place = {name: row for row, name in enumerate(names)}
    others = list(iter_raw(test, caller="test"))
    if not others:
        raise GraphError("test is empty: at least one graph is wanted")
    called = _names(others, test_ids)
    if eps is None:
        close = _close(index, others, called)
    else:
        hits = index.within(_vectors(index, others), eps, ids=called)
        close = list(zip(called, hits.ids, hits.distances, strict=True))
    pairs = []
    for row, (name, found, far) in enumerate(close):
        for other, distance in zip(found, far, strict=True):
            pairs.append(_pair(raws[place[other]], others[row], other, name, float(distance)))
    return [pair for pair in pairs if eps is not None or pair.answer != "different"]


def _pair(g: RawGraph, h: RawGraph, first: str, second: str, distance: float) -> Pair:
    return Pair(first, second, distance, compare_raw(g, h))


def _indexed(
    graphs: Any, transformer: Any, ids: Sequence[str] | None, n_jobs: int | None
) -> tuple[GraphIndex, list[RawGraph], list[str]]:
    raws = list(iter_raw(graphs))
    if not raws:
        raise GraphError("X is empty: at least one graph is wanted")
    names = _names(raws, ids)
    return GraphIndex(transformer, n_jobs=n_jobs).add(raws, names), raws, names


def _names(raws: list[RawGraph], ids: Sequence[str] | None) -> list[str]:
    own = [raw.graph_id for raw in raws] if ids is None else list(ids)
    if ids is None and (None in own or len(set(own)) < len(own)):
        return [str(row) for row in range(len(raws))]
    return [str(name) for name in own]


def _vectors(index: GraphIndex, raws: list[RawGraph]) -> FloatArray:
    return np.asarray(index.transformer.transform(raws))


def _close(
    index: GraphIndex, raws: list[RawGraph], names: list[str]
) -> list[tuple[str, list[str], FloatArray]]:
    """Return for each graph those whose vectors are equal but for rounding."""
    Z = _vectors(index, raws)
    largest = float(np.linalg.norm(np.asarray(Z, dtype=np.float64), axis=1).max())
    hits = index.within(Z, ROUNDING * largest, ids=names)
    return list(zip(names, hits.ids, hits.distances, strict=True))
