"""From graphs to an atlas: vectors, exact neighbours, places, drawings and columns."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from grnf._utils.rules import Bool, Int, OneOf, Real, checked
from grnf.atlas.atlas import Atlas
from grnf.atlas.columns import Column, columns_of
from grnf.atlas.drawings import draw_graphs
from grnf.atlas.finish import Collected, Placed, Wishes, finished, rows_of
from grnf.atlas.grow import grown
from grnf.atlas.layout import LAYOUTS, chosen_layout, laid_out, n_wanted
from grnf.atlas.neighbours import Marks, marked_nodes, nearest_others
from grnf.collection import vectors_of
from grnf.errors import GraphError
from grnf.estimators import GRNF
from grnf.io.objects import graph_objects, to_raw
from grnf.io.raw import RawGraph
from grnf.search.maps import MAPS
from grnf.typing import FloatArray

__all__ = ["map_graphs"]

AFFORDABLE_NODES = 50_000
"""Nodes in all up to which those that differ are marked where nothing is said: a vector for each is made."""


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
    wishes = Wishes(
        checked(layout, "layout", OneOf(*LAYOUTS)),
        checked(space, "space", OneOf(*MAPS)),
        checked(k, "k", Int(0, 50)),
        checked(differences, "differences", Bool(), OneOf(None)),
        colour,
        checked(clusters, "clusters", Int(2, 16)),
        checked(delta, "delta", Real(1)),
        checked(random_state, "random_state", Int(0)),
        n_jobs,
        str(title),
    )
    raws = _raw_graphs(graphs)
    names = _names(raws, ids)
    old = None if onto is None else Atlas.open(onto)
    if old is not None:
        transformer, wishes = old.transformer, replace(wishes, space=old.space)
    Z, transformer = _vectors(raws, transformer, wishes.seed)
    own = [*columns_of(raws, y, columns), *_sizes(raws)]
    collected = Collected(names, own, draw_graphs(raws, places), Z, transformer)
    return _new(raws, collected, wishes) if old is None else grown(old, collected, wishes)


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


def _sizes(raws: list[RawGraph]) -> list[Column]:
    n_edges = [len(np.asarray(raw.edges).reshape(-1, 2)) for raw in raws]
    return [
        Column("nodes", "number", [raw.n_nodes for raw in raws], "Nodes of each graph."),
        Column("edges", "number", n_edges, "Edges of each graph."),
    ]


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
    found = vectors_of(raws, transformer, name="graphs")
    return found.vectors, found.transformer


def _new(raws: list[RawGraph], graphs: Collected, wishes: Wishes) -> Atlas:
    """Lay out a collection, and say all that the page says of it."""
    n = len(graphs.Z)
    layout = chosen_layout(wishes.layout, n)
    near, far = nearest_others(graphs.Z, n_wanted(layout, n), wishes.space, wishes.n_jobs)
    places = laid_out(layout, rows_of(graphs.Z, wishes.space), near, far, wishes.seed)
    atlas = finished(graphs, Placed(places, near, far, layout.words), wishes)
    marks, why = _marks(raws, atlas, wishes)
    return replace(atlas, marks=marks, why_no_marks=why)


def _marks(raws: list[RawGraph], atlas: Atlas, wishes: Wishes) -> tuple[Marks | None, str]:
    """Return marks, or why there are none."""
    near, drawn = atlas.nearest.places.astype(np.int64), atlas.drawings.n_nodes
    nodes = int(drawn.sum(dtype=np.int64))
    if wishes.differences is False or not near.size:
        return None, "Nodes that differ are not marked."
    if wishes.differences is None and nodes > AFFORDABLE_NODES:
        return None, (
            f"Nodes that differ are not marked on this map: that takes a vector for each of its {nodes:,} "
            "nodes (grnf map --differences does it; grnf compare does it for two graphs)."
        )
    return marked_nodes(atlas.transformer, raws, atlas.vectors, near, drawn.tolist()), ""
