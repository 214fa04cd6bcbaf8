"""Scores of the default learner inside training parts of benchmarks, before and after its selection changed.

The test parts of these benchmarks are not read. Rows of an earlier commit are kept from the stored results;
they were made by this module with the library of that commit on the path.
"""

import csv
import gzip
import json
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from experiments.baseline_sets import TU, load_set
from experiments.study import Table
from grnf import GRNFClassifier
from grnf.io.from_molecules import batch_from_smiles

TITLE = "The default learner inside training parts of benchmarks"
ABOUT = (
    "GRNFClassifier without options learns from a part of each training part and is scored on the rest. TDC: "
    "folds of scaffolds, five (the first of five for more than 3,000 molecules), AUPRC for the CYP tasks "
    "except CYP3A4 substrate, otherwise AUROC. ogbg-molhiv: AUROC on the validation part. Peptides-func: "
    "mean average precision of ten targets on the validation part. TU datasets: accuracy, five folds (two "
    "of them for more than 1,200 graphs)."
)
PLACES = ("learner",)

BEFORE = "ca7832f"
STORED = Path(__file__).parent / "results" / "learner.json"
SETS = [
    *(name for name, measure in TU.items() if measure == "accuracy"),
    "ENZYMES",
    "IMDB-BINARY",
    "IMDB-MULTI",
]
FOLDS, LARGE, LARGER = 5, 1_200, 3_000


