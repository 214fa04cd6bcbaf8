"""Other estimators behind the features, alone or chosen inside, compared on training parts alone."""

import time

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import roc_auc_score

from experiments.baseline_methods import predicted, score
from experiments.baseline_sets import UNITS, judged_inside
from experiments.study import Table
from grnf import GRNFClassifier, GRNFRegressor

TITLE = "Estimators behind the features: kernels, forest, boosted trees"
ABOUT = (
    "The training part of the first fold is cut three times into three quarters to learn from and one to "
    "judge by; no test fold is used. Compared: the default (two kernels), a forest, boosted trees, and a "
    "choice between kernels and forest by the score of the cross-validation of the one and that of the "
    "trees on samples they have not seen of the other."
)
PLACES = ("final_estimators",)

MOST = 1000
"""Graphs of a training part that are used, so that boosted trees end."""
CUTS = 3
ESTIMATORS = {"kernels": "auto", "forest": None, "boosted": "boosted"}


def models(data):
    """The models that are compared."""
    kind = GRNFClassifier if data.classify else GRNFRegressor
    trees = RandomForestClassifier if data.classify else RandomForestRegressor
    options = {} if data.classify else {"max_features": 1 / 3}
    forest = trees(300, oob_score=True, random_state=0, **options)
    base = kind(scoring="roc_auc") if data.measure == "roc_auc" else kind()
    return {
        name: clone(base).set_params(estimator=forest if estimator is None else estimator)
        for name, estimator in ESTIMATORS.items()
    }


def known_inside(name, model, data, y):
    """What the model knows of itself after fit, the higher the better."""
    if name == "kernels":
        return model.best_score_
    forest = model.estimator_
    if data.measure == "roc_auc":
        return roc_auc_score(y, forest.oob_decision_function_[:, 1])
    if data.classify:
        return forest.oob_score_
    return -float(np.mean((forest.oob_prediction_ - y) ** 2)) / float(np.var(y))  # kernels: of standardised y


def judged(data, train, cuts):
    """Scores and CPU seconds of all estimators on one dataset."""
    y = data.y[train]
    scores, seconds, chosen = (
        {name: [] for name in [*ESTIMATORS, "chosen"]},
        dict.fromkeys(ESTIMATORS, 0.0),
        0,
    )
    for learn, judge in cuts:
        inside, outside = {}, {}
        for name, model in models(data).items():
            start = time.process_time()
            model.fit(data.raw.take(train[learn]), y[learn])
            seconds[name] += time.process_time() - start
            values = predicted(model, data.measure, data.raw.take(train[judge]))
            outside[name] = score(data.measure, y[judge], values)
            scores[name].append(outside[name])
            if name != "boosted":
                inside[name] = known_inside(name, model, data, y[learn])
        best = "forest" if inside["forest"] > inside["kernels"] else "kernels"
        chosen += best == "forest"
        scores["chosen"].append(outside[best])
    return {
        "measure": data.measure,
        "scores": {name: [round(value, 4) for value in values] for name, values in scores.items()},
        "seconds": {name: round(value, 2) for name, value in seconds.items()},
        "forest_chosen": chosen,
    }


def tables(results):
    """Means over the cuts, and what each machine costs beside the kernels."""
    rows = []
    for name, found in results.items():
        means = {machine: float(np.mean(values)) for machine, values in found["scores"].items()}
        digits = 2 if found["measure"] == "rmse" else 1
        costs = [found["seconds"][other] / found["seconds"]["kernels"] for other in ("forest", "boosted")]
        rows.append(
            [
                name + UNITS[found["measure"]],
                *(f"{abs(mean):.{digits}f}" for mean in means.values()),
                f"{found['forest_chosen']} of {CUTS}",
                *(f"{cost:.1f}" for cost in costs),
            ]
        )
    header = ["", *ESTIMATORS, "kernels or forest", "forest chosen", "time: forest", "time: boosted"]
    title = "Scores on a quarter of the training parts; time relative to kernels"
    return [Table(title, header, rows)]


def settings(_study):
    return {"graphs, at most": MOST, "cuts": CUTS, "trees": 300, "seed": 1}


def run(study):
    return judged_inside(study, MOST, CUTS, 1, judged)
