"""A map of a collection of graphs that people look at: one HTML page with everything inside."""

from grnf.atlas.atlas import Atlas
from grnf.atlas.columns import Column
from grnf.atlas.make import map_graphs

__all__ = ["Atlas", "Column", "map_graphs"]
