"""Our recipe beside what users have today, on the same folds with the same inner selection.

Accuracy, ROC-AUC where a class is rare, root mean squared error for numbers; random folds, and for molecules
a scaffold split. A difference counts beyond 2 standard errors of the paired differences over folds (of
resampled test molecules, on the scaffold split). Every (set, method, fold) is stored when it is done, and a
run goes on where it was stopped. Run: python experiments/peers.py
"""

import argparse
import json
import os
import time
import warnings
from pathlib import Path

import numpy as np
from common import HERE, fill, save, save_figure
from peer_methods import GRID_C, METHODS, NEED_SMILES, TREES, score
from peer_sets import MOLECULES, TU, load_set

from grnf.experiments.study import Table

OURS = "GRNF"
RESAMPLED = 1000
WIDEST = 12
"""Points at which the axes of the picture end."""
TIMED = ("WL-OA",)
"""Rivals that are run right after ours on each set, so that processor times can be compared."""
SETTINGS = {
    "folds": "10; 5 above 4,000 graphs, 3 above 8,000; stratified, shuffled with seed 0",
    "scaffold": "Bemis-Murcko, 80/10/10, frequent scaffolds first; both first parts are learnt from",
    "C of the kernels": GRID_C,
    "trees": TREES,
    "counts as different": "2 standard errors of paired differences",
}


class Store:
    """Finished folds, one line each."""

    def __init__(self, path, version):
        self.path, self.version, self.found = path, version, {}
        path.parent.mkdir(parents=True, exist_ok=True)
        for line in path.read_text().splitlines() if path.exists() else []:
            record = json.loads(line)
            self.found[tuple(record.pop("key"))] = record

    def key(self, name, kind, method, fold):
        return (name, kind, f"{method} {self.version}".strip() if method == OURS else method, fold)

    def add(self, key, record):
        self.found[key] = record
        with self.path.open("a") as file:
            file.write(json.dumps({"key": key, **record}) + "\n")


def run_method(data, method, kind, store, tiny=False):
    """Prepare a method and learn on every fold that is not in the store."""
    splits = data.splits(kind, tiny)
    keys = [store.key(data.name, kind, method, fold) for fold in range(len(splits))]
    if all(key in store.found for key in keys):
        return
    data.batch, data.symbols  # noqa: B018 reading and encoding is nobody's cost
    start = time.process_time()
    learn = METHODS[method](data)
    prepared = time.process_time() - start
    for key, (train, test) in zip(keys, splits, strict=True):
        if key in store.found:
            continue
        start = time.process_time()
        values, chosen = learn(train, test)
        seconds = time.process_time() - start
        record = {
            "score": score(data.measure, data.y[test], values),
            "prepare": prepared,
            "seconds": seconds,
            "chosen": chosen,
        }
        if kind == "scaffold":
            record["values"] = np.round(np.asarray(values, float), 6).tolist()
        store.add(key, record)
        print(
            f"{data.name} {kind} {method} {key[-1]}: {record['score']:.3f}, {seconds:.1f} s {chosen}",
            flush=True,
        )


def run_set(name, data_folder, methods, store, tiny=False):
    data = load_set(name, data_folder, tiny)
    for kind in ["random", "scaffold"] if data.smiles else ["random"]:
        for method in methods:
            if data.smiles is None and method in NEED_SMILES:
                continue
            try:
                run_method(data, method, kind, store, tiny)
            except ImportError as error:
                print(f"{method}: {error}", flush=True)


def collected(store, data_folder, names, methods, tiny=False):
    """Scores and seconds of all methods, and the paired differences of ours."""
    results = {}
    for name in names:
        kinds = ["random", "scaffold"] if name in MOLECULES else ["random"]
        for kind in kinds:
            count = 1 + max((key[3] for key in store.found if key[:2] == (name, kind)), default=-1)
            entry = {"measure": MOLECULES[name][1] if name in MOLECULES else TU[name], "methods": {}}
            for method in methods:
                folds = [store.found.get(store.key(name, kind, method, fold)) for fold in range(count)]
                if count and all(folds):
                    entry["methods"][method] = {
                        "scores": [round(fold["score"], 4) for fold in folds],
                        "seconds": round(folds[0]["prepare"] + sum(fold["seconds"] for fold in folds), 2),
                        "chosen": [fold["chosen"] for fold in folds] if method == OURS else [],
                    }
            if kind == "scaffold" and OURS in entry["methods"]:
                errors = _resampled_errors(load_set(name, data_folder, tiny), store, methods)
                for method, error in errors.items():
                    entry["methods"][method]["error_of_difference"] = error
            if entry["methods"]:
                results[f"{name}, scaffolds" if kind == "scaffold" else name] = entry
    for entry in results.values():
        _compare(entry)
    return results


def _resampled_errors(data, store, methods):
    """Standard errors of ours minus each method, over resampled test molecules."""
    ((_, test),) = data.splits("scaffold")
    y = data.y[test]
    values = {}
    for method in methods:
        found = store.found.get(store.key(data.name, "scaffold", method, 0))
        if found:
            values[method] = np.array(found["values"])
    random = np.random.default_rng(0)
    rows = [random.integers(len(y), size=len(y)) for _ in range(RESAMPLED)]
    rows = [row for row in rows if not data.classify or len(np.unique(y[row])) > 1]
    scores = {
        m: np.array([score(data.measure, y[row], found[row]) for row in rows]) for m, found in values.items()
    }
    return {m: float(np.std(scores[OURS] - found)) for m, found in scores.items() if m != OURS}


