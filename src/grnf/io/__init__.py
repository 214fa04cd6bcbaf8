"""Readers and writers of files, and converters of objects and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grnf._utils.lazy import lazy

if TYPE_CHECKING:
    from grnf.io.files.formats import FORMATS, Format, register_format
    from grnf.io.files.reading import read_blocks, read_graphs
    from grnf.io.files.tu_files import read_tu
    from grnf.io.files.writing import write_graphs
    from grnf.io.from_tables import graphs_from_tables
    from grnf.io.objects import to_raw
    from grnf.io.raw import BadGraph, RawGraph

__all__ = [
    "FORMATS",
    "BadGraph",
    "Format",
    "RawGraph",
    "graphs_from_tables",
    "read_blocks",
    "read_graphs",
    "read_tu",
    "register_format",
    "to_raw",
    "write_graphs",
]

# Names are loaded when they are first used, so that `from grnf import GRNF` need not wait for file readers.
__getattr__ = lazy(
    __name__,
    {
        "BadGraph": "raw",
        "FORMATS": "files.formats",
        "Format": "files.formats",
        "RawGraph": "raw",
        "graphs_from_tables": "from_tables",
        "read_blocks": "files.reading",
        "read_graphs": "files.reading",
        "read_tu": "files.tu_files",
        "register_format": "files.formats",
        "to_raw": "objects",
        "write_graphs": "files.writing",
    },
)
