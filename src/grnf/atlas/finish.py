"""What a page says of graphs that have their places: neighbours, columns, words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from grnf.atlas.atlas import Atlas
from grnf.atlas.columns import Column, clusters
from grnf.atlas.drawings import Drawings
from grnf.atlas.layout import NEIGHBOURS, kept_neighbours
from grnf.atlas.neighbours import intervals, nearest_others, precision_of
from grnf.search.maps import make_map
from grnf.typing import FloatArray, IntArray

__all__ = ["Collected", "Placed", "Wishes", "finished", "rows_of"]

SHRINKAGE = 1e-2


@dataclass(frozen=True)
class Wishes:
    """What was asked of a map: the parameters of `grnf.map`."""

    layout: str
    space: str
    k: int
    differences: bool | None
    colour: str | None
    clusters: int
    delta: float
    seed: int
    n_jobs: int | None
    title: str


@dataclass(frozen=True, eq=False)
class Collected:
    """Graphs of a map: names, what they bring, drawings and vectors."""

    ids: list[str]
    columns: list[Column]
    drawings: Drawings
    Z: FloatArray
    transformer: Any


@dataclass(frozen=True, eq=False)
class Placed:
    """Places of graphs, the neighbours in the space of the layout, and words that say how they came about."""

    places: FloatArray
    near: IntArray
    far: FloatArray
    words: str


def rows_of(Z: FloatArray, space: str) -> FloatArray:
    """Return vectors as the layout compares them."""
    return make_map(space, Z, SHRINKAGE)(Z) if len(Z) else Z


def finished(graphs: Collected, placed: Placed, wishes: Wishes) -> Atlas:
    """Return the map, but for marks."""
    counted = placed.near[:, :NEIGHBOURS]
    kept = kept_neighbours(placed.places, counted)
    near, far = placed.near[:, : wishes.k], placed.far[:, : wishes.k]
    if wishes.space != "plain" or near.shape[1] < min(wishes.k, len(graphs.Z) - 1):
        near, far = nearest_others(graphs.Z, wishes.k, "plain", wishes.n_jobs)
    precision = precision_of(graphs.transformer) if near.size else None
    columns = [*graphs.columns, *_computed(kept, counted.shape[1], placed.far, graphs.Z, wishes)]
    return Atlas(
        title=wishes.title,
        ids=graphs.ids,
        places=placed.places,
        kept=kept,
        columns=columns,
        drawings=graphs.drawings,
        nearest=intervals(graphs.Z, near, far, precision, wishes.delta),
        marks=None,
        why_no_marks="",
        about=_about(placed.words, kept, counted.shape[1], graphs, wishes),
        colour=_first_colour(columns, wishes.colour),
        delta=wishes.delta,
        vectors=graphs.Z,
        transformer=graphs.transformer,
        space=wishes.space,
    )


def _computed(kept: FloatArray, counted: int, far: FloatArray, Z: FloatArray, wishes: Wishes) -> list[Column]:
    """Return the columns that are computed: honesty, outlier score, cluster."""
    found = []
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
    groups = clusters(rows_of(Z, wishes.space), wishes.clusters, wishes.seed)
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


def _about(words: str, kept: FloatArray, counted: int, graphs: Collected, wishes: Wishes) -> list[str]:
    lines = [f"Places: {words}."]
    if wishes.space == "whitened":
        lines.append(
            "Near, for the places, means whitened vectors, in which all principal directions count alike."
        )
    if counted:
        share = f"{100 * float(kept.mean()):.0f} %"
        lines.append(
            f"Honesty: on average {share} of the {counted} nearest graphs of a graph are among its {counted} "
            "nearest on the map; colour by “neighbours kept” to see where it fails. Distances between far "
            "groups mean little on any such map."
        )
    if len(graphs.Z):
        made = f"{type(graphs.transformer).__name__}, {graphs.Z.shape[1]} features"
        lines.append(
            f"Vectors: {made}. The nearest graphs beside a graph are exact, whatever the picture shows."
        )
    return lines
