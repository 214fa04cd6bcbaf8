"""A map of a collection of graphs: one interactive HTML page with everything inside."""

from grnf.maps.graph_map import GraphMap
from grnf.maps.make import map_graphs

__all__ = [
    "GraphMap",
    "map_graphs",
]
