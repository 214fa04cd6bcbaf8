"""Compilation in advance."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from grnf.activations import Activation
from grnf.estimators.transformer import GRNF
from grnf.graphs import Graph

SIZES = {1: (5,), 2: (5, 400), 3: (5, 12, 70)}
"""Sizes of graphs that take the different paths of an order."""


def warmup(
    orders: Iterable[int] = (1, 2),
    *,
    dtype: Literal["float32", "float64"] = "float32",
    hidden_activation: str | Activation = "relu",
) -> None:
    """Compile the kernels that `GRNF` needs for these settings, so that the first call does not wait.

    Compiled kernels are stored on disk, so one call per installation is enough, for example in the build
    of a container. Kernels of isomorphism tests, nearest neighbors and gradients are compiled when they are
    first used.

    Parameters
    ----------
    orders : iterable of int, default=(1, 2)
        Hidden orders. Order 1 alone needs the fewest kernels. Orders 3 and above share theirs.
    dtype : "float32" or "float64", default="float32"
    hidden_activation : str or Activation, default="relu"

    Examples
    --------
    >>> import grnf
    >>> grnf.warmup()
    >>> grnf.warmup(orders=(1, 2, 3), dtype="float64")  # doctest: +SKIP
    """
    for k in sorted(set(orders)):
        graphs = [
            Graph(n, [(i, i + 1) for i in range(n - 1)], np.sqrt(np.arange(n)), directed=directed)
            for n in SIZES[min(k, 3)]
            for directed in (False, True)
            if k < 4 or n < 20
        ]
        GRNF(
            1, orders={k: 1.0}, dtype=dtype, hidden_activation=hidden_activation, random_state=0
        ).fit_transform(graphs)
