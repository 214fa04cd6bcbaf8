"""Doors: files of graphs in many formats, read one graph after another and written all or nothing."""

from grnf.io.files.formats import FORMATS, Format
from grnf.io.files.registry import guess_format, read_graphs, write_graphs
from grnf.io.files.tu import read_tu
from grnf.io.raw import BadGraph, RawGraph

__all__ = [
    "FORMATS",
    "BadGraph",
    "Format",
    "RawGraph",
    "guess_format",
    "read_graphs",
    "read_tu",
    "write_graphs",
]
