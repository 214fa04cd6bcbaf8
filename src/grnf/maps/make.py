"""From graphs to a map: vectors, exact nearest neighbors, positions, drawings and columns."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from grnf._utils.rules import Bool, Int, OneOf, Real, checked
from grnf.collection import vectors_of
from grnf.estimators import GRNF
from grnf.io.objects import graph_objects, iter_raw
from grnf.io.raw import RawGraph
from grnf.maps.columns import Column, clusters, columns_of, joined, make_column
from grnf.maps.drawings import draw_graphs
from grnf.maps.graph_map import GraphMap
from grnf.maps.layout import LAYOUTS, NEIGHBORS, ONTO, choose_layout, laid_out, neighbors_kept, placed_onto
from grnf.maps.neighbors import Marks, intervals, marked_nodes, nearest_others, precision_of
from grnf.search import GraphIndex
from grnf.search.whitening import SPACES, space_map
from grnf.typing import FloatArray, IntArray

__all__ = ["map_graphs"]

AFFORDABLE_NODES = 50_000
"""Nodes in all up to which those that differ are marked by default: each takes a vector."""

COMPUTED = {"neighbors kept", "outlier score", "cluster", "new"}
"""Columns that are computed again when graphs are placed on a map."""


def map_graphs(
    graphs: Any,
    y: Sequence[Any] | None = None,
    *,
    ids: Sequence[str] | None = None,
    columns: Mapping[str, Sequence[Any]] | None = None,
    transformer: Any = None,
    layout: str = "auto",
    space: str = "plain",
    k: int = 6,
    differences: bool | None = None,
    color: str | None = None,
    n_clusters: int = 8,
    positions: str | None = None,
    onto: str | os.PathLike[str] | None = None,
    title: str = "Map of graphs",
    delta: float = 0.05,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> GraphMap:
    """Make an interactive map of a collection of graphs: `grnf.map`.

    Parameters
    ----------
    graphs : collection of graphs of any kind, as in `GRNF.fit`; it may be empty
    y : sequence, optional
        Labels or targets; by default those of the graphs.
    ids : sequence of str, optional
        Names of the graphs; by default their own, or their numbers.
    columns : mapping from name to sequence, optional
        Further values to color points by, one for each graph.
    transformer : GRNF, optional
        Makes the vectors; it is fitted on the graphs if it is not yet.
    layout : {"auto", "tsne", "umap", "pca"}
        "auto" takes t-SNE for up to 5,000 graphs, for more UMAP, or principal axes if it is not installed.
    space : {"plain", "whitened"}
        What near means for the layout, see `GraphIndex`. The neighbors shown are those under d_P.
    k : int, default=6
        Neighbors that are shown with a graph.
    differences : bool, optional
        Mark the nodes that make neighbors differ, which takes a vector for each node; by default for
        collections of up to 50,000 nodes.
    color : str, optional
        The column that colors the points first; by default the label, or the first column of classes.
    n_clusters : int, default=8
        Clusters that points can be colored by.
    positions : str, optional
        A node column with their positions; by default springs, and RDKit for molecules.
    onto : path, optional
        A map that `GraphMap.save` wrote: the graphs are placed on it, and the old ones keep their positions.
    title : str
    delta : float, default=0.05
        Probability with which an interval may fail.
    random_state : int, default=0
    n_jobs : int, optional
        Threads that share searches.

    Examples
    --------
    >>> import grnf
    >>> from grnf.datasets import make_sbm
    >>> graphs, y = make_sbm(40, random_state=0)
    >>> found = grnf.map(graphs, y, transformer=grnf.GRNF(64, random_state=0), title="SBM")
    >>> found.positions.shape, found.html().startswith("<!doctype html>")
    ((40, 2), True)
    """
    checked(layout, "layout", OneOf(*LAYOUTS))
    checked(space, "space", OneOf(*SPACES))
    checked(k, "k", Int(0, 50))
    checked(differences, "differences", Bool(), OneOf(None))
    checked(n_clusters, "n_clusters", Int(2, 16))
    checked(delta, "delta", Real(1))
    checked(random_state, "random_state", Int(0))
    raws = _raw_graphs(graphs)
    own = [*columns_of(raws, y, columns), *_sizes(raws)]
    drawings = draw_graphs(raws, positions)
    old = None if onto is None else GraphMap.open(onto)
    if old is not None:
        transformer, space = old.transformer, old.space
    transformer = GRNF(random_state=random_state) if transformer is None else transformer
    names, Z = [], np.zeros((0, getattr(transformer, "n_components_", 1)), np.float32)
    if raws:
        given = vectors_of(raws, transformer, name="graphs", ids=ids)
        names, Z, transformer = given.ids, given.vectors, given.transformer
    if old is None:
        chosen = choose_layout(layout, len(Z))
        near, far = nearest_others(Z, chosen.n_neighbors, space, n_jobs)
        where = laid_out(chosen, _rows(Z, space), near, far, random_state)
        words = chosen.words
    else:
        words = (
            f"{len(Z):,} new graphs were placed on a map of {len(old):,}, among their {min(ONTO, len(old))} "
            "nearest graphs; the old ones keep their positions"
        )
        where = np.concatenate([old.positions, _positions_onto(old, Z, n_jobs)])
        names = [*old.ids, *(f"{name} (new)" if name in set(old.ids) else name for name in names)]
        own = _joined_columns(old, own, len(Z))
        drawings = old.drawings.and_more(drawings)
        Z = np.concatenate([old.vectors, Z]) if len(Z) else old.vectors
        near, far = nearest_others(Z, NEIGHBORS, space, n_jobs)
    counted = near[:, :NEIGHBORS]
    kept = neighbors_kept(where, counted)
    own += _computed(kept, counted.shape[1], far, clusters(_rows(Z, space), n_clusters, random_state))
    if space != "plain" or near.shape[1] < min(k, len(Z) - 1):
        near, far = nearest_others(Z, k, "plain", n_jobs)
    precision = precision_of(transformer) if k and near.size else None
    found = GraphMap(
        title=str(title),
        ids=names,
        positions=where,
        kept=kept,
        columns=own,
        drawings=drawings,
        nearest=intervals(Z, near[:, :k], far[:, :k], precision, delta),
        about=_about(words, kept, counted.shape[1], transformer, Z, space),
        color=_first_color(own, color),
        delta=delta,
        vectors=Z,
        transformer=transformer,
        space=space,
        why_no_marks="Nodes that differ are not marked on a map with new graphs: see grnf compare.",
    )
    return found if old is not None else _marked(found, raws, differences)


def _raw_graphs(graphs: Any) -> list[RawGraph]:
    objects = list(graph_objects(graphs, caller="graphs"))
    raws = list(iter_raw(objects, caller="graphs"))
    for place, graph in enumerate(objects):
        if isinstance(graph, str) and "smiles" not in raws[place].graph_columns:
            columns = {**raws[place].graph_columns, "smiles": graph}
            raws[place] = replace(raws[place], graph_columns=columns)
    return raws


def _sizes(raws: list[RawGraph]) -> list[Column]:
    n_edges = [len(np.asarray(raw.edges).reshape(-1, 2)) for raw in raws]
    return [
        Column("nodes", "number", [raw.n_nodes for raw in raws], "Nodes of each graph."),
        Column("edges", "number", n_edges, "Edges of each graph."),
    ]


def _rows(Z: FloatArray, space: str) -> FloatArray:
    """Return vectors as the layout compares them."""
    return space_map(space, Z)(Z) if len(Z) else Z


def _positions_onto(old: GraphMap, Z: FloatArray, n_jobs: int | None) -> FloatArray:
    if not len(old) or not len(Z):
        return np.zeros((len(Z), 2))
    hits = GraphIndex(space=old.space, n_jobs=n_jobs).add(old.vectors).search(Z, min(ONTO, len(old)))
    near: IntArray = np.array(hits.ids).astype(np.int64)
    return placed_onto(old.positions, near, np.array(hits.distances))


def _joined_columns(old: GraphMap, new: list[Column], n_new: int) -> list[Column]:
    known = [column for column in old.columns if column.name not in COMPUTED]
    state = ["on the map before"] * len(old) + ["new"] * n_new
    first = make_column("new", state, "Which graphs were placed on the map later.")
    return [first, *joined(known, new, len(old), n_new)]


def _computed(kept: FloatArray, counted: int, far: FloatArray, groups: Column | None) -> list[Column]:
    """Return the columns that are computed: neighborhood preservation, outlier score, cluster."""
    found = [] if groups is None else [groups]
    if not counted:
        return found
    ten = far[:, :10]
    meaning = (
        f"The share of a graph's {counted} nearest graphs that are among its {counted} nearest on the map."
    )
    score = f"Mean distance to the {ten.shape[1]} nearest graphs: large for a graph that stands alone."
    return [
        Column("neighbors kept", "number", np.round(kept, 4).tolist(), meaning),
        Column("outlier score", "number", ten.mean(axis=1).tolist(), score),
        *found,
    ]


def _first_color(columns: list[Column], wanted: str | None) -> str:
    """Return the column that is shown first: as asked, else the label, else the first column of classes."""
    kinds = {column.name: column.kind for column in columns if column.kind != "text"}
    if wanted is not None and wanted not in kinds:
        raise ValueError(f"color: no column {wanted!r} found. Available: {', '.join(kinds) or 'none'}")
    classes = [name for name, kind in kinds.items() if kind == "category" and name != "cluster"]
    label = ["label"] if "label" in kinds else []
    return wanted or next(iter([*label, *classes, *kinds]), "")


def _about(
    words: str, kept: FloatArray, counted: int, transformer: Any, Z: FloatArray, space: str
) -> list[str]:
    lines = [f"Positions: {words}."]
    if space == "whitened":
        lines.append("For the positions, near means whitened vectors (equal variance in all directions).")
    if counted:
        lines.append(
            f"Neighborhood preservation: {100 * float(kept.mean()):.0f} % on average: the share of the "
            f"{counted} nearest graphs of a graph that are among its {counted} nearest on the map. Color by "
            "“neighbors kept” to see where it is low. Distances between far groups mean little on any map."
        )
    if len(Z):
        lines.append(
            f"Vectors: {type(transformer).__name__}, {Z.shape[1]} features. The nearest graphs shown with a "
            "graph are exact, whatever the map shows."
        )
    return lines


def _marked(found: GraphMap, raws: list[RawGraph], differences: bool | None) -> GraphMap:
    """Mark the nodes that make neighbors differ, or tell why not."""
    near, drawn = found.nearest.places.astype(np.int64), found.drawings.n_nodes
    nodes = int(drawn.sum(dtype=np.int64))
    marks: Marks | None = None
    why = "Nodes that differ are not marked."
    if differences is None and nodes > AFFORDABLE_NODES:
        why = (
            f"Nodes that differ are not marked: each of the {nodes:,} nodes of this map takes a vector. "
            "Use grnf map --differences, or grnf compare for two graphs."
        )
    elif differences is not False and near.size:
        marks, why = marked_nodes(found.transformer, raws, found.vectors, near, drawn.tolist()), ""
    return replace(found, marks=marks, why_no_marks=why)
