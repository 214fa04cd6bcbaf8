"""From graphs to an atlas: vectors, exact neighbours, places, drawings and columns."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grnf.atlas.atlas import Atlas
from grnf.atlas.columns import Column, clusters, columns_of, make_column
from grnf.atlas.drawings import Drawings, draw_graphs
from grnf.atlas.layout import (
    LAYOUTS,
    NEIGHBOURS,

    chosen_layout,
    kept_neighbours,
    laid_out,
    n_wanted,
    placed_onto,
)
from grnf.atlas.neighbours import Marks, intervals, marked_nodes, nearest_others, precision_of
from grnf.errors import GraphError
from grnf.estimators import GRNF
from grnf.io.objects import graph_objects, to_raw
from grnf.io.raw import RawGraph
from grnf.rules import Bool, Int, OneOf, Real, checked
from grnf.search.maps import MAPS, make_map
from grnf.typing import FloatArray, IntArray

__all__ = ["map_graphs"]

AFFORDABLE_NODES = 50_000
"""Nodes in all up to which nodes that differ are marked where nothing is said: one vector is made for each."""


@dataclass(frozen=True)
class _Wishes:
    layout: str
    space: str
    k: int
    differences: bool | None
    colour: str | None
    clusters: int
    delta: float
    seed: int
    n_jobs: int | None


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
    colour: str | None = None,
    clusters: int = 8,
    places: str | None = None,
    onto: str | os.PathLike[str] | None = None,
    title: str = "Map of graphs",
    delta: float = 0.05,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Atlas:
    """Make a map of a collection of graphs that people look at: `grnf.map`.

    Parameters
    ----------
    graphs : collection of graphs of any kind, as in `GRNF.fit`; it may be empty
    y : sequence, optional
        Labels or targets; by default those that the graphs bring.
    ids : sequence of str, optional
        What the graphs are called; by default as they call themselves, or by their number.
    columns : mapping from name to sequence, optional
        What else points may be coloured by, one value for each graph.
    transformer : GRNF, optional
        Makes the vectors; it is fitted on the graphs if it is not yet.
    layout : {"auto", "tsne", "umap", "pca"}
        "auto" takes t-SNE for up to 5,000 graphs, for more UMAP, or principal axes where it is not installed.
    space : {"plain", "whitened"}
        What near means for the layout, see `GraphIndex`. The neighbours beside a graph are those under d_P.
    k : int, default=6
        Neighbours that are shown beside a graph.
    differences : bool, optional
        Mark the nodes that make neighbours differ, which takes a vector for each node; by default for
        collections of up to 50,000 nodes.
    colour : str, optional
        The column that colours the points first; by default the label, or the first column of classes.
    clusters : int, default=8
        Clusters that points may be coloured by.
    places : str, optional
        A column of nodes that says where they are; by default springs do, and RDKit for molecules.
    onto : path, optional
        A map that `Atlas.save` wrote: the graphs are placed among those that are there, which stay.
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
    >>> atlas = grnf.map(graphs, y, transformer=grnf.GRNF(64, random_state=0), title="SBM")
    >>> atlas.places.shape, atlas.html().startswith("<!doctype html>")
    ((40, 2), True)
    """
    wishes = _Wishes(
        checked(layout, "layout", OneOf(*LAYOUTS)),
        checked(space, "space", OneOf(*MAPS)),
        checked(k, "k", Int(0, 50)),
        checked(differences, "differences", Bool(), OneOf(None)),
        colour,
        checked(clusters, "clusters", Int(2, 16)),
        checked(delta, "delta", Real(1)),
        checked(random_state, "random_state", Int(0)),
        n_jobs,
    )
    raws = _raw_graphs(graphs)
    names = _names(raws, ids)
    old = None if onto is None else Atlas.open(onto)
    if old is not None:
        transformer, wishes = old.transformer, replace(wishes, space=old.space)
    Z, transformer = _vectors(raws, transformer, wishes.seed)
    own = columns_of(raws, y, columns)
    drawings = draw_graphs(raws, places)
    if old is None:
        return _new(raws, names, own, drawings, Z, transformer, wishes, title)
    return _grown(old, names, own, drawings, Z, wishes, title)


def _raw_graphs(graphs: Any) -> list[RawGraph]:
    found = []
    for place, graph in enumerate(graph_objects(graphs, caller="graphs")):
        try:
            raw = to_raw(graph)
        except GraphError as error:
            raise GraphError(f"graphs[{place}]: {error}") from error
        if isinstance(graph, str) and "smiles" not in raw.graph_columns:
            raw = replace(raw, graph_columns={**raw.graph_columns, "smiles": graph})
        found.append(raw)
    return found


def _names(raws: list[RawGraph], ids: Sequence[str] | None) -> list[str]:
    if ids is not None:
        if len(ids) != len(raws):
            raise GraphError(f"{len(ids)} ids for {len(raws)} graphs")
        return [str(name) for name in ids]
    return [str(at) if raw.graph_id is None else str(raw.graph_id) for at, raw in enumerate(raws)]


def _vectors(raws: list[RawGraph], transformer: Any, seed: int) -> tuple[FloatArray, Any]:
    if transformer is None:
        transformer = GRNF(random_state=seed)
    if not raws:
        width = getattr(transformer, "n_components_", 1)
        return np.zeros((0, width), np.float32), transformer
    if not hasattr(transformer, "n_components_"):
        transformer = transformer.fit(raws)
    return np.asarray(transformer.transform(raws)), transformer


def _new(
    raws: list[RawGraph],
    names: list[str],
    own: list[Column],
    drawings: Drawings,
    Z: FloatArray,
    transformer: Any,
    wishes: _Wishes,
    title: str,
) -> Atlas:
    """Lay out a collection, and say all that the page says of it."""
    layout = chosen_layout(wishes.layout, len(Z))
    near, far = nearest_others(Z, n_wanted(layout, len(Z)), wishes.space, wishes.n_jobs)
    rows = make_map(wishes.space, Z, 1e-2)(Z) if len(Z) else Z
    places = laid_out(layout, rows, near, far, wishes.seed)
    atlas = _finished(
        names, own, drawings, Z, transformer, wishes, title, rows, places, (near, far), layout.words
    )
    marks, why = _marks(raws, Z, transformer, atlas.nearest.places.astype(np.int64), drawings, wishes)
    return replace(atlas, marks=marks, why_no_marks=why)


def _marks(
    raws: list[RawGraph],
    Z: FloatArray,
    transformer: Any,
    near: IntArray,
    drawings: Drawings,
    wishes: _Wishes,
) -> tuple[Marks | None, str]:
    nodes = int(drawings.n_nodes.sum(dtype=np.int64))
    if wishes.differences is False or not near.size:
        return None, "Nodes that differ are not marked."
    if wishes.differences is None and nodes > AFFORDABLE_NODES:
        return None, (
            f"Nodes that differ are not marked on this map: that takes a vector for each of its {nodes:,} nodes "
            "(grnf map --differences does it; grnf compare does it for two graphs)."
        )
    return marked_nodes(transformer, raws, Z, near, drawings.n_nodes.tolist()), ""


def _grown(
    old: Atlas,
    names: list[str],
    own: list[Column],
    drawings: Drawings,
    Z: FloatArray,
    wishes: _Wishes,
    title: str,
) -> Atlas:
    """Place new graphs among those of a map."""
    from grnf.search import GraphIndex

    taken = set(old.ids) & set(names)
    names = [f"{name} (new)" if name in taken else name for name in names]
    before, after = len(old), len(names)
    if before and after:
        index = GraphIndex(space=old.space, n_jobs=wishes.n_jobs).add(old.vectors)
        hits = index.search(Z, min(NEIGHBOURS, before))
        found = np.array([[int(name) for name in row] for row in hits.ids])
        added = placed_onto(old.places, found, np.array(hits.distances))
    else:
        added = np.zeros((after, 2))
    all_Z = np.concatenate([old.vectors, Z]) if after else old.vectors
    near, far = nearest_others(all_Z, NEIGHBOURS, old.space, wishes.n_jobs)
    computed = {"nodes", "edges", "neighbours kept", "outlier score", "cluster", "new"}
    kept = [column for column in old.columns if column.name not in computed]
    words = (
        f"{after:,} new graphs were placed on a map of {before:,}, among their {min(5, before)} nearest graphs; "
        "the others stay where they were"
    )
    whole = _both(kept, own, before, after)
    state = ["on the map before"] * before + ["new"] * after
    whole.insert(0, make_column("new", state, "Which graphs were placed on the map later."))
    atlas = _finished(
        [*old.ids, *names],
        whole,
        old.drawings.and_more(drawings),
        all_Z,
        old.transformer,
        wishes,
        title,
        make_map(old.space, all_Z, 1e-2)(all_Z) if len(all_Z) else all_Z,
        np.concatenate([old.places, added]),
        (near, far),
        words,
    )
    why = "Nodes that differ are not marked where graphs were placed on a map (grnf compare says them)."
    return replace(atlas, why_no_marks=why)


def _both(first: list[Column], second: list[Column], before: int, after: int) -> list[Column]:
    old, new = ({column.name: column.values for column in columns} for columns in (first, second))
    found = [
        make_column(name, [*old.get(name, [None] * before), *new.get(name, [None] * after)])
        for name in dict.fromkeys([*old, *new])
    ]
    return found


def _finished(
    names: list[str],
    own: list[Column],
    drawings: Drawings,
    Z: FloatArray,
    transformer: Any,
    wishes: _Wishes,
    title: str,
    rows: FloatArray,
    places: FloatArray,
    around: tuple[IntArray, FloatArray],
    words: str,
) -> Atlas:
    near, far = around
    counted = near[:, :NEIGHBOURS]
    kept = kept_neighbours(places, counted)
    if wishes.space == "plain":
        beside = near[:, : wishes.k], far[:, : wishes.k]
    else:
        beside = nearest_others(Z, wishes.k, "plain", wishes.n_jobs)
    if beside[0].shape[1] < min(wishes.k, len(Z) - 1):
        beside = nearest_others(Z, wishes.k, "plain", wishes.n_jobs)
    columns = [*own, *_computed(drawings, kept, counted.shape[1], far, rows, wishes)]
    return Atlas(
        title=title,
        ids=names,
        places=places,
        kept=kept,
        columns=columns,
        drawings=drawings,
        nearest=intervals(Z, *beside, precision_of(transformer) if beside[0].size else None, wishes.delta),
        marks=None,
        why_no_marks="",
        about=_about(words, kept, counted.shape[1], Z, transformer, wishes),
        colour=_first_colour(columns, wishes.colour),
        delta=wishes.delta,
        vectors=Z,
        transformer=transformer,
        space=wishes.space,
    )


def _computed(
    drawings: Drawings, kept: FloatArray, counted: int, far: FloatArray, rows: FloatArray, wishes: _Wishes
) -> list[Column]:
    """Return the columns that are computed: sizes, honesty, outlier score, cluster."""
    found = [
        Column("nodes", "number", drawings.n_nodes.tolist(), "Nodes of each graph that are drawn."),
        Column("edges", "number", drawings.n_edges.tolist(), "Edges of each graph that are drawn."),
    ]
    if counted:
        found.append(
            Column(
                "neighbours kept",
                "number",
                np.round(kept, 4).tolist(),
                f"Honesty of the map: the share of a graph's {counted} nearest graphs that are among its "
                f"{counted} nearest on the map.",
            )
        )
        ten = far[:, :10]
        found.append(
            Column(
                "outlier score",
                "number",
                ten.mean(axis=1).tolist(),
                f"Mean distance to the {ten.shape[1]} nearest graphs: large for a graph that stands alone.",
            )
        )
    groups = clusters(rows, wishes.clusters, wishes.seed)
    return found if groups is None else [*found, groups]


def _first_colour(columns: list[Column], wanted: str | None) -> str:
    """Return the column that is shown first: as asked, else the first of classes that graphs brought."""
    names = {column.name: column.kind for column in columns if column.kind != "text"}
    if wanted is not None:
        if wanted not in names:
            raise ValueError(f"no column {wanted!r} to colour by; there are {', '.join(names) or 'none'}")
        return wanted
    if "label" in names:
        return "label"
    own = [name for name, kind in names.items() if kind == "category" and name != "cluster"]
    return next(iter([*own, *names]), "")


def _about(
    words: str, kept: FloatArray, counted: int, Z: FloatArray, transformer: Any, wishes: _Wishes
) -> list[str]:
    lines = [f"Places: {words}."]
    if wishes.space == "whitened":
        lines.append(
            "Near, for the places, means whitened vectors, in which all principal directions count alike."
        )
    if counted:
        lines.append(
            f"Honesty: on average {100 * float(kept.mean()):.0f} % of the {counted} nearest graphs of a graph are "
            f"among its {counted} nearest on the map; colour by “neighbours kept” to see where it fails. Distances "
            "between far groups mean little on any such map."
        )
    if len(Z):
        lines.append(
            f"Vectors: {type(transformer).__name__}, {Z.shape[1]} features. The nearest graphs beside a graph are "
            "exact, whatever the picture shows."
        )
    return lines


