"""The default models compared with common methods, on the same folds with the same inner selection."""

import time
import warnings
from functools import cache

import numpy as np

from experiments.baseline_methods import GRID_C, METHODS, NEED_GRAKEL, NEED_SMILES, TREES, score
from experiments.baseline_sets import MOLECULES, TU, UNITS, load_set
from experiments.figures import COLORS, new_figure
from experiments.study import Table

TITLE = "Default models compared with kernels, fingerprints and forests"
ABOUT = (
    "Accuracy, ROC-AUC if a class is rare, root mean squared error for numbers; random folds, and for "
    "molecules a scaffold split. A difference counts beyond 2 standard errors of the paired differences "
    "over folds (of resampled test molecules, on the scaffold split)."
)
PLACES = ("baselines",)

OURS = "GRNF"
RESAMPLED = 1000
WIDEST = 12
"""Points at which the axes of the picture end."""
TIMED = ("WL-OA",)
"""Methods that run right after GRNF on each dataset, so that CPU times can be compared."""
PROTOCOL = {
    "folds": "10; 5 above 4,000 graphs, 3 above 8,000; stratified, shuffled with seed 0",
    "scaffold": "Bemis-Murcko, 80/10/10, frequent scaffolds first; both first parts are learned from",
    "C of the kernels": GRID_C,
    "trees": TREES,
    "counts as different": "2 standard errors of paired differences",
}


def settings(_study):
    return PROTOCOL


def run(study):
    """Scores and seconds of all methods, and the paired differences of GRNF."""
    warnings.filterwarnings("ignore", "The (least populated class|number of unique classes)")
    warnings.filterwarnings("ignore", module="grakel")
    methods = [method for method in METHODS if not study.quick or method not in NEED_GRAKEL]
    results = {}
    for name in ["MUTAG"] if study.quick else [*TU, *MOLECULES]:
        data = load_set(name, study.path(), study.quick)
        for kind in ["random", "scaffold"] if data.smiles else ["random"]:
            found = {}
            for method in methods:
                if data.smiles or method not in NEED_SMILES:
                    try:
                        found[method] = folds_of(data, method, kind, study)
                    except ImportError as error:
                        study.tell(f"{method}: {error}")
            title = f"{name}, scaffolds" if kind == "scaffold" else name
            results[title] = compared(data, kind, found)
    return results


def folds_of(data, method, kind, study):
    """Learn and test on every fold; each is cached, and the method prepared only if one is not."""

    @cache
    def prepared():
        data.batch, data.symbols  # noqa: B018 reading and encoding is nobody's cost
        start = time.process_time()
        return METHODS[method](data), time.process_time() - start

    def one_fold(train, test):
        learn, seconds_before = prepared()
        start = time.process_time()
        values, chosen = learn(train, test)
        record = {
            "score": score(data.measure, data.y[test], values),
            "prepare": seconds_before,
            "seconds": time.process_time() - start,
            "chosen": chosen,
        }
        if kind == "scaffold":
            record["values"] = np.round(np.asarray(values, float), 6).tolist()
        return record

    what = {"experiment": "baselines", "set": data.name, "kind": kind, "method": method, "quick": study.quick}
    found = []
    for number, split in enumerate(data.splits(kind, study.quick)):
        study.tell(f"{data.name}, {kind}: {method}, fold {number + 1}")
        found.append(study.cached({**what, "fold": number}, lambda: one_fold(*split)))
    return found


def compared(data, kind, found):
    """Summarize the folds of all methods on one dataset, and compare GRNF with each."""
    entry = {"measure": data.measure, "methods": {}}
    for method, folds in found.items():
        entry["methods"][method] = {
            "scores": [round(fold["score"], 4) for fold in folds],
            "seconds": round(folds[0]["prepare"] + sum(fold["seconds"] for fold in folds), 2),
            "chosen": [fold["chosen"] for fold in folds] if method == OURS else [],
        }
    if kind == "scaffold":
        values = {method: np.array(folds[0]["values"]) for method, folds in found.items()}
        for method, error in _resampled_errors(data, values).items():
            entry["methods"][method]["error_of_difference"] = error
    _compare(entry)
    return entry


def _resampled_errors(data, values):
    """Standard errors of GRNF minus each method, over resampled test molecules."""
    ((_, test),) = data.splits("scaffold")
    y = data.y[test]
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
    """Scores of all methods; wins, ties, losses and CPU time of GRNF against each."""
    methods = [m for m in METHODS if any(m in entry["methods"] for entry in results.values())]
    marks = {"win": "", "tie": "= ", "loss": "! "}
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
            cells.append(marks.get(found.get("outcome"), "") + shown)
        rows.append([name + UNITS[entry["measure"]], *cells])
    first = Table(
        "Means over folds; = a tie, ! a loss of GRNF beyond 2 standard errors", ["", *methods], rows
    )
    others = [m for m in methods if m != OURS]
    outcomes, costs = [], []
    for method in others:
        found = [entry["methods"][method] for entry in results.values() if method in entry["methods"]]
        both = [e["methods"] for e in results.values() if method in e["methods"] and OURS in e["methods"]]
        outcomes.append(
            "/".join(str(sum(f.get("outcome") == o for f in found)) for o in ("win", "tie", "loss"))
        )
        ratio = [own[OURS]["seconds"] / max(own[method]["seconds"], 1e-9) for own in both]
        costs.append(f"{np.median(ratio):.2f}" if ratio and method in TIMED else "")
    second = Table(
        f"{OURS} against",
        ["", *others],
        [["wins / ties / losses", *outcomes], ["CPU time relative to the baseline, median", *costs]],
    )
    return [first, second]


def draw(results):
    """Draw paired differences with bars of 2 standard errors, one panel for each method."""
    results = {name: entry for name, entry in results.items() if OURS in entry["methods"]}
    others = [m for m in METHODS if m != OURS and any(m in e["methods"] for e in results.values())]
    figure, axes = new_figure(2.1 * len(others) + 1.6, 0.28 * len(results) + 1.6, len(others), sharey=True)
    names = list(results)
    colors = {"win": COLORS[0], "tie": "0.55", "loss": COLORS[1]}
    for axis, rival in zip(axes, others, strict=True):
        axis.axvline(0, color="0.3", linewidth=0.8)
        for place, name in enumerate(names):
            entry = results[name]
            found = entry["methods"].get(rival)
            if found is None:
                continue
            factor = 10 if entry["measure"] == "rmse" else 1
            value, color = factor * found["difference"], colors[found["outcome"]]
            if abs(value) > WIDEST:  # beyond the edge: an arrow
                axis.plot(
                    np.sign(value) * WIDEST, place, ">" if value > 0 else "<", color=color, clip_on=False
                )
                continue
            error = 2 * factor * found["error_of_difference"]
            axis.errorbar(value, place, xerr=error, fmt="o", markersize=4, capsize=2, color=color)
        axis.set_title(rival)
        axis.set_xlim(-WIDEST, WIDEST)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    axes[len(axes) // 2].set_xlabel(
        "GRNF minus the other method, points (RMSE: tenths, sign reversed); bars: 2 standard errors"
    )
    return figure
