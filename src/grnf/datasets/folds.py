"""The folds of Errica et al., "A fair comparison of graph neural networks" (ICLR 2020), from their JSON."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grnf.datasets.store import data_folder, download, find_file
from grnf.errors import GraphError
from grnf.typing import IntArray

__all__ = ["FOLDS", "Fold", "fetch_folds", "load_folds"]

ADDRESS = (
    "https://raw.githubusercontent.com/diningphil/gnn-comparison/"
    "097d0a2c172149075e40ece474c30c222526dbcb/data_splits"
)

# kind -> set -> (name in the file, number of graphs, SHA-256 of the folds as compact JSON)
FOLDS: dict[str, dict[str, tuple[str, int, str]]] = {
    "CHEMICAL": {
        "NCI1": ("NCI1", 4110, "5c27022a7afee5d0b52d9a090f0e467d2a93b15966e1e594966442c012640411"),
        "PROTEINS": (
            "PROTEINS_full",
            1113,
            "cf23c1ec3fea30c6d8b76814220c98d4c0639f174f3456236dc526185c4baa66",
        ),
        "ENZYMES": ("ENZYMES", 600, "646e36eae2e5c1609549489d096664c84c0db8ee06207a8b50961fe39ae0f15b"),
    },
    "COLLABORATIVE_1": {
        "IMDB-BINARY": (
            "IMDB-BINARY",
            1000,
            "cacd946d3714444af58ec18ca08b1eacc8021b5be7ec02df3bfa1e177773528a",
        ),
        "IMDB-MULTI": (
            "IMDB-MULTI",
            1500,
            "68f7efb88f3ef69c64cce2196b7b04302b50ecef3711cfc3a863f1a763587050",
        ),
        "COLLAB": ("COLLAB", 5000, "99a792456d710b94e507078c0443daf19162f97c91dc9b9f7af0b8867683c488"),
    },
    "COLLABORATIVE_DEGREE": {
        "IMDB-BINARY": (
            "IMDB-BINARY",
            1000,
            "f5dbc36aa8bd32349f5cf0944f41b69852a040969dcce038fb9919e2dc49b564",
        ),
        "IMDB-MULTI": (
            "IMDB-MULTI",
            1500,
            "79656fd08dc4799020a68b2bd92b4d27ec649b2b842866d781b7cd7cf2699af7",
        ),
        "COLLAB": ("COLLAB", 5000, "60e062f7c6846d624c3673d8a5be8323f8695d5cef15311f834643378918b0e5"),
    },
}


@dataclass(frozen=True, eq=False)
class Fold:
    """One outer fold: indices of the graphs to train on, to choose a model with, and to judge it by."""

    train: IntArray
    validation: IntArray
    test: IntArray


def load_folds(
    name: str, *, data: str | os.PathLike[str] | None = None, kind: str | None = None, download: bool = True
) -> list[Fold]:
    """Load the ten folds of a set.

    Parameters
    ----------
    name : str
        NCI1, PROTEINS, ENZYMES, IMDB-BINARY, IMDB-MULTI or COLLAB.
    data : path, optional
        Folder that holds splits/KIND/NAME_splits.json (or KIND/NAME_splits.json); as in `load_tu`.
    kind : "CHEMICAL", "COLLABORATIVE_1" or "COLLABORATIVE_DEGREE", optional
        By default that of the paper's Table 1: CHEMICAL for molecules and proteins, COLLABORATIVE_1 (no node
        attributes) for social networks.
    download : bool, default=True

    Examples
    --------
    >>> len(load_folds("ENZYMES"))  # doctest: +SKIP
    10
    """
    kind = _kind(name, kind)
    file_name, n_graphs, _ = FOLDS[kind][_plain(name)]
    folder = data_folder(data)
    path = find_file(folder, "splits", f"{kind}/{file_name}_splits.json")
    if path is None:
        if not download:
            raise GraphError(f"the {kind} folds of {name} are not in {folder}")
        path = fetch_folds(name, data=data, kind=kind)
    return _folds(_parsed(path), n_graphs, str(path))


def fetch_folds(name: str, *, data: str | os.PathLike[str] | None = None, kind: str | None = None) -> Path:
    """Download the folds of a set unless they are there, and check them; return their path."""
    kind = _kind(name, kind)
    file_name, _, wanted = FOLDS[kind][_plain(name)]
    path = data_folder(data) / "splits" / kind / f"{file_name}_splits.json"

    def check(part: Path) -> None:
        compact = json.dumps(_parsed(part), sort_keys=True, separators=(",", ":"))
        if hashlib.sha256(compact.encode()).hexdigest() != wanted:
            raise GraphError(f"{part}: these are not the {kind} folds of {name}; fetch the file again")

    if path.is_file():
        check(path)
        return path
    return download(f"{ADDRESS}/{kind}/{file_name}_splits.json", path, check)


def _plain(name: str) -> str:
    return "PROTEINS" if name == "PROTEINS_full" else name


def _kind(name: str, kind: str | None) -> str:
    kinds = [known for known, sets in FOLDS.items() if _plain(name) in sets]
    if not kinds:
        raise GraphError(
            f"no folds are known for {name!r}; there are some for NCI1, PROTEINS, ENZYMES, "
            "IMDB-BINARY, IMDB-MULTI and COLLAB"
        )
    if kind is None:
        return kinds[0]
    if kind not in kinds:
        raise GraphError(f"the folds of {name} are of kind {' or '.join(kinds)}; got {kind!r}")
    return kind


def _parsed(path: Path) -> Any:
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
        found = np.sort(np.concatenate([fold.train, fold.validation, fold.test]))
        if not np.array_equal(found, everything):
            raise GraphError(f"{where}: fold {number} does not split the graphs 0 .. {n_graphs - 1} in three")
    if not np.array_equal(np.sort(np.concatenate([fold.test for fold in folds])), everything):
        raise GraphError(f"{where}: the test parts of the folds are not disjoint")
    return folds
