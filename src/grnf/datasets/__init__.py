"""Collections of graphs: synthetic ones drawn from a seed, and benchmark sets with their folds."""

from grnf.datasets.brec import load_brec
from grnf.datasets.folds import load_folds
from grnf.datasets.synthetic import all_graphs, make_delaunay, make_sbm
from grnf.datasets.tu import load_tu

__all__ = [
    "all_graphs",
    "load_brec",
    "load_folds",
    "load_tu",
    "make_delaunay",
    "make_sbm",
]
