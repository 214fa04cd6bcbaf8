"""BREC: 400 pairs of graphs that are hard to tell apart (arXiv 2304.07702), by category."""

from __future__ import annotations

import os
from typing import Any

from grnf.datasets.store import data_folder, find_file
from grnf.errors import GraphError
from grnf.graphs import Graph
from grnf.io import read_graphs

__all__ = ["BREC", "load_brec"]

BREC = {"basic": 60, "regular": 50, "str": 50, "extension": 100, "4vtx": 20, "dr": 20, "cfi": 100}
"""Name of the file of a category -> number of its pairs."""


def load_brec(*, data: str | os.PathLike[str] | None = None) -> dict[str, list[tuple[Graph, Graph]]]:
    """Load the pairs of BREC: none of them is isomorphic.

    Parameters
    ----------
    data : path, optional
        Folder that holds basic.npy, .. or brec/basic.npy, ..; by default the variable GRNF_DATA, else the
        user's cache. The seven files are those of the authors' repository, folder customize/Data/raw.

    Returns
    -------
    dict
        Category -> pairs of graphs: basic, regular, strongly regular (str), extension, 4-vertex condition
        (4vtx), distance regular (dr), and Cai, Furer and Immerman's (cfi).

    Examples
    --------
    >>> len(load_brec()["cfi"])  # doctest: +SKIP
    100
    """
    folder = data_folder(data)
    found = {}
    for name, count in BREC.items():
        path = find_file(folder, "brec", f"{name}.npy")
        if path is None:
            raise GraphError(
                f"{name}.npy of BREC is not in {folder / 'brec'}; put the seven files of the authors' "
                "repository there, or name a folder that has them (data=, --data or GRNF_DATA)"
            )
        graphs = [_plain(graph) for graph in read_graphs(path)]
        if len(graphs) != 2 * count:
            raise GraphError(f"{path}: {len(graphs)} graphs; {2 * count} expected, {count} pairs")
        found[name] = list(zip(graphs[::2], graphs[1::2], strict=True))
    return found


def _plain(graph: Any) -> Graph:
    return Graph(graph.n_nodes, graph.edges)
