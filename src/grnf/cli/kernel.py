"""`grnf kernel`: kappa_P between graphs, as a matrix, for some pairs, or to the most similar."""

from __future__ import annotations

from grnf.cli.options import AsJson, Force, Format, Like, NComponents, NJobs, Orders, Quiet, Seed
from grnf.cli.pairs import FirstArgument, Interval, Nearest, PairsFile, SecondArgument, Target, compare

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
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Estimate the kernel kappa_P between graphs, or between the vectors that grnf embed made of them.

    As grnf distances, with kernel values: a Gram matrix for SVC(kernel="precomputed") and the like. The
    nearest are those with the largest values.

    Example: grnf kernel MUTAG.zip --output gram.npy
    """
    compare("kernel", locals())
