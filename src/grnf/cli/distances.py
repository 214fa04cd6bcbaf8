"""`grnf distances`: d_P between graphs, as a matrix, for some pairs with error bars, or to the nearest."""

from __future__ import annotations

from grnf.cli.options import AsJson, Force, Format, Like, NComponents, NJobs, Orders, Quiet, Seed
from grnf.cli.pairs import FirstArgument, Interval, Nearest, PairsFile, SecondArgument, Target, compare

__all__ = ["distances"]


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
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Estimate the distance d_P between graphs, or between the vectors that grnf embed made of them.

    By default all pairs: a row for each graph of SOURCE, a column for each graph of OTHER. Graphs are
    embedded with these settings; for other settings use grnf embed first, and pass its vectors or --like its
    .json file. --format vectors says that a file holds vectors.

    Example: grnf distances MUTAG.zip --nearest 5 --output nearest.csv
    """
    compare("distance", locals())
