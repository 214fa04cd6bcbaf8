"""Collections of graphs: synthetic ones drawn from a seed, and benchmark datasets with their folds."""

from grnf.datasets.benchmarks import BREC, Fold, TUDataset, load_brec, load_folds, load_tu
from grnf.datasets.synthetic import all_graphs, make_delaunay, make_sbm

__all__ = [
    "BREC",
    "Fold",
    "TUDataset",
    "all_graphs",
    "load_brec",
    "load_folds",
    "load_tu",
    "make_delaunay",
    "make_sbm",
]
