"""Doors: one converter or reader for each form that graphs come in."""

from grnf.io.encode import AttributeEncoder
from grnf.io.from_tables import graphs_from_tables
from grnf.io.objects import iter_raw, to_raw
from grnf.io.raw import RawGraph
from grnf.io.tu import read_tu

__all__ = ["AttributeEncoder", "RawGraph", "graphs_from_tables", "iter_raw", "read_tu", "to_raw"]
