"""Outliers: one class of a TU dataset made rare, in both directions; area under the ROC curve."""

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from experiments.sets import load_graphs
from experiments.study import Table
from grnf import GRNF
from grnf.stats import GRNFOutlierDetector

TITLE = "Outliers: a class made rare"
ABOUT = (
    "The detector is fitted on 80 % of one class; the test part is the rest of it and graphs of another "
    "class, one in ten, over several random draws. Compared with a one-class SVM and an isolation forest "
    "on simple descriptors (sizes, degrees, histograms of degrees and node labels), and with other "
    "detectors on the vectors of GRNF. Level: share of inliers with p <= 0.05."
)
PLACES = ("outliers",)

SETS = ("MUTAG", "PTC_MR", "NCI1", "NCI109", "PROTEINS_full", "IMDB-BINARY", "AIDS", "BZR", "DHFR")
M, DRAWS, RARE = 512, 5, 0.1
OURS = {
    "neighbors, whitened": {"n_neighbors": 5, "space": "whitened"},
    "neighbors, plain": {"n_neighbors": 5},
    "local outlier factor, whitened": {
        "detector": LocalOutlierFactor(n_neighbors=20, novelty=True),
        "space": "whitened",
    },
    "isolation forest, whitened": {"detector": IsolationForest(random_state=0), "space": "whitened"},
}
BASELINES = {
    "one-class SVM, simple": OneClassSVM(nu=0.1, gamma="scale"),
    "isolation forest, simple": IsolationForest(random_state=0),
}


def descriptors(batch):
    """Sizes, degrees, and histograms of degrees and of node labels (means of attributes)."""
    rows = []
    for place in range(len(batch)):
        graph = batch[place]
        nodes = max(graph.n_nodes, 1)
        degrees = np.bincount(np.asarray(graph.edges).ravel(), minlength=nodes)
        histogram = np.bincount(np.minimum(degrees, 15), minlength=16) / nodes
        labels = [] if graph.node_attr is None else np.asarray(graph.node_attr).sum(axis=0) / nodes
        sizes = [graph.n_nodes, len(graph.edges), degrees.mean(), degrees.std(), degrees.max()]
        rows.append([*sizes, *histogram, *labels])
    return np.array(rows, dtype=float)


def draws(y, normal, count):
    """Yield which graphs are shown, and which are judged."""
    for draw in range(count):
        generator = np.random.default_rng([draw, int(normal) + 1])
        usual, rare = (generator.permutation(np.flatnonzero((y == normal) == same)) for same in (True, False))
        shown, rest = np.split(usual, [int(0.8 * len(usual))])
        n_rare = max(2, round(RARE / (1 - RARE) * len(rest)))
        yield (
            shown,
            np.concatenate([rest, rare[:n_rare]]),
            np.repeat([0, 1], [len(rest), min(n_rare, len(rare))]),
        )


def measure(batch, y, width, count):
    """Return the area under the curve of each method for either class as the normal one."""
    classes, sizes = np.unique(y, return_counts=True)
    simple, found = descriptors(batch), {}
    Z = GRNF(width, random_state=0).fit_transform(batch).astype(float)
    for normal in classes[np.argsort(-sizes)][:2]:
        scores = {name: [] for name in (*OURS, *BASELINES)}
        level = []
        for shown, judged, truth in draws(y, normal, count):
            for name, parameters in OURS.items():
                detector = GRNFOutlierDetector(**parameters).fit(Z[shown])
                scores[name].append(roc_auc_score(truth, -detector.score_samples(Z[judged])))
                if name == next(iter(OURS)):
                    level.append((detector.pvalues(Z[judged][truth == 0]) <= 0.05).mean())
            for name, baseline in BASELINES.items():
                model = make_pipeline(StandardScaler(), baseline).fit(simple[shown])
                scores[name].append(roc_auc_score(truth, -model.score_samples(simple[judged])))
        found[str(normal)] = {
            "graphs": int((y == normal).sum()),
            "level": float(np.mean(level)),
            "auc": {name: float(np.mean(values)) for name, values in scores.items()},
            "error": {name: float(np.std(values) / np.sqrt(count)) for name, values in scores.items()},
        }
    return found


def tables(results):
    names = [*OURS, *BASELINES]
    rows = [
        [f"{name}, class {normal}", f"{row['graphs']:,}", f"{100 * row['level']:.1f}"]
        + [_bold(row["auc"][method], max(row["auc"].values())) for method in names]
        for name, found in results.items()
        for normal, row in found.items()
    ]
    means = [np.mean([row["auc"][m] for found in results.values() for row in found.values()]) for m in names]
    rows.append(["mean", "", "", *(_bold(value, max(means)) for value in means)])
    return [Table("reference", ["", "graphs", "inliers with p <= 0.05, %", *names], rows)]


def _bold(value, best):
    return f"**{100 * value:.1f}**" if value == best else f"{100 * value:.1f}"


def settings(study):
    width, count, sets = (16, 2, SETS[:1]) if study.quick else (M, DRAWS, SETS)
    return {"M": width, "draws": count, "rare": RARE, "sets": sets}


def run(study):
    sizes = settings(study)
    results = {}
    for name in sizes["sets"]:
        study.tell(name)
        results[name] = study.cached(
            {"experiment": "outliers", "set": name, "M": sizes["M"], "draws": sizes["draws"]},
            lambda: measure(*load_graphs(name, study), sizes["M"], sizes["draws"]),
        )
    return results
