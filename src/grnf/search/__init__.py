"""Which graphs are near this one, exactly, and which are copies."""

from grnf.search.duplicates import compare_raw, duplicate_groups, leaked, near_duplicates
from grnf.search.hits import Hits
from grnf.search.index import GraphIndex

__all__ = [
    "GraphIndex",
    "Hits",
    "compare_raw",
    "duplicate_groups",
    "leaked",
    "near_duplicates",
]
