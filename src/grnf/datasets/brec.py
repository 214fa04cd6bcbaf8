"""BREC: 400 pairs of graphs that are hard to tell apart (arXiv 2304.07702), by category."""

from __future__ import annotations

import hashlib
import os
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from grnf.datasets.store import data_folder, download, find_file
from grnf.errors import GraphError
from grnf.graphs import Graph
from grnf.io import read_graphs

__all__ = ["BREC", "load_brec"]

ADDRESS = "https://raw.githubusercontent.com/GraphPKU/BREC/d45190961b86548c626e5bc29ded4c67f5fa4f24/customize/Data/raw"


class BrecFile(NamedTuple):
    """Number of pairs of a category, and the SHA-256 of its file (None: any)."""

    pairs: int
    checksum: str | None


BREC = {
    "basic": BrecFile(60, "adef7f761b803026b515d94172399f5db72fe73859b0e489a1edfaa5874aeec2"),
    "regular": BrecFile(50, "e9e85ff2003f50676e2a2ac7ef70b8ad919598c3042aaf8f5f6f43184bfdc663"),
    "str": BrecFile(50, "6de58d99b80b7ace4529d17cf8fe3d000b496b3c2a7ab7f59fe3f28f61746d6f"),
    "extension": BrecFile(100, "9b76b59842f997a502a83724daba033d793c5fbc9c2aa758834beb78d2309d4a"),
    "4vtx": BrecFile(20, "a9e593c485f3fa08d3db967d7c545a4f5cf7f417f016c9a77a5c1cc646786cea"),
    "dr": BrecFile(20, "11b861e1439ddee4c58fa04b523e874c25fdbb4ba867f3ac9104711cb3739d89"),
    "cfi": BrecFile(100, "e8d56d7c0a22768da8dfdcaae800bc8dc815fb10b1bf1b52dc7893ed68c4e92f"),
}
"""Category -> its file."""


def load_brec(*, data: str | os.PathLike[str] | None = None) -> dict[str, list[tuple[Graph, Graph]]]:
    """Load the pairs of BREC: none of them is isomorphic.

    Parameters
    ----------
    data : path, optional
        Folder that holds basic.npy, .. or brec/basic.npy, ..; by default the variable GRNF_DATA, else the
        user's cache. A file that is not there is downloaded from the authors' repository.

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
    for name, known in BREC.items():
        path = find_file(folder, "brec", f"{name}.npy")
        if path is None:
            path = folder / "brec" / f"{name}.npy"
            download(f"{ADDRESS}/{name}.npy", path, partial(_check, name))
        else:
            _check(name, path)
        graphs = [_plain(graph) for graph in read_graphs(path)]
        if len(graphs) != 2 * known.pairs:
            raise GraphError(f"{path}: {len(graphs)} graphs; {2 * known.pairs} expected, {known.pairs} pairs")
        found[name] = list(zip(graphs[::2], graphs[1::2], strict=True))
    return found


def _check(name: str, path: Path) -> None:
    value, wanted = hashlib.sha256(path.read_bytes()).hexdigest(), BREC[name].checksum
    if wanted is not None and value != wanted:
        raise GraphError(
            f"{path}: this is not the file of BREC (SHA-256 {value[:12]}..., {wanted[:12]}... expected); "
            "remove it, and it is downloaded again"
        )


def _plain(graph: Any) -> Graph:
    return Graph(graph.n_nodes, graph.edges)
