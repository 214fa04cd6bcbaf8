"""From graphs to a map: vectors, exact nearest neighbors, positions, drawings and columns."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from grnf._utils.random import draw_seed
from grnf._utils.rules import Bool, Int, OneOf, Real, checked
from grnf.collection import vectors_of
from grnf.errors import GraphError
from grnf.estimators import GRNF
from grnf.io.objects import graph_objects, to_raw
from grnf.io.raw import RawGraph
from grnf.maps.drawings import draw_graphs
from grnf.maps.graph_map import GraphMap
from grnf.maps.layout import (
    LAYOUTS,
    NEIGHBORS,
    ONTO,
    choose_layout,
    neighbor_recall,
    positions_of_layout,
    positions_onto,
)
from grnf.maps.neighbors import Marks, intervals, marked_nodes, nearest_others, precision_of
from grnf.maps.point_columns import Column, clusters, columns_of, joined, make_column
from grnf.search import GraphIndex
from grnf.search.whitening import SPACES, space_map
from grnf.typing import FloatArray

__all__ = ["map_graphs"]

AFFORDABLE_NODES = 50_000
"""Total number of nodes up to which those that differ are marked by default: each takes a vector."""

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
    n_neighbors: int = 6,
    differences: bool | None = None,
    color: str | None = None,
    n_clusters: int = 8,
    positions: str | None = None,
    onto: str | os.PathLike[str] | None = None,
    title: str = "Map of graphs",
    confidence: float = 0.95,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> GraphMap:
    """Make an interactive map of a collection of graphs.

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
        Distance for the layout, see `GraphIndex`. The neighbors shown are those under d_P.
    n_neighbors : int, default=6
        Neighbors that are shown with a graph.
    differences : bool, optional
        Mark the nodes in which neighbors differ, which takes a vector for each node; by default for
        collections of up to 50,000 nodes.
    color : str, optional
        The column that colors the points at first; by default the label, or the first column of classes.
    n_clusters : int, default=8
        Clusters that points can be colored by.
    positions : str, optional
        A node column with their positions; by default a spring layout, and RDKit for molecules.
    onto : path, optional
        A saved map: the graphs are placed on it, and the old ones keep their positions.
    title : str
    confidence : float, default=0.95
        Probability with which an interval contains d_P.
    random_state : int, numpy Generator or RandomState, optional
    n_jobs : int, optional
        Threads that share searches.

    Examples
    --------
    >>> import grnf
    >>> from grnf.datasets import make_sbm
    >>> graphs, y = make_sbm(40, random_state=0)
    >>> transformer = grnf.GRNF(64, random_state=0)
    >>> graph_map = grnf.map_graphs(graphs, y, transformer=transformer, title="SBM", random_state=0)
    >>> graph_map.positions.shape, graph_map.html().startswith("<!doctype html>")
    ((40, 2), True)
    """
    checked(layout, "layout", OneOf(*LAYOUTS))
    checked(space, "space", OneOf(*SPACES))
    k = checked(n_neighbors, "n_neighbors", Int(0, 50))
    checked(differences, "differences", Bool(), OneOf(None))
    checked(n_clusters, "n_clusters", Int(2, 16))
    checked(confidence, "confidence", Real(1))
    seed = draw_seed(random_state)
    raws = _raw_graphs(graphs)
    own = [*columns_of(raws, y, columns), *_sizes(raws)]
    drawings = draw_graphs(raws, positions)
    old = None if onto is None else GraphMap.load(onto)
    if old is not None:
        transformer, space = old.transformer, old.space
    transformer = GRNF(random_state=seed) if transformer is None else transformer
    names, Z = [], np.zeros((0, getattr(transformer, "n_components_", 1)), np.float32)
    if raws:
        collection = vectors_of(raws, transformer, name="graphs", ids=ids)
        names, Z, transformer = collection.ids, collection.vectors, collection.transformer
    if old is None:
        chosen = choose_layout(layout, len(Z))
        near, far = nearest_others(Z, chosen.n_neighbors, space, n_jobs)
        where = positions_of_layout(chosen, _rows(Z, space), near, far, seed % 2**32)
        words = chosen.words
    else:
        words = (
            f"{len(Z):,} new graphs were placed on a map of {len(old):,}, among their {min(ONTO, len(old))} "
            "nearest graphs; the old ones keep their positions"
        )
        where = np.concatenate([old.positions, _positions_onto(old, Z, n_jobs)])
        names = [*old.ids, *(f"{name} (new)" if name in set(old.ids) else name for name in names)]
        own = _joined_columns(old, own, len(Z))
        drawings = old.drawings.joined(drawings)
        Z = np.concatenate([old.vectors, Z]) if len(Z) else old.vectors
        near, far = nearest_others(Z, NEIGHBORS, space, n_jobs)
    kept = neighbor_recall(where, near[:, :NEIGHBORS])
    compared = min(near.shape[1], NEIGHBORS)
    own += _computed(kept, compared, far, clusters(_rows(Z, space), n_clusters, seed % 2**32))
    if space != "plain" or near.shape[1] < min(k, len(Z) - 1):
        near, far = nearest_others(Z, k, "plain", n_jobs)
    precision = precision_of(transformer) if k and near.size else None
    graph_map = GraphMap(
        title=str(title),
        ids=names,
        positions=where,
        kept=kept,
        columns=own,
        drawings=drawings,
        nearest=intervals(Z, near[:, :k], far[:, :k], precision, confidence),
        about=_about(words, kept, compared, transformer, Z, space),
        color=_first_color(own, color),
        confidence=confidence,
        vectors=Z,
        transformer=transformer,
        space=space,
        why_no_marks="Nodes that differ are not marked on a map with new graphs: see grnf compare.",
    )
    return graph_map if old is not None else _marked(graph_map, raws, differences)


def _raw_graphs(graphs: Any) -> list[RawGraph]:
    raws = []
    for row, graph in enumerate(graph_objects(graphs, caller="graphs")):
        try:
            raw = to_raw(graph)
        except GraphError as error:
            raise error.located(index=row, where="graphs") from error
        if isinstance(graph, str) and "smiles" not in raw.graph_columns:
            raw = replace(raw, graph_columns={**raw.graph_columns, "smiles": graph})
        raws.append(raw)
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
    return positions_onto(old.positions, np.array(hits.rows), np.array(hits.distances))


def _joined_columns(old: GraphMap, new: list[Column], n_new: int) -> list[Column]:
    known = [column for column in old.columns if column.name not in COMPUTED]
    state = ["on the map before"] * len(old) + ["new"] * n_new
    first = make_column("new", state, "Which graphs were placed on the map later.")
    return [first, *joined(known, new, len(old), n_new)]


def _computed(kept: FloatArray, compared: int, far: FloatArray, groups: Column | None) -> list[Column]:
    """Return the columns that are computed: neighborhood preservation, outlier score, cluster."""
    columns = [] if groups is None else [groups]
    if not compared:
        return columns
    ten = far[:, :10]
    meaning = (
        f"The share of a graph's {compared} nearest graphs that are among its {compared} nearest on the map."
    )
    score = f"Mean distance to the {ten.shape[1]} nearest graphs: large for an isolated graph."
    return [
        Column("neighbors kept", "number", np.round(kept, 4).tolist(), meaning),
        Column("outlier score", "number", ten.mean(axis=1).tolist(), score),
        *columns,
    ]


def _first_color(columns: list[Column], chosen: str | None) -> str:
    """Return the column that is shown first: the chosen one, the label, or the first categorical one."""
    kinds = {column.name: column.kind for column in columns if column.kind != "text"}
    if chosen is not None and chosen not in kinds:
        raise ValueError(f"color: no column {chosen!r} found. Available: {', '.join(kinds) or 'none'}")
    classes = [name for name, kind in kinds.items() if kind == "category" and name != "cluster"]
    label = ["label"] if "label" in kinds else []
    return chosen or next(iter([*label, *classes, *kinds]), "")


def _about(
    words: str, kept: FloatArray, compared: int, transformer: Any, Z: FloatArray, space: str
) -> list[str]:
    lines = [f"Positions: {words}."]
    if space == "whitened":
        lines.append("For the positions, near means whitened vectors (equal variance in all directions).")
    if compared:
        lines.append(
            f"Neighborhood preservation: {100 * float(kept.mean()):.0f} % on average: the share of the "
            f"{compared} nearest graphs of a graph that are among its {compared} nearest on the map. Color "
            "by “neighbors kept” to see where it is low. Distances between far groups mean little on any map."
        )
    if len(Z):
        lines.append(
            f"Vectors: {type(transformer).__name__}, {Z.shape[1]} features. The nearest graphs shown with a "
            "graph are exact, whatever the map shows."
        )
    return lines


def _marked(graph_map: GraphMap, raws: list[RawGraph], differences: bool | None) -> GraphMap:
    """Mark the nodes in which neighbors differ, or give the reason why not."""
    near, drawn = graph_map.nearest.rows.astype(np.int64), graph_map.drawings.n_nodes
    nodes = int(drawn.sum(dtype=np.int64))
    marks: Marks | None = None
    why = "Nodes that differ are not marked."
    if differences is None and nodes > AFFORDABLE_NODES:
        why = (
            f"Nodes that differ are not marked: each of the {nodes:,} nodes of this map takes a vector. "
            "Use grnf map --differences, or grnf compare for two graphs."
        )
    elif differences is not False and near.size:
        marks = marked_nodes(graph_map.transformer, raws, graph_map.vectors, near, drawn.tolist())
        why = ""
    return replace(graph_map, marks=marks, why_no_marks=why)
