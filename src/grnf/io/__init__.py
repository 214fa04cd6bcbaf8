"""Doors: one reader for each format that graphs come in."""

from grnf.io.raw import RawGraph
from grnf.io.tu import read_tu

__all__ = ["RawGraph", "read_tu"]
