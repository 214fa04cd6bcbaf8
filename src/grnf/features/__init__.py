"""psi by definition."""
from grnf.features.psi import psi, psi_of_graph
__all__ = ["psi", "psi_of_graph"]
