"""What is different between two graphs: correspondence, edits, bounds on the graph edit distance."""

from grnf.edits.comparison import Comparison, Edit, compare

__all__ = ["Comparison", "Edit", "compare"]
