"""Table 1 with the features and the training of the authors' code at the time of the paper, rebuilt."""

import json
import math
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from experiments.network import NetworkSettings, train_networks
from experiments.published import SETS
from experiments.sets import load_benchmark
from experiments.study import Table, over_folds

TITLE = "Table 1 with the authors' code v0.1.0, rebuilt"
ABOUT = (
    "Settings of the authors: M = 512; of F_h = 4 or 32 and 32 or 256 hidden neurons the best on the "
    "validation part; ReLU, hidden layer, ReLU, output on the raw features; Adam with step 0.001 and decay "
    "0.001, batches of 128, up to 5,000 epochs, 500 of patience on the accuracy; then three runs with "
    "fresh features on the test part. Takes hours."
)
PLACES = ("first-version",)

CONFIGURATIONS = list(product((4, 32), (32, 256)))
"""F_h, and neurons of the hidden layer."""

TABLE1 = Path(__file__).parent / "results" / "table1.json"
"""The stored results of Table 1, which these are compared with."""

FOLDS = {"NCI1": 5, "COLLAB": 5}
"""Sets on which a fold takes many minutes: only the first folds of them."""

TRAINING = {"n_components": 512, "l2": 1e-3, "epochs": 5000, "patience": 500, "runs": 3, "seed": 0}


def train(Z, y, fold, hidden, seed, settings):
    """Train one network on each of the sets of vectors, side by side, as the authors' code does."""
    steps = math.ceil(len(fold.train) / NetworkSettings.batch_size)
    network = NetworkSettings(
        hidden=hidden,
        max_steps=settings["epochs"] * steps,
        patience=settings["patience"] * steps,
        standardize=False,
        last_of_equals=True,
    )
    return train_networks(np.maximum(Z, 0), y, fold, [settings["l2"]] * len(Z), network, seed)


def evaluate(benchmark, number, settings):
    """Choose a configuration on the validation part of a fold, and test three runs of it."""
    fold, y, seed = benchmark.folds[number], benchmark.y, settings["seed"]
    features = partial(benchmark.first_version, settings["n_components"])
    tried = np.concatenate([features([seed], hidden_channels) for hidden_channels in (4, 32)])
    scores = {}
    for neurons in (32, 256):
        networks = train(tried, y, fold, neurons, seed, settings)
        scores |= {
            (wide, neurons): network.validation for wide, network in zip((4, 32), networks, strict=True)
        }
    chosen = max(CONFIGURATIONS, key=lambda entry: (scores[entry], CONFIGURATIONS.index(entry)))
    Z = features([seed + 1 + run for run in range(settings["runs"])], chosen[0])
    runs = train(Z, y, fold, chosen[1], seed + 1, settings)
    return {
        "hidden_channels": chosen[0],
        "neurons": chosen[1],
        "validation": [scores[entry] for entry in CONFIGURATIONS],
        "test": float(np.mean([run.test for run in runs])),
        "runs": [run.test for run in runs],
        "epochs": [run.epoch for run in runs],
    }


def tables(results):
    """GRNF next to the rebuilt row, and their difference in standard deviations of the latter."""
    ours, theirs = results["ours"], results["sets"]
    text = [[f"{row[n]['mean']:.1f} ± {row[n]['std']:.1f}" for n in theirs] for row in (ours, theirs)]
    shifts = [(ours[name]["mean"] - entry["mean"]) / entry["std"] for name, entry in theirs.items()]
    rows = [
        ["GRNF, this library", *text[0]],
        ["features, settings and training of v0.1.0, rebuilt", *text[1]],
        ["difference, in standard deviations of the latter", *(f"{shift:+.1f}" for shift in shifts)],
        ["folds", *(str(len(entry["folds"])) for entry in theirs.values())],
    ]
    title = "Accuracy in percent on the same folds, mean ± standard deviation"
    return [Table(title, ["", *theirs], rows)]


def settings(study):
    small = {"n_components": 32, "epochs": 20, "patience": 10} if study.quick else {}
    return {**TRAINING, **small, "configurations": CONFIGURATIONS}


def run(study):
    import torch

    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # decayed weights of dead neurons would take ten times as long
    try:
        return compared(study, settings(study))
    finally:
        torch.set_flush_denormal(False)


def compared(study, sizes):
    """Accuracy of the rebuilt code on each dataset, and of the stored Table 1 on the same folds."""
    sets = {}
    for name in ["ENZYMES"] if study.quick else SETS:
        benchmark = load_benchmark(name, study)
        folds = []
        for number in range(2 if study.quick else FOLDS.get(name, len(benchmark.folds))):
            study.tell(f"{name}: fold {number + 1}")
            what = {"experiment": "first_version", "set": name, "fold": number, "settings": sizes}
            folds.append(study.cached(what, partial(evaluate, benchmark, number, sizes)))
        sets[name] = {**over_folds(folds), "folds": folds}
    stored = json.loads(TABLE1.read_text())["results"]["sets"]
    ours = {name: over_folds(stored[name]["folds"][: len(entry["folds"])]) for name, entry in sets.items()}
    return {"sets": sets, "ours": ours}
