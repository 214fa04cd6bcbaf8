"""Orders {1, 2} compared with {1, 2, 3}: accuracy by inner validation, precision, and time."""

import time

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from experiments.sets import load_graphs
from experiments.study import Table
from grnf import GRNF

TITLE = "Third order: accuracy, precision and cost"
ABOUT = (
    "A tenth of each dataset is put aside and never used. On the rest, an RBF SVM on the vectors of either "
    "distribution of orders is cross-validated, C and the width chosen inside; differences are paired over "
    "folds. Precision: relative standard error of squared distances under each distribution, random pairs."
)
PLACES = ("third-order",)

SETS = ("MUTAG", "PTC_MR", "BZR", "DHFR", "KKI", "SYNTHETICnew")
LAWS = {"orders 1, 2": {1: 2 / 3, 2: 1 / 3}, "orders 1, 2, 3": {1: 1 / 3, 2: 1 / 3, 3: 1 / 3}}
GRID = {"svc__C": [1, 10, 100, 1000], "svc__gamma": [1e-4, 1e-3, 1e-2]}


def vectors(batch, orders, M, seed):
    grnf = GRNF(M, orders=orders, random_state=seed).fit(batch)
    grnf.transform(batch[:2])
    start = time.process_time()
    return grnf.transform(batch), time.process_time() - start


def scores(Z, y, folds):
    found = []
    for train, test in folds:
        model = make_pipeline(StandardScaler(), SVC())
        found.append(GridSearchCV(model, GRID, cv=3).fit(Z[train], y[train]).score(Z[test], y[test]))
    return np.array(found)


def relative_error(Z, pairs):
    """Median over pairs of the standard error of d^2 over d^2: the M terms are at hand."""
    terms = (Z[pairs[:, 0]] - Z[pairs[:, 1]]).astype(float) ** 2
    total = terms.sum(axis=1)
    error = terms.std(axis=1) * np.sqrt(terms.shape[1])
    return float(np.median(error[total > 1e-9] / total[total > 1e-9]))


def measure(batch, y, M, n_folds):
    kept, _ = train_test_split(np.arange(len(y)), test_size=0.1, random_state=0, stratify=_strata(y))
    batch, y = batch[kept], y[kept]
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(y, _strata(y)))
    pairs = np.random.default_rng(0).integers(len(y), size=(500, 2))
    row, found = {}, {}
    for name, orders in LAWS.items():
        Z, seconds = vectors(batch, orders, M, seed=0)
        found[name] = scores(Z, y, folds)
        row[name] = {
            "accuracy": float(found[name].mean()),
            "milliseconds_per_graph": 1e3 * seconds / len(y),
            "relative_error": relative_error(Z, pairs),
        }
    low, high = found.values()
    row["gain"] = float((high - low).mean())
    row["gain_error"] = float((high - low).std(ddof=1) / np.sqrt(len(folds)))
    return row


def _strata(y):
    """Classes, rare ones as one."""
    classes, inverse, counts = np.unique(y, return_inverse=True, return_counts=True)
    return np.where(counts[inverse] < 20, len(classes), inverse)


def tables(results):
    low, high = LAWS
    rows = [
        [
            name,
            f"{100 * row[low]['accuracy']:.1f}",
            f"{100 * row[high]['accuracy']:.1f}",
            f"{100 * row['gain']:+.1f} ± {100 * row['gain_error']:.1f}",
            f"{row[high]['milliseconds_per_graph'] / row[low]['milliseconds_per_graph']:.1f}",
            f"{100 * row[low]['relative_error']:.1f} / {100 * row[high]['relative_error']:.1f}",
        ]
        for name, row in results.items()
    ]
    columns = ["", low, high, "gain", "times the time", "relative error of d^2, %"]
    return [Table("Accuracy in percent by inner validation", columns, rows)]


def settings(study):
    M, n_folds, sets = (16, 2, SETS[:1]) if study.quick else (512, 10, SETS)
    return {"M": M, "folds": n_folds, "sets": sets, "laws": {name: str(law) for name, law in LAWS.items()}}


def run(study):
    sizes = settings(study)
    results = {}
    for name in sizes["sets"]:
        study.tell(name)
        results[name] = measure(*load_graphs(name, study), sizes["M"], sizes["folds"])
    return results
