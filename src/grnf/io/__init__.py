"""Doors: one reader for each format that graphs come in."""

from grnf.io.tu import read_tu

__all__ = ["read_tu"]
