"""Table 1 with the features and the training of the authors' code at the time of the paper (v0.1.0), rebuilt.

Their settings: M = 512; of F_h = 4 or 32 and 32 or 256 hidden neurons the best on the validation part; ReLU,
hidden layer, ReLU, output on the features as they are; Adam with step 0.001 and decay 0.001, batches of 128,
up to 5,000 epochs, 500 of patience on the accuracy; then three runs with fresh features on the test part.

Run: python experiments/first_version.py (hours; finished folds are kept in --cache, and several runs with
different --sets may work beside each other).
"""

import json
import math
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import torch
from common import HERE, fill, parser, save

from grnf.experiments.network import NetworkSettings, train_networks
from grnf.experiments.published import SETS
from grnf.experiments.study import Study, Table, over_folds
from grnf.experiments.vectors import load_benchmark

CONFIGURATIONS = list(product((4, 32), (32, 256)))
"""F_h, and neurons of the hidden layer."""

FOLDS = {"NCI1": 5, "COLLAB": 5}
"""Sets on which a fold takes many minutes: only the first folds of them."""

SETTINGS = {"n_components": 512, "l2": 1e-3, "epochs": 5000, "patience": 500, "runs": 3, "seed": 0}


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


def table(results):
    """Ours beside the rebuilt row, and their difference in standard deviations of the latter."""
    ours, theirs = results["ours"], results["sets"]
    text = [[f"{row[n]['mean']:.1f} ± {row[n]['std']:.1f}" for n in theirs] for row in (ours, theirs)]
    shifts = [(ours[name]["mean"] - entry["mean"]) / entry["std"] for name, entry in theirs.items()]
    rows = [
        ["GRNF, this library", *text[0]],
        ["features, settings and training of v0.1.0, rebuilt", *text[1]],
        ["difference, in standard deviations of the latter", *(f"{shift:+.1f}" for shift in shifts)],
        ["folds", *(str(len(entry["folds"])) for entry in theirs.values())],
    ]
    return Table("Accuracy in percent on the same folds, mean ± standard deviation", ["", *theirs], rows)


def main():
    options = parser(__doc__)
    options.add_argument("--cache", type=Path, default=Path("grnf-first-version"), help="finished folds")
    options.add_argument("--sets", nargs="+", default=SETS, help="only these, into the cache")
    chosen = options.parse_args()
    settings = {**SETTINGS, "n_components": 32, "epochs": 20, "patience": 10} if chosen.tiny else SETTINGS
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # decayed weights of dead neurons would take ten times as long
    study = Study(chosen.cache, data=chosen.data.parent, tell=partial(print, flush=True))
    sets = {}
    for name in ["ENZYMES"] if chosen.tiny else chosen.sets:
        benchmark = load_benchmark(name, study)
        folds = []
        for number in range(2 if chosen.tiny else FOLDS.get(name, len(benchmark.folds))):
            what = {"experiment": "first-version", "set": name, "fold": number, "settings": settings}
            folds.append(study.cached(what, partial(evaluate, benchmark, number, settings)))
            print(name, number, folds[-1], flush=True)
        sets[name] = {**over_folds(folds), "folds": folds}
    if chosen.sets != SETS and not chosen.tiny:
        return
    stored = json.loads((HERE / "results" / "table1.json").read_text())["results"]["sets"]
    ours = {name: over_folds(stored[name]["folds"][: len(entry["folds"])]) for name, entry in sets.items()}
    results = {"sets": sets, "ours": ours, "seconds": study.saved}
    save("first_version", chosen.output, {**settings, "configurations": CONFIGURATIONS}, results)
    if chosen.output == HERE:
        fill("first-version", [table(results)])


if __name__ == "__main__":
    main()
