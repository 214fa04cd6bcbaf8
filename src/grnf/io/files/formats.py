"""The table of file formats: names, suffixes, which library reads each, what is carried and what is lost."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal

from grnf.errors import GraphError
from grnf.io.files.documents import (
    changed_in_gexf,
    read_gexf,
    read_gml,
    read_graphml,
    write_gexf,
    write_gml,
    write_graphml,
)
from grnf.io.files.dot import read_dot
from grnf.io.files.edge_list import read_edge_list, write_edge_list
from grnf.io.files.edge_table import changed_in_tables, read_edge_table, write_edge_table
from grnf.io.files.excel import EXCEL_SUFFIXES
from grnf.io.files.graph6 import read_graph6, read_graph6_array, write_digraph6, write_graph6, write_sparse6
from grnf.io.files.matrices import read_matrices
from grnf.io.files.molecules import (
    changed_in_smiles,
    fits_smiles,
    in_smiles_order,
    read_smiles,
    read_smiles_lines,
    write_smiles,
    write_smiles_lines,
)
from grnf.io.files.node_link import read_json, read_json_lines, write_json, write_json_lines
from grnf.io.files.npz import read_npz, write_npz
from grnf.io.files.parquet import read_parquet, write_parquet
from grnf.io.files.sdf import SDF_SUFFIXES
from grnf.io.files.tu_files import fits_tu, read_tu_graphs, write_tu, write_tu_folder
from grnf.io.raw import RawGraph

EVERYTHING = frozenset({"attributes", "directed", "y", "graph_id"})
TABLES = ("csv", "tsv")
"""Names for SMILES or edge tables, which their columns distinguish."""
MOLECULES = ("smiles", "sdf")
"""Formats of molecules with columns."""
TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".pq", *EXCEL_SUFFIXES)


@dataclass(frozen=True)
class Format:
    """One file format: a row of the table of formats.

    Parameters
    ----------
    name, description : str
    suffixes : tuple of str
        How its files end, in lower case. All are also read and written with .gz after that.
    reader : callable
        reader(file, **options) yields a `RawGraph` for each graph of a `grnf.io.files.file.File`, or a
        `RawBatch` for several. With the keyword on_error, "yield" gives a `BadGraph` for a bad graph and
        continues after it. With the keyword n_jobs, several processes share the work.
    writer : callable, optional
        writer(file, graphs) writes graphs to a binary file.
    library : str
        What reads its files.
    lost : str
        What of a graph does not come back from a file that was written.
    streaming : bool
        Whether memory does not grow with the file.
    carries : frozenset of str
        What its writer keeps in addition to the edges: "attributes" or only the edge column "weight",
        "directed", "y", "graph_id".
    one_graph : bool
        Whether a file holds one graph.
    may_be_empty : bool
        Whether a file of 0 bytes is valid.
    fits : callable, optional
        fits(name, values) is whether its writer keeps a column, if it keeps some.
    path_writer : callable, optional
        path_writer(path, graphs) writes several files, or a folder if the path has none of the suffixes.
    changes : callable, optional
        changes(graph) names columns that come back as something else.
    reorder : callable, optional
        reorder(graph) numbers the nodes as its writer does, if that is another order.
    cut : "rows", "lines" or "table", optional
        How a file can be read from the middle: by the rows of Parquet, by lines, or by lines after a header
        (or rows, if the table is Parquet). None: from the beginning only.

    Examples
    --------
    >>> FORMATS["graph6"].suffixes, FORMATS["graph6"].can_write
    (('.g6', '.graph6'), True)
    """

    name: str
    description: str
    suffixes: tuple[str, ...]
    reader: Callable[..., Iterator[Any]]
    writer: Callable[..., None] | None = None
    library: str = "grnf"
    lost: str = "nothing"
    streaming: bool = True
    carries: frozenset[str] = frozenset()
    one_graph: bool = False
    may_be_empty: bool = False
    fits: Callable[[str, Any], bool] | None = None
    path_writer: Callable[[Path, Iterator[RawGraph]], None] | None = None
    changes: Callable[[RawGraph], list[str]] | None = None
    reorder: Callable[[RawGraph], RawGraph] | None = None
    cut: Literal["rows", "lines", "table"] | None = None

    @property
    def can_write(self) -> bool:
        """Whether files of this format can be written."""
        return self.writer is not None or self.path_writer is not None

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The parameters of its reader."""
        return inspect.signature(self.reader).parameters

    @property
    def options(self) -> dict[str, bool]:
        """Options of its reader, and whether they are true or false."""
        return {
            name: str(parameter.annotation).startswith("bool")
            for name, parameter in self.parameters.items()
            if parameter.kind == parameter.KEYWORD_ONLY and name not in ("on_error", "n_jobs")
        }


