"""Graphs in and out: converters of objects, readers and writers of files, encoding of attributes."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grnf.io.encode import AttributeEncoder
    from grnf.io.files.formats import FORMATS, Format
    from grnf.io.files.reading import guess_format, read_blocks, read_graphs
    from grnf.io.files.tu import read_tu
    from grnf.io.files.writing import write_graphs
    from grnf.io.from_tables import graphs_from_tables
    from grnf.io.objects import iter_raw, to_raw
    from grnf.io.raw import BadGraph, RawBatch, RawColumn, RawGraph

__all__ = [
    "FORMATS", "AttributeEncoder", "BadGraph", "Format", "RawBatch", "RawColumn", "RawGraph",
    "graphs_from_tables", "guess_format", "iter_raw", "read_blocks", "read_graphs", "read_tu", "to_raw",
    "write_graphs",
]  # fmt: skip

# Names are loaded when they are first used, so that `from grnf import GRNF` need not wait for file readers.
_HOMES = {
    "FORMATS": "files.formats", "AttributeEncoder": "encode", "BadGraph": "raw", "Format": "files.formats",
    "RawBatch": "raw", "RawColumn": "raw", "RawGraph": "raw", "read_blocks": "files.reading",
    "graphs_from_tables": "from_tables", "guess_format": "files.reading",
    "iter_raw": "objects", "read_graphs": "files.reading", "read_tu": "files.tu", "to_raw": "objects",
    "write_graphs": "files.writing",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"grnf.io.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'grnf.io' has no attribute {name!r}")
