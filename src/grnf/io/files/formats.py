"""The table of file formats: names, suffixes, what each carries, who reads and writes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from grnf.io.files.arrays import read_npz, read_npz_blocks, write_npz
from grnf.io.files.dot import read_dot
from grnf.io.files.edge_list import read_edge_list, write_edge_list
from grnf.io.files.edge_table import read_edge_table
from grnf.io.files.edge_table_write import changed_in_tables, write_edge_table
from grnf.io.files.excel import EXCEL_SUFFIXES
from grnf.io.files.gexf import read_gexf, write_gexf
from grnf.io.files.gml import read_gml, write_gml
from grnf.io.files.graph6 import read_graph6, read_graph6_array, write_digraph6, write_graph6, write_sparse6
from grnf.io.files.graphml import read_graphml, write_graphml
from grnf.io.files.gspan import read_gspan
from grnf.io.files.matrices import read_matrices
from grnf.io.files.molecules import (
    changed_in_smiles,
    fits_smiles,
    in_smiles_order,
    read_smiles,
    read_smiles_blocks,
    read_smiles_line_blocks,
    read_smiles_lines,
    write_smiles,
    write_smiles_lines,
)
from grnf.io.files.node_link import read_json, read_json_lines, write_json, write_json_lines
from grnf.io.files.parquet import read_parquet, read_parquet_blocks, write_parquet
from grnf.io.files.records import Block
from grnf.io.files.sdf import SDF_SUFFIXES
from grnf.io.files.tu import read_tu_blocks, read_tu_graphs
from grnf.io.files.tu_write import fits_tu, write_tu, write_tu_folder
from grnf.io.raw import BadGraph, RawGraph

__all__ = ["FORMATS", "MOLECULES", "TABLES", "TABLE_SUFFIXES", "Format"]

EVERYTHING = frozenset({"attributes", "directed", "y", "graph_id"})
STRUCTURE: frozenset[str] = frozenset()
TABLES = ("csv", "tsv")
"""Names for tables of either kind, which are told apart by their columns."""
MOLECULES = ("smiles", "sdf")
"""Tables of molecules: what holds for columns of one holds for those of the other."""
TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".pq", *EXCEL_SUFFIXES)


@dataclass(frozen=True)
class Format:
    """One file format.

    Parameters
    ----------
    name : str
    description : str
    suffixes : tuple of str
        How its files end. Text formats are also read and written with .gz after that.
    reader, writer : callable or None
        reader(source, **options) yields graphs, writer(file, graphs) writes them.
    carries : frozenset of str
        What its writer keeps beside the edges: "attributes" or only the edge column "weight", "directed",
        "y", "graph_id".
    text : bool
    one_graph : bool
        Whether a file holds one graph.
    record_wise : bool
        Whether reading goes on after a bad graph (`on_error="yield"`).
    fits : callable, optional
        fits(name, values) tells whether its writer keeps a column, where it keeps some.
    path_writer : callable, optional
        path_writer(path, graphs) writes several files, or a folder where the path has none of the suffixes.
    changes : callable, optional
        changes(graph) names what comes back as something else from among all that is kept.
    reorder : callable, optional
        reorder(graph) numbers the nodes as its writer does, where that is not the order that they have.
    blocks : callable, optional
        blocks(source, on_error=...) yields the graphs column by column, some at a time.
    cut : "rows", "lines" or "table", optional
        How a file can be read from the middle: by the rows of Parquet, by lines, or by lines after a header
        (or rows, where the table is Parquet). None: from the beginning only.
    """

    name: str
    description: str
    suffixes: tuple[str, ...]
    reader: Callable[..., Iterator[RawGraph] | Iterator[RawGraph | BadGraph]]
    writer: Callable[..., None] | None = None
    carries: frozenset[str] = STRUCTURE
    text: bool = True
    one_graph: bool = False
    record_wise: bool = False
    fits: Callable[[str, Any], bool] | None = None
    path_writer: Callable[[Path, Iterator[RawGraph]], None] | None = None
    changes: Callable[[RawGraph], list[str]] | None = None
    reorder: Callable[[RawGraph], RawGraph] | None = None
    blocks: Callable[..., Iterator[Block]] | None = None
    cut: Literal["rows", "lines", "table"] | None = None

    @property
    def can_read(self) -> bool:
        """Whether files of this format can be read: all can."""
        return True

    @property
    def can_write(self) -> bool:
        """Whether files of this format can be written."""
        return self.writer is not None or self.path_writer is not None


def _table(*formats: Format) -> dict[str, Format]:
    return {entry.name: entry for entry in formats}


def _record_wise(name: str, description: str, suffixes: tuple[str, ...], reader: Any, **more: Any) -> Format:
    return Format(name, description, suffixes, reader, record_wise=True, **more)


_MOLECULES = {"fits": fits_smiles, "changes": changed_in_smiles, "reorder": in_smiles_order}

FORMATS: dict[str, Format] = _table(
    _record_wise(
        "parquet",
        "one row per graph, with the columns of Hugging Face graph data sets",
        (".parquet", ".pq"),
        read_parquet,
        writer=write_parquet,
        blocks=read_parquet_blocks,
        carries=EVERYTHING,
        text=False,
        cut="rows",
    ),
    _record_wise(
        "npz",
        "all graphs as concatenated numpy arrays",
        (".npz",),
        read_npz,
        writer=write_npz,
        blocks=read_npz_blocks,
        carries=EVERYTHING,
        text=False,
    ),
    _record_wise(
        "jsonl",
        "one node-link JSON object, or Hugging Face row, a line",
        (".jsonl", ".ndjson"),
        read_json_lines,
        writer=write_json_lines,
        carries=EVERYTHING,
        cut="lines",
    ),
    _record_wise(
        "json",
        'node-link JSON of networkx and D3: a graph, a list of graphs, or {"graphs": [...]}',
        (".json",),
        read_json,
        writer=write_json,
        carries=EVERYTHING,
    ),
    _record_wise(
        "graphml",
        "GraphML",
        (".graphml", ".xml"),
        read_graphml,
        writer=write_graphml,
        carries=EVERYTHING,
    ),
    _record_wise("gml", "GML", (".gml",), read_gml, writer=write_gml, carries=EVERYTHING),
    _record_wise("dot", "DOT of Graphviz, graphs and digraphs", (".dot", ".gv"), read_dot),
    Format(
        "gexf",
        "GEXF of Gephi",
        (".gexf",),
        read_gexf,
        write_gexf,
        frozenset({"attributes", "directed"}),
        one_graph=True,
    ),
    Format(
        "edge-list",
        "lines 'source target' or 'source target weight'",
        (".edgelist", ".edges", ".el", ".txt"),
        read_edge_list,
        write_edge_list,
        frozenset({"weight", "directed"}),
        one_graph=True,
    ),
    _record_wise(
        "graph6",
        "one simple graph a line (sparse6 and digraph6 lines are read too)",
        (".g6", ".graph6"),
        read_graph6,
        writer=write_graph6,
        cut="lines",
    ),
    _record_wise(
        "sparse6",
        "one undirected graph a line, loops and repeated edges included",
        (".s6", ".sparse6"),
        read_graph6,
        writer=write_sparse6,
        cut="lines",
    ),
    _record_wise(
        "digraph6",
        "one directed graph a line",
        (".d6", ".digraph6"),
        read_graph6,
        writer=write_digraph6,
        carries=frozenset({"directed"}),
        cut="lines",
    ),
    _record_wise("graph6-npy", "a numpy array of graph6 texts", (".npy",), read_graph6_array, text=False),
    _record_wise(
        "smiles",
        "a CSV, TSV, Excel or Parquet table with a column of SMILES",
        TABLE_SUFFIXES,
        read_smiles,
        blocks=read_smiles_blocks,
        path_writer=write_smiles,
        carries=frozenset({"graph_id", "y"}),
        cut="table",
        **_MOLECULES,
    ),
    _record_wise(
        "smi",
        "lines 'SMILES name'",
        (".smi", ".smiles"),
        read_smiles_lines,
        blocks=read_smiles_line_blocks,
        writer=write_smiles_lines,
        carries=frozenset({"graph_id"}),
        cut="lines",
        **_MOLECULES,
    ),
    _record_wise(
        "sdf",
        "SD and MOL files of molecules, their data fields as columns",
        SDF_SUFFIXES,
        read_smiles,
        blocks=read_smiles_blocks,
    ),
    _record_wise(
        "edge-table",
        "a CSV, TSV, Excel or Parquet table of graph_id, source, target and attributes",
        TABLE_SUFFIXES,
        read_edge_table,
        path_writer=write_edge_table,
        carries=frozenset({"attributes", "directed", "graph_id"}),
        changes=changed_in_tables,
    ),
    _record_wise(
        "tu",
        "a TU benchmark set, folder or zip",
        (".zip",),
        read_tu_graphs,
        writer=write_tu,
        blocks=read_tu_blocks,
        carries=frozenset({"directed", "y"}),
        text=False,
        fits=fits_tu,
        path_writer=write_tu_folder,
    ),
    _record_wise(
        "gspan",
        "lines 't # id', 'v node label', 'e node node label' of graph miners",
        (".gspan", ".lg"),
        read_gspan,
    ),
    _record_wise(
        "matrices",
        "adjacency matrices: a numpy or MATLAB file of one or many, Matrix Market, a table of numbers",
        (".mat", ".mtx", ".npy", ".npz", ".csv", ".tsv", ".txt", *EXCEL_SUFFIXES),  # by what they hold
        read_matrices,
        text=False,
    ),
)
"""All formats, by name."""
