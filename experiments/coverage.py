"""Coverage of prediction intervals and sets: how often they contain the truth, and how long they are."""

import csv

import numpy as np
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from experiments import moleculeace
from experiments.baseline_sets import scaffold_split
from experiments.study import Table
from grnf import GRNFClassifier, GRNFRegressor
from grnf.datasets import load_tu
from grnf.datasets.benchmarks import data_folder

TITLE = "Coverage of intervals and sets at 90 %"
ABOUT = (
    "GRNFRegressor.predict_interval and GRNFClassifier.predict_set at 90 %, with no options set. The "
    "regressions are the training parts of the 30 datasets of MoleculeACE, ESOL and FreeSolv. The "
    "classifications are the training parts of six TDC tasks, BBBP and three TU datasets. A random split has "
    "a fifth to test, and at most 1,000 graphs to learn from. The scaffold split of molecules has 90 of 100 "
    "to learn from and the rarest scaffolds to test. Coverage is the share of test graphs whose interval or "
    "set contains the truth. The size is the mean length of intervals in standard deviations of the target, "
    "or the mean number of classes in a set."
)
PLACES = ("coverage",)
CONFIDENCE, MOST = 0.9, 1_000
TDC = (
    "HIA_Hou",
    "Pgp_Broccatelli",
    "Bioavailability_Ma",
    "hERG",
    "DILI",
    "CYP3A4_Substrate_CarbonMangels",
)
TU = ("MUTAG", "BZR", "ENZYMES")


def read(path, smiles, target):
    """Return SMILES and targets of a table, without molecules that RDKit cannot read."""
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs(), open(path, encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if Chem.MolFromSmiles(row[smiles])]
    return [row[smiles] for row in rows], np.array([float(row[target]) for row in rows])


def datasets(study):
    """Yield name, graphs, targets, whether they are classes, and SMILES if they are molecules."""
    data = data_folder(study.data)
    molecules = data / "molecules"
    for name, rows in moleculeace.datasets(study).items():
        rows = [row for row in rows if row["split"] == "train"]
        smiles = [row["smiles"] for row in rows]
        yield name, smiles, np.array([float(row["y"]) for row in rows]), False, smiles
    for name, target in (("esol", "measured log solubility in mols per litre"), ("freesolv", "expt")):
        smiles, y = read(molecules / "molnet" / f"{name}.csv", "smiles", target)
        yield name, smiles, y, False, smiles
    for name in TDC[: 1 if study.quick else None]:
        smiles, y = read(molecules / "tdc" / f"{name}_train.csv", "Drug", "Y")
        yield name, smiles, y.astype(int), True, smiles
    smiles, y = read(molecules / "molnet" / "bbbp.csv", "smiles", "p_np")
    yield "bbbp", smiles, y.astype(int), True, smiles
    for name in TU[: 1 if study.quick else None]:
        dataset = load_tu(name, data=study.data)
        yield name, dataset.graphs, np.asarray(dataset.y), True, None


def measured(graphs, y, classes, train, test):
    """Return coverage and mean size of a model fitted to some graphs."""
    inside, outside = ([graphs[i] for i in part] for part in (train, test))
    if classes:
        model = GRNFClassifier(random_state=0).fit(inside, y[train])
        sets = model.predict_set(outside, CONFIDENCE)
        hit = [own[model.classes_ == label].any() for own, label in zip(sets, y[test], strict=True)]
        return [float(np.mean(hit)), float(sets.sum(axis=1).mean())]
    low, high = GRNFRegressor(random_state=0).fit(inside, y[train]).predict_interval(outside, CONFIDENCE).T
    hit = (low <= y[test]) & (y[test] <= high)
    return [float(hit.mean()), float((high - low).mean() / y.std())]


def run(study):
    results = {}
    for name, graphs, y, classes, smiles in datasets(study):
        study.tell(name)
        kind = StratifiedShuffleSplit if classes else ShuffleSplit
        size = min(MOST, int(0.8 * len(y)))
        split = kind(1, train_size=size, test_size=min(MOST, len(y) - size), random_state=study.seed)
        splits = {"random": next(split.split(y, y))}
        if smiles is not None:
            train, test = (np.asarray(part) for part in scaffold_split(smiles))
            train = np.random.default_rng(study.seed).permutation(train)[:MOST]
            splits["scaffold"] = np.sort(train), test
        entry = {"classes": classes, "graphs": len(y)}
        for split_name, (train, test) in splits.items():
            what = {
                "experiment": "coverage",
                "name": name,
                "split": split_name,
                "seed": study.seed,
                "most": MOST,
            }
            entry[split_name] = study.cached(what, lambda a=train, b=test: measured(graphs, y, classes, a, b))
        results[name] = entry
    return results


def tables(results):
    """Return means over the regressions and over the classifications."""
    rows = []
    for title, classes in (("intervals", False), ("sets", True)):
        for split in ("random", "scaffold"):
            scores = np.array(
                [entry[split] for entry in results.values() if entry["classes"] == classes and split in entry]
            )
            cover, size = scores.T
            spread = f"{100 * cover.min():.1f} to {100 * cover.max():.1f}"
            rows.append(
                [title, split, str(len(scores)), f"{100 * cover.mean():.1f}", spread, f"{size.mean():.2f}"]
            )
    header = ["", "Split", "Datasets", "Coverage (%)", "Lowest to highest (%)", "Mean size"]
    return [Table("Coverage at 90 %", header, rows)]
