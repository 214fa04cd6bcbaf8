"""Benchmark datasets (TU, BREC) and folds by name: read from a folder, or downloaded and checked.

TU archives have been repacked over the years. So their checksum is one of the graphs (sizes, degrees,
attributes, classes, in any order of the nodes), not of the bytes of the zip file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grnf._utils.files import atomic_write
from grnf.errors import GraphError
from grnf.graphs import Graph, GraphBatch
from grnf.io import read_graphs, read_tu
from grnf.typing import IntArray

TIMEOUT = 60.0
"""Seconds without an answer before a download is given up."""
LARGEST_DOWNLOAD = 2**30
"""Bytes."""
CHUNK = 2**18
SAFE = ("https://", "http://127.0.0.1:")
ADDRESSES = {
    "tu": "https://www.chrsmrrs.com/graphkerneldatasets",
    "splits": "https://raw.githubusercontent.com/diningphil/gnn-comparison/"
    "097d0a2c172149075e40ece474c30c222526dbcb/data_splits",
    "brec": "https://raw.githubusercontent.com/GraphPKU/BREC/"
    "d45190961b86548c626e5bc29ded4c67f5fa4f24/customize/Data/raw",
}
"""Address of the files in each subfolder of the data folder."""

TU_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\Z")
TU_CHECKSUMS = {
    "NCI1": "91dd73748a70201e450443ec4c76e3865b7eb684a2a5fcdd8d196ed34ca4d0e7",
    "PROTEINS": "8bc81ed7636f26765d8708acbe793d9b7f3ae39628b56fa03ab9c66adadd79c0",
    "PROTEINS_full": "eeb102a83d53a70153448a071cfd0a64ae562bbfc3afece4bffde1a633b23ec8",
    "ENZYMES": "8656e0858825d0020c47533d0fd59e2f188ac3f7eed6b7dc2978d5c39c3cdf22",
    "IMDB-BINARY": "a5842ce7b275ec349940472527e09f6c045d760bf378b33f6b33c3fab59e44e4",
    "IMDB-MULTI": "6fea90e1af75093b0333d81ce3f8119ef84c19eb9d893c714fc2e4a8095c0805",
    "COLLAB": "5b013cfad805d5da93bf5c0ba96d62b59ea15e2fe5b5466d22a3c12624cac97f",
    "MUTAG": "2fc1067063363352e4c3f366159690cd55f97d644c12ca7489af22b444698c01",
    "PTC_MR": "496357a4df73967332aff151710d164a52e959bb276a03b1d07996db8cb36868",
}
"""SHA-256 of the graphs of TU datasets, as `checksum` computes it."""

SIZES = {
    "NCI1": 4110,
    "PROTEINS": 1113,
    "ENZYMES": 600,
    "IMDB-BINARY": 1000,
    "IMDB-MULTI": 1500,
    "COLLAB": 5000,
}
"""Numbers of graphs of the datasets with folds."""
FOLDS = {
    "CHEMICAL": {
        "NCI1": "5c27022a7afee5d0b52d9a090f0e467d2a93b15966e1e594966442c012640411",
        "PROTEINS": "cf23c1ec3fea30c6d8b76814220c98d4c0639f174f3456236dc526185c4baa66",
        "ENZYMES": "646e36eae2e5c1609549489d096664c84c0db8ee06207a8b50961fe39ae0f15b",
    },
    "COLLABORATIVE_1": {
        "IMDB-BINARY": "cacd946d3714444af58ec18ca08b1eacc8021b5be7ec02df3bfa1e177773528a",
        "IMDB-MULTI": "68f7efb88f3ef69c64cce2196b7b04302b50ecef3711cfc3a863f1a763587050",
        "COLLAB": "99a792456d710b94e507078c0443daf19162f97c91dc9b9f7af0b8867683c488",
    },
    "COLLABORATIVE_DEGREE": {
        "IMDB-BINARY": "f5dbc36aa8bd32349f5cf0944f41b69852a040969dcce038fb9919e2dc49b564",
        "IMDB-MULTI": "79656fd08dc4799020a68b2bd92b4d27ec649b2b842866d781b7cd7cf2699af7",
        "COLLAB": "60e062f7c6846d624c3673d8a5be8323f8695d5cef15311f834643378918b0e5",
    },
}
"""Kind of folds -> dataset -> SHA-256 of the folds as compact JSON."""


BREC: dict[str, tuple[int, str | None]] = {
    "basic": (60, "adef7f761b803026b515d94172399f5db72fe73859b0e489a1edfaa5874aeec2"),
    "regular": (50, "e9e85ff2003f50676e2a2ac7ef70b8ad919598c3042aaf8f5f6f43184bfdc663"),
    "str": (50, "6de58d99b80b7ace4529d17cf8fe3d000b496b3c2a7ab7f59fe3f28f61746d6f"),
    "extension": (100, "9b76b59842f997a502a83724daba033d793c5fbc9c2aa758834beb78d2309d4a"),
    "4vtx": (20, "a9e593c485f3fa08d3db967d7c545a4f5cf7f417f016c9a77a5c1cc646786cea"),
    "dr": (20, "11b861e1439ddee4c58fa04b523e874c25fdbb4ba867f3ac9104711cb3739d89"),
    "cfi": (100, "e8d56d7c0a22768da8dfdcaae800bc8dc815fb10b1bf1b52dc7893ed68c4e92f"),
}
"""Category of BREC -> number of pairs, SHA-256 of the file (None: any)."""


@dataclass(frozen=True, eq=False)
class TUDataset:
    """A benchmark dataset.

    Attributes
    ----------
    name : str
    graphs : GraphBatch
        A sequence of `Graph`, stored as arrays. `graphs.take(indices)` selects.
    y : array of int, shape (n_graphs,)
        Classes, numbered as in the files.
    node_columns, edge_columns : list of str
        Names of the attributes of nodes and edges: attributes first, then labels as one-hot columns.
    """

    name: str
    graphs: GraphBatch
    y: Any
    node_columns: list[str]
    edge_columns: list[str]

    def __len__(self) -> int:
        return len(self.graphs)


@dataclass(frozen=True, eq=False)
class Fold:
    """One outer fold: indices of the graphs for training, for model selection and for the test."""

    train: IntArray
    validation: IntArray
    test: IntArray


def load_tu(
    name: str | os.PathLike[str], *, data: str | os.PathLike[str] | None = None, download: bool = True
) -> TUDataset:
    """Load a TU dataset by its name, or by the path of a zip file or folder.

    Parameters
    ----------
    name : str or path
        The name of any TU dataset, or its path. NCI1, PROTEINS, ENZYMES, IMDB-BINARY, IMDB-MULTI, COLLAB,
        MUTAG and PTC_MR are checked when they are downloaded. "PROTEINS" has the 3 node labels only, as in
        the experiments of the paper. "PROTEINS_full" has the 29 attributes too.
    data : path, optional
        Folder with NAME.zip or tu/NAME.zip. By default the variable GRNF_DATA, else the user's cache.
    download : bool, default=True
        Whether to download a dataset that is not in that folder.

    Returns
    -------
    TUDataset
        With `graphs`, `y`, `node_columns` and `edge_columns`.

    Examples
    --------
    >>> load_tu("ENZYMES").graphs  # doctest: +SKIP
    GraphBatch(600 graphs, 19580 nodes, 37282 edges, node_width=21, edge_width=0)
    """
    path = Path(name)
    if path.suffix == ".zip" or len(path.parts) > 1 or path.is_dir():
        return TUDataset(path.stem if path.suffix == ".zip" else path.name, *read_tu(path))
    title = os.fspath(name)
    if not TU_NAME.match(title):
        raise GraphError(f"{title!r} is not the name of a TU dataset", cure="For a file, give its path")

    def read(path: Path) -> TUDataset:
        return TUDataset(title, *read_tu(path, node_attributes=title != "PROTEINS"))

    def check(path: Path) -> None:
        dataset = read(path)
        if TU_CHECKSUMS.get(title) not in (None, checksum(dataset.graphs, dataset.y)):
            raise GraphError(
                f"{path.name} does not hold the graphs of the benchmark {title} (another checksum)",
                cure="Download it again, or read it with grnf.io.read_tu",
            )

    archive = f"{'PROTEINS_full' if title == 'PROTEINS' else title}.zip"
    return read(_located("tu", archive, check, data, download))


def checksum(graphs: GraphBatch, y: Any) -> str:
    """Return a SHA-256 of graphs that does not depend on the order of nodes and edges.

    It is computed from the class of each graph, its number of nodes, the sorted degrees and attributes of its
    nodes, and the sorted attributes of its edges.
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


