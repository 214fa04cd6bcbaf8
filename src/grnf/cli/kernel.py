"""`grnf kernel`: kappa_P between graphs, as a matrix, for some pairs, or to the most similar."""

from __future__ import annotations

from grnf.cli.collections import Collection, load_collections
from grnf.cli.distances import IntervalOf
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

__all__ = ["kernel"]


def kernel(
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
    """Estimate the kernel kappa_P between graphs, or between the vectors that grnf embed made of them.

    As grnf distances, with kernel values: a Gram matrix for SVC(kernel="precomputed") and the like. The
    nearest are those with the largest values.

    Example: grnf kernel MUTAG.zip --output gram.npy
    """
    check_target(output, pairs, nearest)
    check_interval(interval, pairs)
    from grnf import metric

    settings = {"n_components": n_components, "orders": orders, "seed": seed}
    with workers(n_jobs):
        loaded = load_collections(source, other, format=format, like=like, settings=settings, quiet=quiet)
        first = _centred(loaded[0])
        second = first if loaded[1] is loaded[0] else _centred(loaded[1])
    values = Values("kernel", metric.pairwise_kernels, first, second, largest_first=True)
    more = IntervalOf(metric.kernel_estimate, first, interval)
    values.write(output, pairs, nearest, more, as_json=as_json, quiet=quiet)


def _centred(collection: Collection) -> Collection:
    """Subtract the vector of the null graph from vectors that were made without."""
    grnf = collection.grnf
    if grnf is None or grnf.center:
        return collection
    return Collection(collection.name, collection.ids, collection.Z - grnf.null_vector(), grnf)
