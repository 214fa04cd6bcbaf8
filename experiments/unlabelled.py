"""Would individualised colours pay where graphs have no labels? On training parts alone, labels taken away.

The development sets have labels; without them they stand for graphs that have none. Of each the training part
of the first fold is cut five times into three quarters to learn from and one to judge by; no test fold is
looked at. The recipe is given the bare graphs, the same with the code of each node by `Individualize` (one
level of individualised nodes), and the same with `ClosedWalks`. Run: python experiments/unlabelled.py
"""

import time
import warnings
from dataclasses import replace

import numpy as np
from common import HERE, fill, parser, save
from peer_methods import score
from peer_sets import MOLECULES, TU, cuts_inside, load_set

from grnf import GRNFClassifier, GRNFRegressor
from grnf.experiments.study import Table
from grnf.lifts import ClosedWalks, Individualize

MOST, CUTS = 1000, 5
LIFTS = {"bare": None, "individualised": Individualize(depth=1), "closed walks": ClosedWalks(4)}


def judged(data, seed):
    """Scores and processor seconds of all ways on one set."""
    train, cuts = cuts_inside(data, MOST, CUTS, seed)
    y, bare = data.y[train], replace(data.raw.take(train), node_columns={}, edge_columns={})
    kind = GRNFClassifier if data.classify else GRNFRegressor
    options = {"scoring": "roc_auc"} if data.measure == "roc_auc" else {}
    scores, seconds = {name: [] for name in LIFTS}, {}
    for name, lift in LIFTS.items():
        start = time.process_time()
        graphs = bare if lift is None else lift.fit_transform(bare)
        for learn, judge in cuts:
            model = kind(**options).fit(graphs.take(learn), y[learn])
            rare, rest = data.measure == "roc_auc", graphs.take(judge)
            values = model.predict_proba(rest)[:, 1] if rare else model.predict(rest)
            scores[name].append(round(score(data.measure, y[judge], values), 4))
        seconds[name] = round(time.process_time() - start, 2)
    return {"measure": data.measure, "scores": scores, "seconds": seconds}


def table(results):
    """Means over the cuts; of each way the difference from bare graphs with twice its standard error."""
    rows = []
    for name, found in results.items():
        bare = np.array(found["scores"]["bare"])
        digits = 2 if found["measure"] == "rmse" else 1
        unit = {"accuracy": "", "roc_auc": " (AUC)", "rmse": " (RMSE)"}[found["measure"]]
        cells = [f"{abs(bare.mean()):.{digits}f}"]
        for way in [way for way in LIFTS if way != "bare"]:
            gain = np.array(found["scores"][way]) - bare
            error = 2 * gain.std(ddof=1) / np.sqrt(len(gain))
            cells += [f"{gain.mean():+.{digits}f} ± {error:.{digits}f}"]
        costs = [f"{found['seconds'][way] / found['seconds']['bare']:.1f}" for way in LIFTS if way != "bare"]
        rows.append([name + unit, *cells, *costs])
    others = [way for way in LIFTS if way != "bare"]
    header = ["", "bare", *(f"gain: {way}" for way in others), *(f"time: {way}" for way in others)]
    title = "Labels taken away; gains (RMSE: turned round) ± 2 standard errors over cuts of training parts"
    return Table(title, header, rows)


def main(arguments=None):
    options = parser(__doc__).parse_args(arguments)
    warnings.filterwarnings("ignore", "The (least populated class|number of unique classes)")
    names = ["MUTAG"] if options.tiny else [*TU, *MOLECULES]
    results = {}
    for name in names:
        results[name] = judged(load_set(name, options.data.parent), seed=1)
        print(name, results[name], flush=True)
    save("unlabelled", options.output, {"graphs, at most": MOST, "cuts": CUTS, "seed": 1}, results)
    if options.output == HERE and not options.tiny:
        fill("unlabelled", [table(results)])


if __name__ == "__main__":
    main()