def load_folds(
    name: str, *, data: str | os.PathLike[str] | None = None, kind: str | None = None, download: bool = True
) -> list[Fold]:
    """Load the ten folds of a dataset in Errica et al., "A fair comparison of graph neural networks".

    Parameters
    ----------
    name : str
        NCI1, PROTEINS, ENZYMES, IMDB-BINARY, IMDB-MULTI or COLLAB.
    data : path, optional
        As in `load_tu`. The files are splits/KIND/NAME_splits.json (or KIND/NAME_splits.json).
    kind : "CHEMICAL", "COLLABORATIVE_1" or "COLLABORATIVE_DEGREE", optional
        By default that of the paper's Table 1: CHEMICAL for molecules and proteins, COLLABORATIVE_1 (no node
        attributes) for social networks.
    download : bool, default=True

    Returns
    -------
    list of Fold
        With `train`, `validation` and `test`, arrays of row numbers.

    Examples
    --------
    >>> len(load_folds("ENZYMES"))  # doctest: +SKIP
    10
    """
    name = "PROTEINS" if name == "PROTEINS_full" else name
    kinds = [known for known, names in FOLDS.items() if name in names]
    if not kinds:
        raise GraphError(f"there are no folds for {name!r}. Available: {', '.join(SIZES)}")
    kind = kinds[0] if kind is None else kind
    if kind not in kinds:
        raise GraphError(f"kind must be {' or '.join(kinds)} for {name}, got {kind!r}")

    def check(path: Path) -> None:
        compact = json.dumps(_json(path), sort_keys=True, separators=(",", ":"))
        if hashlib.sha256(compact.encode()).hexdigest() != FOLDS[kind][name]:
            raise GraphError(
                f"{path.name} does not hold the {kind} folds of {name}", cure="Download it again"
            )

    title = "PROTEINS_full" if name == "PROTEINS" else name
    path = _located("splits", f"{kind}/{title}_splits.json", check, data, download)
    return _folds(_json(path), SIZES[name], str(path))


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise GraphError(f"{path} is not a JSON file: {error}") from None


