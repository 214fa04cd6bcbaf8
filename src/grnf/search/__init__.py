"""Exact nearest neighbors of graphs, and duplicates."""

from grnf.search.duplicates import compare_raw, duplicate_groups, leaked, near_duplicates
from grnf.search.index import GraphIndex, Hits

__all__ = ["GraphIndex", "Hits", "compare_raw", "duplicate_groups", "leaked", "near_duplicates"]