_MOLECULES: dict[str, Any] = {"fits": fits_smiles, "changes": changed_in_smiles, "reorder": in_smiles_order}
_LINES: dict[str, Any] = {"may_be_empty": True, "cut": "lines"}
_DOCUMENT: dict[str, Any] = {"library": "networkx", "streaming": False}

_TABLE = (
    Format(
        "parquet",
        "one row per graph, with the columns of Hugging Face graph datasets",
        (".parquet", ".pq"),
        read_parquet,
        write_parquet,
        library="pyarrow",
        carries=EVERYTHING,
        cut="rows",
    ),
    Format(
        "npz",
        "all graphs as concatenated numpy arrays",
        (".npz",),
        read_npz,
        write_npz,
        carries=EVERYTHING,
    ),
    Format(
        "jsonl",
        "one node-link JSON object, or Hugging Face row, per line",
        (".jsonl", ".ndjson"),
        read_json_lines,
        write_json_lines,
        library="json",
        lost="types of numbers",
        carries=EVERYTHING,
        **_LINES,
    ),
    Format(
        "json",
        'node-link JSON of networkx and D3: a graph, a list of graphs, or {"graphs": [...]}',
        (".json", ".cyjs"),
        read_json,
        write_json,
        library="ijson",
        lost="types of numbers",
        carries=EVERYTHING,
    ),
    Format(
        "graphml",
        "GraphML",
        (".graphml", ".xml"),
        read_graphml,
        write_graphml,
        lost="the order of edges",
        carries=EVERYTHING,
        **_DOCUMENT,
    ),
    Format(
        "gml",
        "GML",
        (".gml",),
        read_gml,
        write_gml,
        lost="the order of edges; truth values become 0 and 1",
        carries=EVERYTHING,
        **_DOCUMENT,
    ),
    Format(
        "gexf",
        "GEXF of Gephi",
        (".gexf",),
        read_gexf,
        write_gexf,
        lost="the order of edges, y, graph_id",
        carries=frozenset({"attributes", "directed"}),
        one_graph=True,
        changes=changed_in_gexf,
        **_DOCUMENT,
    ),
    Format(
        "dot",
        "DOT of Graphviz, graphs and digraphs",
        (".dot", ".gv"),
        read_dot,
        streaming=False,
        may_be_empty=True,
    ),
    Format(
        "edge-list",
        "lines 'source target' or 'source target weight'",
        (".edgelist", ".edges", ".el", ".txt"),
        read_edge_list,
        write_edge_list,
        lost="attributes but weight, y, graph_id",
        carries=frozenset({"weight", "directed"}),
        one_graph=True,
        may_be_empty=True,
    ),
    Format(
        "graph6",
        "one simple graph per line (sparse6 and digraph6 lines are read too)",
        (".g6", ".graph6"),
        read_graph6,
        write_graph6,
        lost="all but the structure of undirected graphs",
        **_LINES,
    ),
    Format(
        "sparse6",
        "one undirected graph per line, loops and repeated edges included",
        (".s6", ".sparse6"),
        read_graph6,
        write_sparse6,
        lost="all but the structure of undirected graphs",
        **_LINES,
    ),
    Format(
        "digraph6",
        "one directed graph per line",
        (".d6", ".digraph6"),
        read_graph6,
        write_digraph6,
        lost="all but the structure of directed graphs",
        carries=frozenset({"directed"}),
        **_LINES,
    ),
    Format("graph6-npy", "a numpy array of graph6 texts", (".npy",), read_graph6_array),
    Format(
        "smiles",
        "a CSV, TSV, Excel or Parquet table with a column of SMILES",
        TABLE_SUFFIXES,
        read_smiles,
        library="csv, calamine, pyarrow; RDKit",
        lost="all that is not a molecule, the order of atoms",
        path_writer=write_smiles,
        carries=frozenset({"graph_id", "y"}),
        cut="table",
        **_MOLECULES,
    ),
    Format(
        "smi",
        "lines 'SMILES name'",
        (".smi", ".smiles"),
        read_smiles_lines,
        write_smiles_lines,
        library="RDKit",
        lost="all that is not a molecule, the order of atoms, y",
        carries=frozenset({"graph_id"}),
        **_LINES,
        **_MOLECULES,
    ),
    Format(
        "sdf",
        "SD and MOL files of molecules, their data fields as columns",
        SDF_SUFFIXES,
        read_smiles,
        library="RDKit",
        may_be_empty=True,
    ),
    Format(
        "edge-table",
        "a CSV, TSV, Excel or Parquet table of graph_id, source, target and attributes",
        TABLE_SUFFIXES,
        read_edge_table,
        library="csv, calamine, pyarrow",
        lost="y; texts that look like numbers become numbers, vectors become columns",
        path_writer=write_edge_table,
        carries=frozenset({"attributes", "directed", "graph_id"}),
        changes=changed_in_tables,
    ),
    Format(
        "tu",
        "a TU benchmark dataset, folder or zip",
        (".zip",),
        read_tu_graphs,
        write_tu,
        lost="graph_id, labels that are not whole numbers",
        carries=frozenset({"directed", "y"}),
        fits=fits_tu,
        path_writer=write_tu_folder,
    ),
    Format(
        "matrices",
        "adjacency matrices: a numpy or MATLAB file with one or many, Matrix Market, a table of numbers",
        (".mat", ".mtx", ".npy", ".npz", ".csv", ".tsv", ".txt", *EXCEL_SUFFIXES),  # by what they hold
        read_matrices,
        library="numpy, scipy",
    ),
)
FORMATS: dict[str, Format] = {entry.name: entry for entry in _TABLE}
"""All formats, by name."""


