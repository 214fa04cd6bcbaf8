"""Graphs that do not belong: one class of a TU set made rare, in both directions, area under the ROC curve.

The detector sees 80 % of one class; judged are the rest of it and as many graphs of the other class as make a
tenth of what is judged (or all of them, repeated draws), over several random draws. Beside it: a one-class SVM
and an isolation forest on simple descriptors (numbers of nodes and edges, degrees, histogram of degrees, histogram of
node labels), and other detectors on the vectors of GRNF. Level: share of normal graphs with p <= 0.05.
Run: python experiments/outliers.py
"""

import numpy as np
from common import HERE, fill, load, parser, save
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from grnf import GRNF
from grnf.experiments.study import Table
from grnf.stats import GRNFOutlierDetector

SETS = ("MUTAG", "PTC_MR", "NCI1", "NCI109", "PROTEINS_full", "IMDB-BINARY", "AIDS", "BZR", "DHFR", "SYNTHETICnew")
M, DRAWS, RARE = 512, 5, 0.1
OURS = {
    "neighbours, whitened": {},
    "neighbours, plain": {"space": "plain"},
    "local outlier factor, whitened": {"detector": LocalOutlierFactor(n_neighbors=20, novelty=True)},
    "isolation forest, whitened": {"detector": IsolationForest(random_state=0)},
}
PEERS = {
    "one-class SVM, simple": OneClassSVM(nu=0.1, gamma="scale"),
    "isolation forest, simple": IsolationForest(random_state=0),
}


def descriptors(batch):
    """Sizes, degrees and label histograms of graphs."""
    rows = []
    for graph in (batch[place] for place in range(len(batch))):
        degrees = np.bincount(np.asarray(graph.edges).ravel(), minlength=max(graph.n_nodes, 1))
        histogram = np.bincount(np.minimum(degrees, 15), minlength=16) / max(graph.n_nodes, 1)
        rows.append([graph.n_nodes, len(graph.edges), degrees.mean(), degrees.std(), degrees.max(), *histogram])
    return np.array(rows, dtype=float)
