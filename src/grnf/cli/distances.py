"""`grnf distances`: d_P between graphs, as a matrix, for some pairs with error bars, or to the nearest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grnf.cli.collections import Collection, load_collections
from grnf.cli.options import AsJson, Format, Like, NComponents, NJobs, Orders, Quiet, Seed, workers
from grnf.cli.pairs import (
    FirstArgument,
    Interval,
    Nearest,
    PairsFile,
    SecondArgument,
    Target,
    Values,
    check_interval,
    check_target,
)
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.typing import FloatArray

__all__ = ["IntervalOf", "distances"]


def distances(
    source: FirstArgument,
    other: SecondArgument = None,
    output: Target = "-",
    format: Format = None,
    pairs: PairsFile = None,
    interval: Interval = None,
    nearest: Nearest = None,
    n_components: NComponents = None,
    orders: Orders = None,
    seed: Seed = None,
    like: Like = None,
    n_jobs: NJobs = 1,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Estimate the distance d_P between graphs, or between the vectors that grnf embed made of them.

    By default all pairs: a row for each graph of SOURCE, a column for each graph of OTHER. Graphs are
    embedded with these settings; for other settings use grnf embed first, and pass its vectors or --like its
    .json file. --format vectors says that a file holds vectors.

    Example: grnf distances MUTAG.zip --nearest 5 --output nearest.csv
    """
    check_target(output, pairs, nearest)
    check_interval(interval, pairs)
    from grnf.metric import distance, pairwise_distances

    settings = {"n_components": n_components, "orders": orders, "seed": seed}
    with workers(n_jobs):
        first, second = load_collections(
            source, other, format=format, like=like, settings=settings, quiet=quiet
        )
    values = Values("distance", pairwise_distances, first, second)
    more = IntervalOf(distance, first, interval)
    values.write(output, pairs, nearest, more, as_json=as_json, quiet=quiet)


class IntervalOf:
    """Error bars of what `estimate` gives for two vectors, as the transformer that made them allows.

    Parameters
    ----------
    estimate : function
        `grnf.metric.distance` or `grnf.metric.kernel_estimate`.
    collection : Collection
    delta : float or None
        How often an interval may fail; None for no intervals.
    """

    def __init__(self, estimate: Callable[..., Any], collection: Collection, delta: float | None) -> None:
        self.estimate = estimate
        self.delta = delta
        grnf = collection.grnf
        if delta is None:
            return
        if grnf is None:
            raise GraphError(
                f"{collection.name}: the settings of these vectors are not known, since the file "
                f"{Path(collection.name).name}.json is missing; say them with --like"
            )
        self.activation = grnf.activation
        self.largest_term = grnf.largest_term_
        self.heads = grnf.heads

    def __call__(self, x: FloatArray, y: FloatArray) -> dict[str, Any]:
        """Return the interval and how it was made; nothing if none is wanted."""
        import numpy as np

        if self.delta is None:
            return {}
        if np.isnan(x).any() or np.isnan(y).any():
            return {"low": None, "high": None, "method": None}
        method = "bernstein" if np.isfinite(self.largest_term) else "clt"
        estimate = self.estimate(
            x, y, activation=self.activation, largest_term=self.largest_term, heads=self.heads
        )
        low, high = estimate.interval(self.delta, method)
        return {"low": low, "high": high, "method": method}