def molecules(path, column):
    """Return the rows of a table and its molecules."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as file:
        rows = list(csv.DictReader(file))
    return rows, [row[column] for row in rows]


def scaffold_folds(smiles):
    """Return the number of the fold of each molecule: all of a scaffold have the same."""
    from rdkit import RDLogger
    from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

    RDLogger.DisableLog("rdApp.*")
    _, scaffold = np.unique([MurckoScaffoldSmiles(text) for text in smiles], return_inverse=True)
    return np.random.default_rng(0).integers(FOLDS, size=scaffold.max() + 1)[scaffold]


def ranks(name, y, values):
    """Return the measure of a TDC task."""
    precision = name.startswith("CYP") and not name.startswith("CYP3A4_Substrate")
    return (average_precision_score if precision else roc_auc_score)(y, values)


def tdc(name, smiles, y, stereo=True):
    """Return the mean score over folds of scaffolds."""
    fold, graphs = scaffold_folds(smiles), batch_from_smiles(smiles, stereo=stereo)
    scores = []
    for number in range(1 if len(y) > LARGER else FOLDS):
        train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        model = GRNFClassifier(random_state=0).fit(graphs.take(train), y[train])
        scores.append(ranks(name, y[test], model.decision_function(graphs.take(test))))
    return float(np.mean(scores))


def hiv(study):
    """Return AUROC on the validation part of ogbg-molhiv."""
    rows, smiles = molecules(study.path("molecules", "hiv_train.csv.gz"), "smiles")
    y = np.array([int(float(row["HIV_active"])) for row in rows])
    train = np.array([row["part"] == "train" for row in rows])
    graphs = batch_from_smiles(smiles, stereo=True)
    good = np.setdiff1d(np.arange(len(rows)), list(graphs.bad))
    learn, judge = good[train[good]], good[~train[good]]
    model = GRNFClassifier(random_state=0).fit(graphs.take(learn), y[learn])
    return float(roc_auc_score(y[judge], model.decision_function(graphs.take(judge))))


def peptides(study, several):
    """Return the mean average precision; `several`: one model of all targets, otherwise one for each."""
    rows, smiles = molecules(study.path("molecules", "peptides_train.csv.gz"), "smiles")
    Y = np.array([[int(float(row[f"y{k}"])) for k in range(10)] for row in rows])
    train = np.array([row["part"] == "train" for row in rows])
    graphs = batch_from_smiles(smiles, stereo=True)
    learn, judge = graphs.take(np.flatnonzero(train)), graphs.take(np.flatnonzero(~train))
    memory = str(study.output / "cache" / "vectors")
    if several:
        values = GRNFClassifier(random_state=0).fit(learn, Y[train]).decision_function(judge)
    else:
        values = np.column_stack(
            [
                GRNFClassifier(random_state=0, memory=memory).fit(learn, y[train]).decision_function(judge)
                for y in Y.T
            ]
        )
    return float(np.mean([average_precision_score(Y[~train, k], values[:, k]) for k in range(10)]))


def tu(name, study, scoring=None):
    """Return the accuracy over folds."""
    data = load_set(name, study.path())
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(data.y, data.y))
    scores = []
    for train, test in folds[: 2 if len(data.y) > LARGE else FOLDS]:
        model = GRNFClassifier(random_state=0, scoring=scoring).fit(data.raw.take(train), data.y[train])
        scores.append(np.mean(model.predict(data.raw.take(test)) == data.y[test]))
    sizes = np.bincount(data.y)
    return float(np.mean(scores)), float(sizes.max() / max(sizes.min(), 1))


def run(study):
    several = hasattr(GRNFClassifier(), "kernel_memory")  # the library of BEFORE has one target only
    scores, stereo, choices = {}, {}, {}

    def note(name, compute):
        study.tell(name)
        start = time.process_time()
        value = compute()
        scores[name] = [round(value, 4), round(time.process_time() - start, 1)]

    for path in sorted(study.path("molecules", "tdc").glob("*_train.csv"))[: 1 if study.quick else None]:
        name = path.stem.removesuffix("_train")
        rows, smiles = molecules(path, "Drug")
        y = np.array([int(float(row["Y"])) for row in rows])
        note(f"TDC {name}", lambda n=name, s=smiles, y=y: tdc(n, s, y))
        if several:
            stereo[name] = round(tdc(name, smiles, y, stereo=False), 4)
    for name in ["MUTAG"] if study.quick else SETS:
        accuracy, ratio = tu(name, study, "accuracy")
        note(f"TU {name}", lambda n=name: tu(n, study)[0])
        if several:
            choices[name] = [round(ratio, 2), round(accuracy, 4), round(tu(name, study, "roc_auc")[0], 4)]
    if not study.quick:
        note("ogbg-molhiv", lambda: hiv(study))
        note("Peptides-func", lambda: peptides(study, several))
    stored = json.loads(STORED.read_text())["results"]["scores"] if STORED.is_file() else {}
    kept = {BEFORE: stored[BEFORE]} if BEFORE in stored else {}
    return {"scores": {**kept, "now" if several else BEFORE: scores}, "stereo": stereo, "choices": choices}


def tables(results):
    """Return the scores before and now, and the choices that were compared, as far as they were run."""
    parts = {key: dict(results["scores"].get(key, {})) for key in (BEFORE, "now")}
    names = list(dict.fromkeys(name for part in parts.values() for name in part))
    for kind in ("TDC", "TU"):
        own = [name for name in names if name.startswith(f"{kind} ")]
        for part in parts.values():
            if own and all(name in part for name in own):
                part[f"mean of {kind}"] = np.mean([part[name] for name in own], axis=0).tolist()
        names.append(f"mean of {kind}")
    rows = [
        [
            name,
            *(
                f"{part[name][k]:.{3 - 2 * k}f}" if name in part else ""
                for k in (0, 1)
                for part in parts.values()
            ),
        ]
        for name in names
    ]
    header = ["", f"score, {BEFORE}", "score, now", f"CPU seconds, {BEFORE}", "CPU seconds, now"]
    made = [Table("Scores inside training parts", header, rows)]
    compared = {
        ("without stereochemistry", "with it"): [
            [f"TDC {name}", value, parts["now"][f"TDC {name}"][0]]
            for name, value in results["stereo"].items()
        ],
        ("selected by accuracy", "by ROC-AUC"): [
            [f"{name}, ratio of classes {ratio:g}", *values]
            for name, (ratio, *values) in results["choices"].items()
        ],
    }
    for labels, lines in compared.items():
        if lines:
            means = np.mean([values for _, *values in lines], axis=0)
            rows = [
                [name, *(f"{value:.3f}" for value in values)] for name, *values in [*lines, ["mean", *means]]
            ]
            made.append(Table("Choices", ["", *labels], rows))
    return made
