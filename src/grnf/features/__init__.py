"""psi(g; w) and z(g): one feature by definition, and the embedding by the engine."""

from grnf.features.embedding import Embedder, FeatureMap, affordable_orders
from grnf.features.hidden import HiddenGroup, HiddenSums
from grnf.features.psi import psi, psi_of_graph

__all__ = ["Embedder", "FeatureMap", "HiddenGroup", "HiddenSums", "affordable_orders", "psi", "psi_of_graph"]