def _compare(entry):
    ours = entry["methods"].get(OURS)
    for method, found in entry["methods"].items():
        if ours is None or method == OURS:
            continue
        difference = np.subtract(ours["scores"], found["scores"])
        error = found.get("error_of_difference", 0.0)
        if len(difference) > 1:
            error = float(np.std(difference, ddof=1) / np.sqrt(len(difference)))
        mean = float(difference.mean())
        outcome = "win" if mean > 2 * error else "loss" if mean < -2 * error else "tie"
        found.update(difference=round(mean, 4), error_of_difference=round(error, 4), outcome=outcome)


def tables(results):
    """Scores of all methods; wins, ties, losses and processor time of ours against each."""
    methods = [m for m in METHODS if any(m in entry["methods"] for entry in results.values())]
    marks = {"win": "", "tie": " =", "loss": " !"}
    rows = []
    for name, entry in results.items():
        cells = []
        for method in methods:
            found = entry["methods"].get(method)
            if found is None:
                cells.append("")
                continue
            mean = np.mean(found["scores"])
            shown = f"{-mean:.2f}" if entry["measure"] == "rmse" else f"{mean:.1f}"
            cells.append(shown + marks.get(found.get("outcome"), ""))
        unit = {"accuracy": "", "roc_auc": " (AUC)", "rmse": " (RMSE)"}[entry["measure"]]
        rows.append([name + unit, *cells])
    first = Table(
        "Means over folds; = a tie, ! a loss of ours beyond 2 standard errors", ["", *methods], rows
    )
    rivals = [m for m in methods if m != OURS]
    outcomes, costs = [], []
    for method in rivals:
        found = [entry["methods"][method] for entry in results.values() if method in entry["methods"]]
        both = [e["methods"] for e in results.values() if method in e["methods"] and OURS in e["methods"]]
        outcomes.append(
            "/".join(str(sum(f.get("outcome") == o for f in found)) for o in ("win", "tie", "loss"))
        )
        ratio = [own[OURS]["seconds"] / max(own[method]["seconds"], 1e-9) for own in both]
        costs.append(f"{np.median(ratio):.2f}" if ratio and method in TIMED else "")
    second = Table(
        f"{OURS} against",
        ["", *rivals],
        [["wins / ties / losses", *outcomes], ["processor time of ours over theirs, median of sets", *costs]],
    )
    return [first, second]


def draw_figure(results, output):
    """Paired differences with bars of 2 standard errors, one panel for each rival."""
    from grnf.experiments.figures import COLOURS, new_figure

    results = {name: entry for name, entry in results.items() if OURS in entry["methods"]}
    rivals = [m for m in METHODS if m != OURS and any(m in e["methods"] for e in results.values())]
    figure, axes = new_figure(2.1 * len(rivals) + 1.6, 0.28 * len(results) + 1.6, len(rivals), sharey=True)
    names = list(results)
    colours = {"win": COLOURS[0], "tie": "0.55", "loss": COLOURS[1]}
    for axis, rival in zip(axes, rivals, strict=True):
        axis.axvline(0, color="0.3", linewidth=0.8)
        for place, name in enumerate(names):
            entry = results[name]
            found = entry["methods"].get(rival)
            if found is None:
                continue
            factor = 10 if entry["measure"] == "rmse" else 1
            value, colour = factor * found["difference"], colours[found["outcome"]]
            if abs(value) > WIDEST:  # beyond the edge: an arrow says so
                axis.plot(
                    np.sign(value) * WIDEST, place, ">" if value > 0 else "<", color=colour, clip_on=False
                )
                continue
            error = 2 * factor * found["error_of_difference"]
            axis.errorbar(value, place, xerr=error, fmt="o", markersize=4, capsize=2, color=colour)
        axis.set_title(rival)
        axis.set_xlim(-WIDEST, WIDEST)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    axes[len(axes) // 2].set_xlabel(
        "ours minus theirs, points (RMSE: tenths, turned round); bars: 2 standard errors"
    )
    save_figure(figure, "peers", output)


def parsed(arguments):
    made = argparse.ArgumentParser(description=__doc__)
    shared = Path(os.environ.get("GRNF_SHARED", HERE.parents[1] / "shared"))
    made.add_argument(
        "--data", type=Path, default=shared / "data", help="folder with tu/ and molecules/molnet/"
    )
    made.add_argument("--output", type=Path, default=HERE, help="results/ and figures/ are written in it")
    made.add_argument("--work", type=Path, help="file of finished folds; default OUTPUT/peers-work.jsonl")
    made.add_argument("--sets", nargs="*", default=[*TU, *MOLECULES])
    made.add_argument("--methods", nargs="*", default=list(METHODS))
    made.add_argument(
        "--version", default="", help="stands beside ours in the file of folds, to tell versions apart"
    )
    made.add_argument("--compute", action="store_true", help="compute only: no tables, no picture")
    made.add_argument(
        "--report", action="store_true", help="compute nothing: tables and picture of what is there"
    )
    made.add_argument("--tiny", action="store_true", help="a run of seconds that shows that it works")
    return made.parse_args(arguments)


def main(arguments=None):
    options = parsed(arguments)
    store = Store(options.work or options.output / "peers-work.jsonl", options.version)
    names = options.sets
    if not options.report:
        warnings.filterwarnings("ignore", "The (least populated class|number of unique classes)")
        warnings.filterwarnings("ignore", module="grakel")
        for name in names:
            run_set(name, options.data, options.methods, store, options.tiny)
    if options.compute:
        return
    results = collected(store, options.data, names, options.methods, options.tiny)
    save("peers", options.output, SETTINGS, results)
    draw_figure(results, options.output)
    for table in tables(results):
        print(table.title, *(" | ".join(row) for row in [table.header, *table.rows]), sep="\n")
    if options.output == HERE and not options.tiny:
        fill("peers", tables(results))


if __name__ == "__main__":
    main()