def _folds(content: Any, n_graphs: int, where: str) -> list[Fold]:
    """Check that each fold splits all graphs in three, and that the test parts are disjoint."""
    try:
        folds = [
            Fold(*(np.array(part, dtype=np.int64) for part in (inner["train"], inner["validation"], test)))
            for test, (inner,) in ((outer["test"], outer["model_selection"]) for outer in content)
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise GraphError(f"{where}: must be a list of {{test, model_selection}} ({error!r})") from None
    everything = np.arange(n_graphs)
    for number, fold in enumerate(folds, start=1):
        members = np.sort(np.concatenate([fold.train, fold.validation, fold.test]))
        if not np.array_equal(members, everything):
            raise GraphError(f"{where}: fold {number} does not split the graphs 0 .. {n_graphs - 1} in three")
    if not np.array_equal(np.sort(np.concatenate([fold.test for fold in folds])), everything):
        raise GraphError(f"{where}: the test parts of the folds are not disjoint")
    return folds


def load_brec(*, data: str | os.PathLike[str] | None = None) -> dict[str, list[tuple[Graph, Graph]]]:
    """Load BREC (arXiv 2304.07702): 400 pairs of graphs that are hard to distinguish, none isomorphic.

    Parameters
    ----------
    data : path, optional
        Folder with basic.npy, .. or brec/basic.npy, .. as in `load_tu`.

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
    pairs = {}
    for name, (n_pairs, known) in BREC.items():

        def check(path: Path, pinned: str | None = known) -> None:
            if pinned not in (None, hashlib.sha256(path.read_bytes()).hexdigest()):
                raise GraphError(
                    f"{path} is not a file of BREC (another SHA-256)", cure="Delete it to download it again"
                )

        path = _located("brec", f"{name}.npy", check, data, download=True)
        check(path)
        raw: Any = read_graphs(path)
        graphs = [Graph(graph.n_nodes, graph.edges) for graph in raw]
        if len(graphs) != 2 * n_pairs:
            raise GraphError(f"{path} must have {n_pairs} pairs of graphs, got {len(graphs)} graphs")
        pairs[name] = list(zip(graphs[::2], graphs[1::2], strict=True))
    return pairs


def data_folder(data: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of datasets: `data`, else the variable GRNF_DATA, else the user's cache."""
    if data is not None or os.environ.get("GRNF_DATA"):
        return Path(data or os.environ["GRNF_DATA"])
    if sys.platform == "win32":
        cache = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        cache = Path.home() / "Library" / "Caches"
    else:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "grnf"


def _located(subfolder: str, name: str, check: Callable[[Path], Any], data: Any, download: bool) -> Path:
    """Return the path of a file in the data folder. A file that is not there is downloaded and checked."""
    folder = data_folder(data)
    path = next((path for path in (folder / subfolder / name, folder / name) if path.is_file()), None)
    if path is None and not download:
        raise GraphError(f"{name} is not in {folder}", cure="Download it with download=True")
    return path or _downloaded(f"{ADDRESSES[subfolder]}/{name}", folder / subfolder / name, check)


def _downloaded(address: str, path: Path, check: Callable[[Path], Any]) -> Path:
    """Download a file to `path`. It gets its name only after `check` of the whole file has raised nothing.

    Only https is used (and http to the local host, for tests). Size and waiting time are limited.
    """
    if not address.startswith(SAFE):
        raise GraphError(f"{address}: only https addresses are downloaded")
    path.parent.mkdir(parents=True, exist_ok=True)
    unchecked = path.with_name(f".{path.name}.unchecked")
    request = urllib.request.Request(address, headers={"User-Agent": "grnf"})  # noqa: S310
    try:
        with (
            urllib.request.urlopen(request, timeout=TIMEOUT) as answer,  # noqa: S310 https, see above
            atomic_write(unchecked, "wb") as file,
        ):
            if not answer.geturl().startswith(SAFE):
                raise GraphError(f"{address} leads to {answer.geturl()}: only https addresses are downloaded")
            size = 0
            while chunk := answer.read(CHUNK):
                size += len(chunk)
                if size > LARGEST_DOWNLOAD:
                    raise GraphError(f"{address} is larger than {LARGEST_DOWNLOAD:,} bytes")
                file.write(chunk)
            expected = answer.headers.get("Content-Length")
            if expected is not None and int(expected) != size:
                raise GraphError(f"{address} is truncated (expected {expected} bytes, found {size})")
        check(unchecked)
        os.replace(unchecked, path)
    except OSError as error:
        raise GraphError(
            f"{path.name} is not in the data folder, and {address} cannot be reached ({error})",
            cure=f"Put the file at {path}, or name a folder that has it (data=, --data or GRNF_DATA)",
        ) from error
    finally:
        unchecked.unlink(missing_ok=True)
    return path
