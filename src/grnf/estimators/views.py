"""Several views of a graph: each is a chain of lifts with a GRNF map of its own; the default menu of them."""

from __future__ import annotations

import pickle
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone

from grnf.estimators.cache import EmbeddingCache, embedded_once
from grnf.estimators.transformer import GRNF
from grnf.graphs import GraphBatch
from grnf.lifts import (
    Degree,
    Lift,
    Pool,
    Propagate,
    RandomWalk,
    Size,
    Standardize,
    Triangles,
    WeisfeilerLehman,
)
from grnf.typing import FloatArray

__all__ = ["View", "around", "as_menu", "recipe"]

Menu = Mapping[str, Sequence[Lift]]


def recipe() -> dict[str, list[Lift]]:
    """Return seven views, once the default: what a node is, what is around it, and what role it plays.

    Examples
    --------
    >>> list(recipe())
    ['plain', 'degrees', 'counts', 'neighbours', 'colours', 'deep colours', 'walks']
    """
    return {
        "plain": [Standardize()],
        "degrees": [Standardize(), Degree(), Size()],
        "counts": [Standardize(), Degree(), Pool("count"), Size()],
        "neighbours": [Standardize(), Degree(), Size(), Propagate(2)],
        "colours": [Standardize(), WeisfeilerLehman(3, 8)],
        "deep colours": [Standardize(), WeisfeilerLehman(4, 16), Size()],
        "walks": [Standardize(), Degree(), Triangles(), RandomWalk(6), Size()],
    }


def around() -> dict[str, list[Lift]]:
    """Return the one view of the default that is a map: nodes, their roles, and what is around them."""
    chain = [Standardize(rounded=True), Degree(), Triangles(), Propagate(2), Size()]
    return {"around": chain}


def as_menu(lifts: Any) -> dict[str, list[Lift]]:
    """Return views by names; lifts may be "auto", "recipe", None, one lift, a list, or a dict of them."""
    if isinstance(lifts, str) and lifts == "auto":
        return around()
    if isinstance(lifts, str) and lifts == "recipe":
        return recipe()
    if lifts is None:
        return {"plain": []}
    if isinstance(lifts, Lift):
        return {"lifted": [lifts]}
    views = dict(lifts) if isinstance(lifts, Mapping) else {"lifted": lifts}
    menu = {str(name): [chain] if isinstance(chain, Lift) else list(chain) for name, chain in views.items()}
    wrong = [step for chain in menu.values() for step in chain if not isinstance(step, Lift)]
    if wrong or not menu:
        raise ValueError(
            "lifts must be 'auto', 'recipe', None, a lift of grnf.lifts, a list of lifts, or a dict of lists"
            f"; got {wrong[0] if wrong else lifts!r}"
        )
    return menu


class View:
    """A fitted chain of lifts and a map: encoded graphs in, vectors out.

    Lifts that learn nothing but widths are fitted on one graph, so that rows which are kept in the cache cost
    no lifting either.
    """

    def __init__(self, lifts: Sequence[Lift], grnf: GRNF, batch: GraphBatch) -> None:
        self.lifts = [clone(lift) for lift in lifts]
        learners = [i for i, lift in enumerate(self.lifts) if type(lift)._fit_batch is not Lift._fit_batch]
        n_learners = max(learners, default=-1) + 1
        for index, lift in enumerate(self.lifts):
            if index == n_learners:
                batch = batch.take([0])
            batch = lift.fit(batch).transform(batch.take([0]) if index == n_learners - 1 else batch)
        self.grnf = clone(grnf).fit(batch.take([0]))
        self.key = _key(self.lifts, self.grnf)

    def embed(self, batch: GraphBatch, memory: Any) -> FloatArray:
        """Return one row per graph, from an `EmbeddingCache` or a `joblib.Memory` where it has them."""
        if self.key is None:
            return self._embed(batch)
        if isinstance(memory, EmbeddingCache):
            return memory.rows(self.key, batch, self._embed)
        return embedded_once(memory, self.key, batch, self._embed)

    def _embed(self, batch: GraphBatch) -> FloatArray:
        for lift in self.lifts:
            batch = lift.transform(batch)
        return np.asarray(self.grnf.transform(batch))


def _key(lifts: Sequence[Lift], grnf: GRNF) -> Hashable:
    """Return a hash of all that decides about the vectors, given or learnt; None where it cannot be told.

    What was given and learnt is hashed as it is pickled, to the last bit. A class is pickled by its name, so
    the classes stand beside: another one of the same name is another lift.
    """
    params = grnf.get_params()
    for name in (
        "n_jobs",
        "max_memory",
        "random_state",
        "on_error",
    ):  # the seed is drawn, the others change nothing
        del params[name]
    try:
        state = joblib.hash((lifts, params, grnf.seed_, grnf.node_width_, grnf.edge_width_))
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    return (state, *map(type, lifts))
