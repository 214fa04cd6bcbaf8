"""New graphs on a map that is there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grnf.atlas.atlas import Atlas
from grnf.atlas.columns import Column, make_column
from grnf.atlas.finish import Collected, Placed, Wishes, finished
from grnf.atlas.layout import NEIGHBOURS, ONTO, placed_onto
from grnf.atlas.neighbours import nearest_others
from grnf.search import GraphIndex
from grnf.typing import FloatArray

__all__ = ["grown"]

COMPUTED = {"neighbours kept", "outlier score", "cluster", "new"}
"""Columns that are made again."""


def grown(old: Atlas, new: Collected, wishes: Wishes) -> Atlas:
    """Place new graphs among those of a map, which stay."""
    before, after = len(old), len(new.ids)
    taken = set(old.ids)
    names = [f"{name} (new)" if name in taken else name for name in new.ids]
    kept = [column for column in old.columns if column.name not in COMPUTED]
    state = ["on the map before"] * before + ["new"] * after
    columns = _both(kept, new.columns, before, after)
    columns.insert(0, make_column("new", state, "Which graphs were placed on the map later."))
    Z = np.concatenate([old.vectors, new.Z]) if after else old.vectors
    whole = Collected([*old.ids, *names], columns, old.drawings.and_more(new.drawings), Z, old.transformer)
    places = np.concatenate([old.places, _places(old, new.Z, wishes)])
    words = (
        f"{after:,} new graphs were placed on a map of {before:,}, among their {min(ONTO, before)} nearest "
        "graphs; the others stay where they were"
    )
    near, far = nearest_others(Z, NEIGHBOURS, old.space, wishes.n_jobs)
    atlas = finished(whole, Placed(places, near, far, words), wishes)
    why = "Nodes that differ are not marked where graphs were placed on a map (grnf compare says them)."
    return replace(atlas, why_no_marks=why)


def _places(old: Atlas, Z: FloatArray, wishes: Wishes) -> FloatArray:
    if not len(old) or not len(Z):
        return np.zeros((len(Z), 2))
    index = GraphIndex(space=old.space, n_jobs=wishes.n_jobs).add(old.vectors)
    hits = index.search(Z, min(ONTO, len(old)))
    found = np.array([[int(name) for name in row] for row in hits.ids])
    return placed_onto(old.places, found, np.array(hits.distances))


def _both(first: list[Column], second: list[Column], before: int, after: int) -> list[Column]:
    """Put columns of the same names one below the other."""
    old, new = ({column.name: column for column in columns} for columns in (first, second))
    found = []
    for name in dict.fromkeys([*old, *new]):
        one, two = old.get(name), new.get(name)
        values = [*(one.values if one else [None] * before), *(two.values if two else [None] * after)]
        known = one or two
        if known is not None and known.kind == "number" and (two is None or two.kind == "number"):
            found.append(Column(name, "number", values, known.meaning))
        else:
            found.append(make_column(name, values, known.meaning if known else ""))
    return found
