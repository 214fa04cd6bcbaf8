"""psi(g; w) and z(g): one feature by definition, and the embedding by the engines."""

from grnf.features.embedding import FeatureMap
from grnf.features.hidden import HiddenGroup, HiddenSums
from grnf.features.psi import psi, psi_of_graph

__all__ = ["FeatureMap", "HiddenGroup", "HiddenSums", "psi", "psi_of_graph"]
