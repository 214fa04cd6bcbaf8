"""The TU benchmark sets by name: found offline or downloaded, and checked to be the graphs they should be.

The archives have been repacked over the years, so what is pinned is a checksum of the graphs (sizes, degrees,
attributes, classes, in any order of the nodes), not of the bytes of the zip file.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grnf.datasets.store import data_folder, download, find_file
from grnf.errors import GraphError
from grnf.graphs import GraphBatch
from grnf.io import read_tu

__all__ = ["TU_SETS", "TUDataset", "TUSet", "checksum", "fetch_tu", "load_tu"]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\Z")
ADDRESS = "https://www.chrsmrrs.com/graphkerneldatasets"


@dataclass(frozen=True)
class TUSet:
    """What is known of a set beforehand.

    Attributes
    ----------
    archive : str
        Name of the zip file without its suffix.
    checksum : str
        SHA-256 of the graphs as `checksum` gives it.
    about : str
        What the graphs are.
    attributes : bool
        Whether continuous node attributes are used beside the labels.
    """

    archive: str
    checksum: str
    about: str
    attributes: bool = True


TU_SETS = {
    "NCI1": TUSet(
        "NCI1",
        "91dd73748a70201e450443ec4c76e3865b7eb684a2a5fcdd8d196ed34ca4d0e7",
        "molecules, active against lung cancer cells or not",
    ),
    "PROTEINS": TUSet(
        "PROTEINS_full",
        "8bc81ed7636f26765d8708acbe793d9b7f3ae39628b56fa03ab9c66adadd79c0",
        "proteins, enzymes or not; 3 labels of nodes",
        attributes=False,
    ),
    "PROTEINS_full": TUSet(
        "PROTEINS_full",
        "eeb102a83d53a70153448a071cfd0a64ae562bbfc3afece4bffde1a633b23ec8",
        "the same with 29 continuous attributes of nodes",
    ),
    "ENZYMES": TUSet(
        "ENZYMES",
        "8656e0858825d0020c47533d0fd59e2f188ac3f7eed6b7dc2978d5c39c3cdf22",
        "proteins of six classes of enzymes",
    ),
    "IMDB-BINARY": TUSet(
        "IMDB-BINARY",
        "a5842ce7b275ec349940472527e09f6c045d760bf378b33f6b33c3fab59e44e4",
        "actors who played together, two genres",
    ),
    "IMDB-MULTI": TUSet(
        "IMDB-MULTI",
        "6fea90e1af75093b0333d81ce3f8119ef84c19eb9d893c714fc2e4a8095c0805",
        "actors who played together, three genres",
    ),
    "COLLAB": TUSet(
        "COLLAB",
        "5b013cfad805d5da93bf5c0ba96d62b59ea15e2fe5b5466d22a3c12624cac97f",
        "circles of co-authors, three fields of physics",
    ),
    "MUTAG": TUSet(
        "MUTAG",
        "2fc1067063363352e4c3f366159690cd55f97d644c12ca7489af22b444698c01",
        "molecules, mutagenic or not",
    ),
    "PTC_MR": TUSet(
        "PTC_MR",
        "496357a4df73967332aff151710d164a52e959bb276a03b1d07996db8cb36868",
        "molecules, carcinogenic for male rats or not",
    ),
}


@dataclass(frozen=True, eq=False)
class TUDataset:
    """A benchmark set.

    Attributes
    ----------
    name : str
    graphs : GraphBatch
        A sequence of `Graph`, held as arrays; `graphs.take(indices)` selects.
    y : array of int, shape (n_graphs,)
        Classes, numbered as in the files.
    node_columns, edge_columns : list of str
        What the attributes of nodes and edges are: attributes first, then labels as one-hot columns.
    """

    name: str
    graphs: GraphBatch
    y: Any
    node_columns: list[str]
    edge_columns: list[str]

    def __len__(self) -> int:
        return len(self.graphs)


def load_tu(
    name: str | os.PathLike[str], *, data: str | os.PathLike[str] | None = None, download: bool = True
) -> TUDataset:
    """Load a TU dataset by its name, or by the path of a zip file or folder.

    Parameters
    ----------
    name : str or path
        The name of a TU dataset, or where it is. Those in `TU_SETS` are checked when they are downloaded.
        "PROTEINS" has the 3 node labels only, as in the experiments of the paper; "PROTEINS_full" has the 29
        attributes too.
    data : path, optional
        Folder that holds NAME.zip or tu/NAME.zip; by default the variable GRNF_DATA, else the user's cache.
    download : bool, default=True
        Whether to download the set into that folder if it is not there.

    Examples
    --------
    >>> load_tu("ENZYMES").graphs  # doctest: +SKIP
    GraphBatch(600 graphs, 19580 nodes, 37282 edges, node_width=21, edge_width=0)
    """
    if Path(name).suffix == ".zip" or len(Path(name).parts) > 1 or Path(name).is_dir():
        path = Path(name)
        return TUDataset(path.stem if path.suffix == ".zip" else path.name, *read_tu(path))
    name = os.fspath(name)
    archive = f"{_known(name).archive}.zip"
    found = find_file(data_folder(data), "tu", archive)
    if found is None:
        if not download:
            raise GraphError(
                f"{archive} is not in {data_folder(data)}", cure="Download it with download=True"
            )
        found = fetch_tu(name, data=data)
    return _read(name, found)


def fetch_tu(name: str, *, data: str | os.PathLike[str] | None = None) -> Path:
    """Download a set unless it is there, check its graphs against the pinned checksum; return its path."""
    known, folder = _known(name), data_folder(data)
    path = find_file(folder, "tu", f"{known.archive}.zip")
    if path is not None:
        _check(name, path)
        return path
    path = folder / "tu" / f"{known.archive}.zip"
    return download(f"{ADDRESS}/{known.archive}.zip", path, lambda part: _check(name, part))


def checksum(graphs: GraphBatch, y: Any) -> str:
    """Return a SHA-256 of the graphs that depends neither on the order of their nodes nor on that of edges.

    Per graph: its class, its number of nodes, and degree and attributes of the nodes, sorted; then the sorted
    attributes of its edges.
    """
    n_edges = np.diff(graphs.edge_ptr)
    ends = graphs.edges + np.repeat(graphs.node_ptr[:-1], n_edges)[:, np.newaxis]
    n_nodes = int(graphs.node_ptr[-1])
    degree = np.bincount(ends[:, 0], minlength=n_nodes) + np.bincount(ends[:, 1], minlength=n_nodes)
    nodes = np.column_stack([np.repeat(np.arange(len(graphs)), graphs.sizes), degree, graphs.node_attr])
    edges = np.column_stack([np.repeat(np.arange(len(graphs)), n_edges), graphs.edge_attr])
    digest = hashlib.sha256()
    for part in (graphs.sizes, n_edges, np.asarray(y)):
        digest.update(part.astype("<i8").tobytes())
    for rows in (nodes, edges):
        digest.update(rows[np.lexsort(rows.T[::-1])].astype("<f8").tobytes())
    return digest.hexdigest()


def _known(name: str) -> TUSet:
    """Return what is known of a dataset; of most nothing but the name of the file."""
    if not NAME.match(name):
        raise GraphError(f"{name!r} is not the name of a TU dataset", cure="For a file, give its path")
    return TU_SETS.get(name, TUSet(name, "", "a TU dataset"))


def _read(name: str, path: Path) -> TUDataset:
    return TUDataset(name, *read_tu(path, node_attributes=_known(name).attributes))


def _check(name: str, path: Path) -> None:
    found = _read(name, path)
    if not _known(name).checksum:
        return
    if (value := checksum(found.graphs, found.y)) != _known(name).checksum:
        raise GraphError(
            f"{name}: these are not the graphs of the benchmark (checksum {value[:12]}..., "
            f"{_known(name).checksum[:12]}... expected); fetch it again, or read it with grnf.io.read_tu"
        )
