"""Doors: one converter or reader for each form that graphs come in, and writers for files."""

from grnf.io.encode import AttributeEncoder
from grnf.io.files.formats import FORMATS, Format
from grnf.io.files.registry import guess_format, read_graphs, write_graphs
from grnf.io.files.tu import read_tu
from grnf.io.from_tables import graphs_from_tables
from grnf.io.objects import iter_raw, to_raw
from grnf.io.raw import BadGraph, RawGraph

__all__ = [
    "FORMATS",
    "AttributeEncoder",
    "BadGraph",
    "Format",
    "RawGraph",
    "graphs_from_tables",
    "guess_format",
    "iter_raw",
    "read_graphs",
    "read_tu",
    "to_raw",
    "write_graphs",
]
