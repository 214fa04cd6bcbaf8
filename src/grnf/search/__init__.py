"""Exact nearest neighbors of graphs, duplicates, clusters, splits and diverse subsets."""

from grnf.search.clusters import GraphClusterer
from grnf.search.duplicates import compare_raw, duplicate_groups, leaked, near_duplicates
from grnf.search.index import GraphIndex, Hits
from grnf.search.splits import pick_diverse, split_distances, split_graphs

__all__ = [
    "GraphClusterer",
    "GraphIndex",
    "Hits",
    "compare_raw",
    "duplicate_groups",
    "leaked",
    "near_duplicates",
    "pick_diverse",
    "split_distances",
    "split_graphs",
]
