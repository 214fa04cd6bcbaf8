"""Individualized WL labels for graphs without labels, compared on training parts alone."""

import time
from dataclasses import replace

import numpy as np

from experiments.baseline_methods import predicted, score
from experiments.baseline_sets import UNITS, judged_inside
from experiments.study import Table
from grnf import GRNFClassifier, GRNFRegressor
from grnf.lifts import ClosedWalks, Individualize

TITLE = "Graphs without labels: individualized WL labels and closed walks"
ABOUT = (
    "Labels of the development datasets are taken away. The training part of the first fold is cut five "
    "times into three quarters to learn from and one to judge by; no test fold is used. The default model "
    "gets the bare graphs, the same with the code of each node by Individualize (one level), and with "
    "ClosedWalks."
)
PLACES = ("unlabelled",)

MOST, CUTS = 1000, 5
LIFTS = {"bare": None, "individualized": Individualize(depth=1), "closed walks": ClosedWalks(4)}


def judged(data, train, cuts):
    """Scores and CPU seconds of all ways on one dataset."""
    y, bare = data.y[train], replace(data.raw.take(train), node_columns={}, edge_columns={})
    kind = GRNFClassifier if data.classify else GRNFRegressor
    options = {"scoring": "roc_auc"} if data.measure == "roc_auc" else {}
    scores, seconds = {name: [] for name in LIFTS}, {}
    for name, lift in LIFTS.items():
        start = time.process_time()
        graphs = bare if lift is None else lift.fit_transform(bare)
        for learn, judge in cuts:
            model = kind(**options).fit(graphs.take(learn), y[learn])
            values = predicted(model, data.measure, graphs.take(judge))
            scores[name].append(round(score(data.measure, y[judge], values), 4))
        seconds[name] = round(time.process_time() - start, 2)
    return {"measure": data.measure, "scores": scores, "seconds": seconds}


def tables(results):
    """Means over the cuts; of each way the difference from bare graphs with twice its standard error."""
    rows = []
    for name, found in results.items():
        bare = np.array(found["scores"]["bare"])
        digits = 2 if found["measure"] == "rmse" else 1
        cells = [f"{abs(bare.mean()):.{digits}f}"]
        for way in [way for way in LIFTS if way != "bare"]:
            gain = np.array(found["scores"][way]) - bare
            error = 2 * gain.std(ddof=1) / np.sqrt(len(gain))
            cells += [f"{gain.mean():+.{digits}f} ± {error:.{digits}f}"]
        costs = [f"{found['seconds'][way] / found['seconds']['bare']:.1f}" for way in LIFTS if way != "bare"]
        rows.append([name + UNITS[found["measure"]], *cells, *costs])
    others = [way for way in LIFTS if way != "bare"]
    header = ["", "bare", *(f"gain: {way}" for way in others), *(f"time: {way}" for way in others)]
    title = "Labels removed; gains (RMSE: sign reversed) ± 2 standard errors over cuts of training parts"
    return [Table(title, header, rows)]


def settings(_study):
    return {"graphs, at most": MOST, "cuts": CUTS, "seed": 1}


def run(study):
    return judged_inside(study, MOST, CUTS, 1, judged)