def register_format(format: Format) -> None:
    """Add a format to `FORMATS`, so that functions and commands read (and write) its files.

    Suffixes of formats that are there already keep their meaning: files with such a suffix are read by a new
    format if it is named (`format=`).

    Parameters
    ----------
    format : Format

    Examples
    --------
    >>> def read_stars(file):
    ...     for _, line in file.lines(limit=100):
    ...         yield RawGraph(int(line) + 1, [(0, leaf) for leaf in range(1, int(line) + 1)])
    >>> register_format(Format("stars", "a number of leaves per line", (".stars",), read_stars))
    >>> FORMATS.pop("stars").can_write
    False
    """
    if format.name in FORMATS:
        raise GraphError(f"a format called {format.name!r} exists", cure="Give it another name")
    wrong = [suffix for suffix in format.suffixes if not suffix.startswith(".") or suffix != suffix.lower()]
    if wrong:
        raise GraphError(f"suffixes must be lower case and begin with a point, got {wrong}")
    FORMATS[format.name] = format


def _register_installed() -> None:
    """Add the formats that installed packages offer as entry points of the group "grnf.formats"."""
    for point in entry_points(group="grnf.formats"):
        try:
            register_format(point.load())
        except Exception as error:  # whatever another package raises
            warnings.warn(f"format {point.name!r} was not registered: {error}", stacklevel=2)


_register_installed()


def table_of_formats() -> list[tuple[str, str, str, str, str, str]]:
    """Return the formats as rows of text, the names of the columns first."""
    rows = [("format", "extension", "read by", "streaming", "written", "lost when written")]
    for entry in FORMATS.values():
        streaming = "yes" if entry.streaming else "no"
        written, lost = ("yes", entry.lost) if entry.can_write else ("no", "")
        rows.append((entry.name, " ".join(entry.suffixes), entry.library, streaming, written, lost))
    return rows
