"""Datasets on which methods are compared: graphs, targets, measures, folds, scaffold splits."""

import csv
import warnings
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

from grnf.collection import encode
from grnf.io import read_blocks
from grnf.io.encode import AttributeEncoder
from grnf.io.from_molecules import batch_from_smiles
from grnf.io.raw import together

TU = {
    "MUTAG": "accuracy",
    "PTC_MR": "accuracy",
    "KKI": "accuracy",
    "BZR": "accuracy",
    "DHFR": "accuracy",
    "SYNTHETICnew": "accuracy",
    "AIDS": "accuracy",
    "Letter-high": "accuracy",
    "Fingerprint": "accuracy",
    "NCI109": "accuracy",
    "Tox21_AR-LBD": "roc_auc",
}
MOLECULES = {
    "freesolv": ("expt", "rmse"),
    "esol": ("measured log solubility in mols per litre", "rmse"),
    "clintox": ("CT_TOX", "roc_auc"),
    "bbbp": ("p_np", "roc_auc"),
}
"""Table -> target and measure."""

UNITS = {"accuracy": "", "roc_auc": " (AUC)", "rmse": " (RMSE)"}
"""What stands after the name of a dataset in tables."""

LARGE, LARGER = 4_000, 8_000
"""Graphs above which there are 5 and 3 folds instead of 10."""


@dataclass
class PeerSet:
    """A set of graphs with a target.

    Attributes
    ----------
    name, measure : str
        The measure is "accuracy", "roc_auc" or "rmse".
    raw : RawBatch
        What models of this library are given.
    y : array
        Classes 0, 1, ..; or numbers.
    smiles : list of str, or None
    """

    name: str
    measure: str
    raw: object
    y: np.ndarray
    smiles: list | None = None

    @property
    def classify(self):
        return self.measure != "rmse"

    @cached_property
    def batch(self):
        """The graphs with categories as codes."""
        encoder = AttributeEncoder(handle_unknown="open").fit(self.raw)
        return encode(self.raw, encoder).batch

    @cached_property
    def symbols(self):
        """The graphs as label kernels take them: molecules have symbols and types of bonds alone."""
        if self.smiles is None:
            return self.batch
        from dataclasses import replace

        nodes = {"symbol": self.raw.node_columns["symbol"]}
        edges = {"type": self.raw.edge_columns["type"]}
        raw = replace(self.raw, node_columns=nodes, edge_columns=edges)
        return encode(raw, AttributeEncoder(handle_unknown="open").fit(raw)).batch

    def splits(self, kind, quick=False):
        """(train, test) of each fold; "scaffold": one split, training and validation parts together."""
        if kind == "scaffold":
            return [scaffold_split(self.smiles)]
        n = len(self.y)
        count = 2 if quick else 3 if n > LARGER else 5 if n > LARGE else 10
        folds = (StratifiedKFold if self.classify else KFold)(count, shuffle=True, random_state=0)
        return list(folds.split(self.y, self.y))


def judged_inside(study, most, count, seed, judge):
    """Compare variants on training parts alone: no test fold is used.

    Of each dataset, the training part of the first fold (at most `most` graphs) is cut `count` times into
    three quarters to learn from and one quarter to judge by. `judge(data, train, cuts)` returns the result.
    """
    warnings.filterwarnings("ignore", "The (least populated class|number of unique classes)")
    warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
    results = {}
    for name in ["MUTAG"] if study.quick else [*TU, *MOLECULES]:
        study.tell(name)
        data = load_set(name, study.path())
        train = data.splits("random")[0][0]
        if len(train) > most:
            train = np.sort(np.random.default_rng(seed).permutation(train)[:most])
        kind = StratifiedShuffleSplit if data.classify else ShuffleSplit
        cuts = list(kind(count, test_size=0.25, random_state=seed).split(train, data.y[train]))
        results[name] = judge(data, train, cuts)
    return results


def load_set(name, data, quick=False):
    """A set by its name; `data` holds tu/ and molecules/molnet/."""
    if name in MOLECULES:
        return _molecules(name, Path(data) / "molecules" / "molnet" / f"{name}.csv", quick)
    raw = together(list(read_blocks(Path(data) / "tu" / f"{name}.zip")))
    y = np.unique(np.array(raw.y), return_inverse=True)[1]
    return PeerSet(name, TU.get(name, "accuracy"), raw, y)


def _molecules(name, path, quick):
    column, measure = MOLECULES[name]
    with open(path, newline="", encoding="utf-8") as file:
        rows = [(row["smiles"].strip(), float(row[column])) for row in csv.DictReader(file)]
    rows = rows[:120] if quick else rows
    raw = batch_from_smiles([smiles for smiles, _ in rows])
    good = [place for place in range(len(rows)) if place not in raw.bad]
    y = np.array([rows[place][1] for place in good])
    y = y if measure == "rmse" else y.astype(int)
    return PeerSet(name, measure, raw.take(good), y, [rows[place][0] for place in good])


def scaffold_split(smiles):
    """Bemis-Murcko scaffolds, the most frequent first: 80 and 10 of 100 to learn from, the others to test."""
    from rdkit import Chem, RDLogger
    from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

    RDLogger.DisableLog("rdApp.*")
    groups = defaultdict(list)
    for place, text in enumerate(smiles):
        groups[MurckoScaffoldSmiles(mol=Chem.MolFromSmiles(text))].append(place)
    parts = [[], [], []]
    limits = [0.8 * len(smiles), 0.1 * len(smiles), len(smiles)]
    for group in sorted(groups.values(), key=lambda group: (len(group), group[0]), reverse=True):
        part = next(p for p in range(3) if p == 2 or len(parts[p]) + len(group) <= limits[p])
        parts[part].extend(group)
    return np.sort(parts[0] + parts[1]), np.sort(parts[2])
