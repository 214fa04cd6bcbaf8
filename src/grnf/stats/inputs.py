"""What the estimators of this folder are given: graphs of any kind, or vectors, some of them bad."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grnf.errors import GraphError
from grnf.estimators import GRNF
from grnf.io.objects import listed_graphs, own_names
from grnf.search.collection import LARGEST, is_vectors
from grnf.typing import FloatArray, IntArray

__all__ = ["Taken", "as_vectors", "fitted_transformer", "taken"]


@dataclass(frozen=True, eq=False)
class Taken:
    """Vectors of the good ones of some graphs, their places and names; what is wrong with the others."""

    Z: FloatArray
    rows: IntArray
    ids: list[str]
    errors: list[tuple[int, str]]
    all_ids: list[str]

    @property
    def n_rows(self) -> int:
        """Good ones and bad ones."""
        return len(self.all_ids)


def as_vectors(X: Any) -> Any:
    """Return lists of numbers as an array of vectors; anything else as it is.

    Examples
    --------
    >>> as_vectors([[1, 2.5], [3, 4]]).shape, as_vectors(["CCO"])
    ((2, 2), ['CCO'])
    """
    if not isinstance(X, list) or not X:
        return X
    lists = all(isinstance(row, list) for row in X)
    if lists and all(isinstance(entry, int | float) for row in X for entry in row):
        return np.array(X, dtype=np.float64)
    return X


def fitted_transformer(transformer: Any, X: Any, on_error: str, seed: int) -> Any:
    """Return what makes vectors of graphs: as given if it is fitted, or a fitted copy; None for vectors."""
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if is_vectors(as_vectors(X)):
        return transformer
    if transformer is None:
        return GRNF(random_state=seed, on_error="raise" if on_error == "raise" else "skip").fit(X)
    try:
        check_is_fitted(transformer)
    except NotFittedError:
        fresh = clone(transformer)
        if on_error != "raise" and "on_error" in fresh.get_params(deep=False):
            fresh.set_params(on_error="skip")
        return fresh.fit(X)
    return transformer


def taken(
    X: Any,
    transformer: Any,
    what: str,
    *,
    on_error: str = "raise",
    ids: Sequence[str] | None = None,
    first: int = 0,
) -> Taken:
    """Return the vectors of graphs, or of vectors those that are finite.

    Parameters
    ----------
    X : collection of graphs of any kind, or array of vectors
    transformer : object with `transform`, or None
    what : str
        What messages call it.
    on_error : "raise" or another
        Whether a bad graph, or a vector that is not finite, is an error, or is left out and reported.
    ids : sequence of str, optional
    first : int, default=0
        The number of the first graph, after which graphs without a name are called.
    """
    X = as_vectors(X)
    X = np.atleast_2d(X) if is_vectors(X) else listed_graphs(X, caller=what)
    names = None if is_vectors(X) else own_names(X)
    if ids is not None:
        names = [str(name) for name in ids]
    elif names is None:
        names = [str(first + place) for place in range(len(X))]
    if len(names) != len(X):
        raise GraphError(f"{len(names)} ids for {len(X)} {what}")
    if len(X) == 0 or (is_vectors(X) and X.shape[1] == 0):
        raise GraphError(f"{what} is empty: at least one graph is wanted")
    Z, rows, errors = X, np.arange(len(X)), list[tuple[int, str]]()
    if not is_vectors(X):
        Z, rows, errors = _embedded(X, transformer, what)
    good = np.abs(Z).max(axis=1) < LARGEST  # NaN is not
    for place in np.flatnonzero(~good).tolist():
        row = int(rows[place])
        if row not in dict(errors):
            errors.append((row, "the vector holds NaN, infinity or numbers that are too large"))
    errors.sort()
    if errors and on_error == "raise":
        row, reason = errors[0]
        raise GraphError(f"{what}, number {first + row} (id {names[row]!r}): {reason}")
    rows = rows[good]
    return Taken(np.asarray(Z, dtype=np.float64)[good], rows, [names[row] for row in rows], errors, names)


def _embedded(X: Any, transformer: Any, what: str) -> tuple[FloatArray, IntArray, list[tuple[int, str]]]:
    """Return the vectors of good graphs, their places, and what is wrong with the others."""
    if transformer is None:
        raise GraphError(
            f"{what}: graphs, where the reference was vectors: give vectors, or a transformer that makes them"
        )
    if hasattr(transformer, "embed"):
        found = transformer.embed(X, on_error="skip")
        return found.vectors, found.rows, list(found.errors)
    Z = np.asarray(transformer.transform(X))
    if len(Z) != len(X):
        raise GraphError(f"{len(Z)} vectors of {len(X)} {what}: the transformer left some out")
    return Z, np.arange(len(Z)), []
