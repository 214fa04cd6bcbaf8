"""Duplicate and near-duplicate graphs, in one collection or between two."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from grnf.collection import Collection, vectors_of
from grnf.graphs import Graph
from grnf.io.from_molecules import canonical_smiles, molecule_of_smiles, standardized
from grnf.io.raw import RawGraph
from grnf.search.index import GraphIndex
from grnf.symmetry import Certificate, certificates
from grnf.symmetry.certificate import NODES_PER_LEVEL, Verdict

KINDS = ("identical", "standardized", "stereoisomer", "isotopologue")
"""Kinds of equality of molecules with isomorphic graphs, the strictest first; "isomorphic" if none holds."""
DUPLICATES = KINDS[:2]
"""Kinds that count as duplicates."""
Forms = tuple[str, ...] | None

ROUNDING = 1e-4
"""Vectors of isomorphic graphs differ by less than this share of their length in single precision (measured:
1e-6). All candidates are compared as graphs, so a larger share costs time only."""


@dataclass(frozen=True)
class DuplicatePair:
    """Two graphs that are near each other, and the verdict of the isomorphism test.

    `kind` tells how isomorphic graphs are equal: "identical", or for molecules one of `KINDS`.
    """

    first: str
    second: str
    distance: float
    verdict: Verdict
    kind: str | None = None


def compare_raw(g: RawGraph, h: RawGraph, *, limit: int = NODES_PER_LEVEL) -> Verdict:
    """Return whether two graphs are "isomorphic", "different" or "undecided".

    Isomorphic graphs have equal node columns, arcs and edge columns. An undirected edge is a pair of arcs.
    Parallel arcs are equal if their values are, in any order (`grnf.symmetry.compare_graphs` sums them).

    Parameters
    ----------
    g, h : RawGraph
    limit : int, default=20_000
        Most nodes of a level of the search tree.

    Returns
    -------
    "isomorphic", "different" or "undecided"

    Examples
    --------
    >>> from grnf import Graph
    >>> from grnf.io import to_raw
    >>> path = Graph(3, [(0, 1), (1, 2)])
    >>> compare_raw(to_raw(path), to_raw(path.permuted([2, 0, 1])))
    'isomorphic'
    """
    if g.n_nodes != h.n_nodes:
        return "different"
    first, second = _certificates([g, h], limit)
    return first.compare(second)


def _certificates(graphs: Iterable[RawGraph], limit: int = NODES_PER_LEVEL) -> list[Certificate]:
    """Return certificates of graphs with attributes of any kind, to be compared with each other only."""
    codes: dict[Hashable, int] = {}

    def coded(values: Iterable[Hashable]) -> Any:
        numbers = [codes.setdefault(value, len(codes) + 1) for value in values]
        return np.array(numbers, np.float64)[:, np.newaxis]

    encoded = []
    for graph in graphs:
        arcs = _arcs(graph)
        nodes = coded(_labels(graph.node_columns, graph.n_nodes))
        encoded.append(Graph(graph.n_nodes, list(arcs), nodes, coded(arcs.values()), directed=True))
    return certificates(encoded, limit=limit)


def _labels(columns: Mapping[str, Any], count: int) -> list[Hashable]:
    """Return the values of each node or edge under their names, as something to compare."""
    lists = [(name, _plain(columns[name])) for name in sorted(columns)]
    return [tuple((name, values[item]) for name, values in lists) for item in range(count)]


def _plain(values: Any) -> list[Hashable]:
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        array = array.astype(np.float64) + 0.0  # 1, 1.0 and True are one number, and so are 0 and -0
        array = np.where(np.isnan(array), np.inf, array)  # NaN marks a missing value, which equals another
    return [tuple(value) if isinstance(value, list) else value for value in array.tolist()]


def _arcs(graph: RawGraph) -> dict[tuple[int, int], Hashable]:
    """Return the values of each arc, those of parallel ones sorted."""
    values: dict[tuple[int, int], list[Hashable]] = {}
    edges = np.asarray(graph.edges).reshape(-1, 2).tolist()
    for (i, j), label in zip(edges, _labels(graph.edge_columns, len(edges)), strict=True):
        values.setdefault((i, j), []).append(label)
        if not graph.directed and i != j:
            values.setdefault((j, i), []).append(label)
    return {arc: tuple(sorted(labels, key=repr)) for arc, labels in values.items()}


def duplicate_groups(
    graphs: Any,
    transformer: Any,
    *,
    ids: Sequence[str] | None = None,
    standardize: bool = False,
    n_jobs: int | None = None,
) -> tuple[list[list[str]], list[DuplicatePair]]:
    """Return the groups of duplicates, and the pairs for which the isomorphism test is undecided.

    Duplicates are isomorphic graphs with the same attributes. Molecules must also have the same
    stereochemistry and isotopes.

    Parameters
    ----------
    graphs : collection of graphs of any kind
    transformer : GRNF
        Isomorphic graphs have equal vectors, up to rounding, so only graphs with equal vectors are compared.
    ids : sequence of str, optional
    standardize : bool, default=False
        The molecules were read with ``standardize=True``, so salts of the same molecule are duplicates.
    n_jobs : int, optional

    Returns
    -------
    groups : list of lists of str
        Ids, in the order of the graphs.
    undecided : list of DuplicatePair

    Examples
    --------
    >>> from grnf import GRNF, Graph
    >>> path = Graph(3, [(0, 1), (1, 2)])
    >>> graphs = [path, Graph(3, [(0, 1), (1, 2), (2, 0)]), path.permuted([1, 0, 2])]
    >>> duplicate_groups(graphs, GRNF(64, random_state=0))
    ([['0', '2']], [])
    """
    classes, forms, undecided = _classes(graphs, transformer, ids, standardize, n_jobs)
    groups = [group for names in classes for group in _split(names, forms, 1) if len(group) > 1]
    return groups, undecided


def groups_by_kind(
    graphs: Any, transformer: Any, *, standardize: bool = False
) -> tuple[list[tuple[str, list[str]]], list[DuplicatePair]]:
    """Return groups of isomorphic graphs with the kind of their equality, and the undecided pairs.

    The first graph of a group stands for the group among those of the following kinds.
    """
    classes, forms, undecided = _classes(graphs, transformer, None, standardize, None)
    found = []
    for names in classes:
        for level, kind in enumerate(KINDS):
            groups = _split(names, forms, level)
            found += [(kind, group) for group in groups if len(group) > 1]
            names = [group[0] for group in groups]
        found += [("isomorphic", names)] if len(names) > 1 else []
    return found, undecided


def _classes(
    graphs: Any, transformer: Any, ids: Sequence[str] | None, standardize: bool, n_jobs: int | None
) -> tuple[list[list[str]], dict[str, Forms], list[DuplicatePair]]:
    """Return the classes of isomorphic graphs, the forms of their molecules, and the undecided pairs."""
    collection = vectors_of(graphs, transformer, ids=ids, keep_graphs=True)
    pairs = _compared(collection, collection, _rounding(collection), n_jobs)
    group = {name: [name] for name in collection.unique_ids}
    for pair in pairs:
        one, two = group[pair.first], group[pair.second]
        if pair.verdict == "isomorphic" and one is not two:
            one += two
            group |= dict.fromkeys(two, one)
    order = {name: row for row, name in enumerate(group)}
    classes = {id(names): sorted(names, key=order.__getitem__) for names in group.values() if len(names) > 1}
    forms = {
        name: _forms(collection.graphs[order[name]], standardize)
        for names in classes.values()
        for name in names
    }
    undecided = [p for p in pairs if p.verdict == "undecided" and group[p.first] is not group[p.second]]
    return list(classes.values()), forms, undecided


def _split(names: list[str], forms: dict[str, Forms], level: int) -> list[list[str]]:
    """Split a class of isomorphic graphs by a form of their molecules. Other graphs stay together."""
    groups: dict[str | None, list[str]] = {}
    for name in names:
        own = forms[name]
        groups.setdefault(None if own is None else own[level], []).append(name)
    return list(groups.values())


def _forms(graph: RawGraph, standardize: bool) -> Forms:
    """Return canonical SMILES of a molecule, one for each of `KINDS`, or None for other graphs."""
    smiles = graph.graph_columns.get("smiles")
    if smiles is None:
        return None
    molecule = molecule_of_smiles(smiles)
    own = canonical_smiles(molecule)
    return own[0], *(canonical_smiles(standardized(molecule)) if standardize else own)


def _kind(first: Forms, second: Forms) -> str:
    """Return how two isomorphic graphs are equal."""
    if first is None or second is None:
        return "identical"
    return next((kind for kind, a, b in zip(KINDS, first, second, strict=True) if a == b), "isomorphic")


def near_duplicates(
    graphs: Any,
    transformer: Any,
    eps: float,
    *,
    ids: Sequence[str] | None = None,
    space: str = "plain",
    standardize: bool = False,
    n_jobs: int | None = None,
) -> list[DuplicatePair]:
    """Return all pairs of graphs up to a distance, nearest first, and whether they are isomorphic.

    Parameters
    ----------
    graphs : collection of graphs of any kind
    transformer : GRNF
    eps : float
        The largest distance.
    ids : sequence of str, optional
    space : "plain" or "whitened", default="plain"
        As in `GraphIndex`.
    standardize : bool, default=False
        As in `duplicate_groups`.
    n_jobs : int, optional

    Returns
    -------
    list of DuplicatePair
        With `first`, `second`, `distance`, `verdict` and `kind`.

    Examples
    --------
    >>> from grnf import GRNF
    >>> pairs = near_duplicates(["CCO", "OCC", "CCCO"], GRNF(512, random_state=0), eps=0.2)
    >>> [(pair.first, pair.second, round(pair.distance, 2), pair.verdict) for pair in pairs]
    [('0', '1', 0.0, 'isomorphic'), ('1', '2', 0.16, 'different'), ('0', '2', 0.16, 'different')]
    """
    collection = vectors_of(graphs, transformer, ids=ids, keep_graphs=True)
    pairs = _compared(collection, collection, eps, n_jobs, space, standardize)
    return sorted(pairs, key=lambda pair: pair.distance)


def leaked(
    train: Any,
    test: Any,
    transformer: Any,
    *,
    eps: float | None = None,
    train_ids: Sequence[str] | None = None,
    test_ids: Sequence[str] | None = None,
    space: str = "plain",
    standardize: bool = False,
    n_jobs: int | None = None,
) -> list[DuplicatePair]:
    """Return the graphs of one collection that are in another: pairs (of the first, of the second).

    The `kind` of a pair tells stereoisomers and isotopologues from identical molecules.

    Parameters
    ----------
    train, test : collections of graphs of any kind
    transformer : GRNF
    eps : float, optional
        Return all pairs up to that distance. By default only isomorphic and undecided ones.
    train_ids, test_ids : sequence of str, optional
    space : "plain" or "whitened", default="plain"
    standardize : bool, default=False
    n_jobs : int, optional
        As in `near_duplicates`.

    Returns
    -------
    list of DuplicatePair
        With `first`, `second`, `distance`, `verdict` and `kind`.

    Examples
    --------
    >>> from grnf import GRNF, Graph
    >>> path = Graph(3, [(0, 1), (1, 2)])
    >>> train, test = [path, Graph(3, [])], [Graph(2, []), path.permuted([1, 0, 2])]
    >>> [(pair.first, pair.second) for pair in leaked(train, test, GRNF(64, random_state=0))]
    [('0', '1')]
    """
    first = vectors_of(train, transformer, name="train", ids=train_ids, keep_graphs=True)
    second = vectors_of(test, first.transformer, name="test", ids=test_ids, keep_graphs=True)
    radius = _rounding(second) if eps is None else eps
    pairs = _compared(first, second, radius, n_jobs, space, standardize)
    return [pair for pair in pairs if eps is not None or pair.verdict != "different"]


def _rounding(collection: Collection) -> float:
    """Return the distance up to which vectors count as equal."""
    lengths = np.linalg.norm(np.asarray(collection.vectors, dtype=np.float64), axis=1)
    return ROUNDING * float(lengths.max())


def _compared(
    first: Collection,
    second: Collection,
    radius: float,
    n_jobs: int | None,
    space: str = "plain",
    standardize: bool = False,
) -> list[DuplicatePair]:
    """Return the pairs of graphs up to a distance, once each, by rows of the second collection."""
    hits = GraphIndex(space=space, n_jobs=n_jobs).add(first.vectors).within(second.vectors, radius)
    near = [
        (other, row, distance)
        for row, (others, distances) in enumerate(zip(hits.rows, hits.distances, strict=True))
        for other, distance in zip(others.tolist(), distances.tolist(), strict=True)
        if first is not second or other < row
    ]
    one, two = first.unique_ids, second.unique_ids
    graphs = {id(graph): graph for i, j, _ in near for graph in (first.graphs[i], second.graphs[j])}
    known = dict(zip(graphs, _certificates(graphs.values()), strict=True))
    pairs = []
    forms = cache(lambda graph: _forms(graph, standardize))
    for i, j, distance in near:
        g, h = first.graphs[i], second.graphs[j]
        verdict = known[id(g)].compare(known[id(h)])
        kind = _kind(forms(g), forms(h)) if verdict == "isomorphic" else None
        pairs.append(DuplicatePair(one[i], two[j], distance, verdict, kind))
    return pairs
