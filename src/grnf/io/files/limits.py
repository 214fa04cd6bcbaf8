"""What a file may ask for. Every bound stands here, with its reason; beyond it a reader says so and stops."""

from __future__ import annotations

from grnf.io.raw import LARGEST_GRAPH

__all__ = [
    "DEEPEST_NESTING",
    "LARGEST_DOCUMENT",
    "LARGEST_GRAPH",
    "LARGEST_RATIO",
    "LONGEST_LINE",
    "LONGEST_RECORD",
    "LONGEST_SMILES",
    "MOST_CELLS",
    "MOST_EMPTY_GRAPHS",
    "MOST_PRODUCTS",
    "SMALL_MEMBER",
]

LONGEST_LINE = 2**20
"""Bytes of one line of a table or an edge list: a row of a few columns, never a million of them."""

LONGEST_RECORD = 2**27
"""Bytes of one line that holds a whole graph: graph6 with 40,000 nodes, or JSON of a million edges."""

LARGEST_DOCUMENT = 2**30
"""Bytes of a document that is held in memory as a whole: GraphML, GML, GEXF, DOT, or one JSON object."""

LARGEST_RATIO = 300
"""Unpacked bytes per packed byte of a file in an archive. Numbers in text reach 10 to 100, a bomb 1000."""

SMALL_MEMBER = 2**24
"""Unpacked bytes below which the ratio does not matter: a column of equal labels packs very well."""

LONGEST_SMILES = 10**5
"""Characters of one SMILES string: a protein of 10,000 residues; parsing takes more than linear time."""

DEEPEST_NESTING = 64
"""Levels of brackets or tags. Graph formats need fewer than ten."""

MOST_CELLS = 10**8
"""Rows times columns of a sheet in a workbook: calamine allocates all of them, empty ones too."""

MOST_EMPTY_GRAPHS = 10**6
"""Graphs without nodes that a TU set may have: its largest graph number says how many graphs there are."""

MOST_PRODUCTS = 10**6
"""Edges of one graph that a few letters stand for: DOT joins all nodes of a subgraph to all of another."""
