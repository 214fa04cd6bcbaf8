"""What an index is given: vectors, or graphs of any kind that its transformer turns into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grnf.errors import GraphError
from grnf.io.objects import iter_raw, listed_graphs, own_names
from grnf.io.raw import RawGraph
from grnf.typing import FloatArray

__all__ = ["Given", "given_vectors", "is_vectors"]

LARGEST = 1e18
"""Entries from which squares of single precision have no number."""


@dataclass(frozen=True, eq=False)
class Given:
    """Vectors with names, and the graphs they are of, where they came as graphs."""

    Z: FloatArray
    ids: list[str] | None
    graphs: list[RawGraph] | None


def is_vectors(X: Any) -> bool:
    """Whether this is an array of vectors, or one vector; anything else is a collection of graphs.

    Examples
    --------
    >>> is_vectors(np.zeros((3, 512))), is_vectors(["CCO"])
    (True, False)
    """
    return isinstance(X, np.ndarray) and X.ndim in (1, 2) and X.dtype.kind == "f"


def given_vectors(
    X: Any, transformer: Any, ids: Sequence[str] | None, what: str, keep: bool = False
) -> Given:
    """Return the vectors of what was given; `what` names it in messages. With `keep`, graphs beside them."""
    graphs: list[RawGraph] | None = None
    if is_vectors(X):
        Z = np.atleast_2d(X)
    else:
        if transformer is None:
            raise GraphError(
                f"{what} are graphs, and this index knows vectors only: give it a transformer, as in "
                "GraphIndex(GRNF(random_state=0)), or pass the vectors that you made of them"
            )
        objects = listed_graphs(X, caller=what)
        Z = np.asarray(transformer.transform(objects))
        ids = own_names(objects) if ids is None else ids
        if keep:
            graphs = list(iter_raw(objects, caller=what))
    _check(Z, what)
    names = None if ids is None else [str(name) for name in ids]
    if names is not None and len(names) != len(Z):
        raise GraphError(f"{len(names)} ids for {len(Z)} {what}")
    return Given(Z, names, graphs)


def _check(Z: FloatArray, what: str) -> None:
    if len(Z) == 0 or Z.shape[1] == 0:
        raise GraphError(f"{what} is empty (shape {Z.shape}): at least one vector is wanted")
    for start in range(0, len(Z), 8192):
        some = Z[start : start + 8192]
        good = np.abs(some).max(axis=1) < LARGEST  # NaN is not
        if not good.all():
            row = start + int(np.flatnonzero(~good)[0])
            raise GraphError(
                f"{what}: row {row} holds NaN, infinity or numbers beyond {LARGEST:g}, whose distances mean "
                "nothing; leave it out (grnf embed --on-error skip leaves out bad graphs)"
            )
