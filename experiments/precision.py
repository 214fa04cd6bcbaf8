"""Error of squared distances against time: i.i.d. features, heads, marginal, quasi-Monte Carlo."""

import time

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.figures import COLORS, new_figure
from experiments.sets import load_graphs
from experiments.study import Table
from grnf.engine import Schedule
from grnf.features import Embedder, FeatureMap, HiddenSums
from grnf.law import ParameterLaw
from grnf.metric import marginal_distance, pairwise_distances
from grnf.metric.exact import ExactMetric
from grnf.metric.quasi import quasi_distances

TITLE = "Precision of squared distances against time"
ABOUT = (
    "Each method estimates all distances among some graphs, from a new draw to the matrix, over several "
    "seeds. The true distances come from a long run with a seed of its own."
)
PLACES = ("precision",)

ORDERS = {1: 2 / 3, 2: 1 / 3}

GOAL = 0.01
"""The relative error to which times are compared."""


def features(batch, hidden, heads, seed):
    law = ParameterLaw(ORDERS)
    return Embedder(FeatureMap(law, law, hidden * heads, seed, heads=heads, center=False))(batch)


def vector_method(heads):
    return lambda batch, hidden, seed: pairwise_distances(features(batch, hidden, heads, seed)) ** 2


def marginal(batch, hidden, seed):
    law = ParameterLaw(ORDERS)
    feature_map = Embedder(FeatureMap(law, law, hidden, seed))
    return marginal_distance(HiddenSums.joined(list(feature_map.hidden_sums(batch)))) ** 2


def quasi(batch, hidden, seed):
    return quasi_distances(ExactMetric(ParameterLaw(ORDERS)), batch, n_hidden=hidden, seed=seed).values


METHODS = {
    "i.i.d.": vector_method(1),
    "4 heads": vector_method(4),
    "16 heads": vector_method(16),
    "64 heads": vector_method(64),
    "marginal": marginal,
    "quasi-Monte Carlo": quasi,
}


def measure(batch, truth, sizes, repeats):
    """Relative error and seconds of each method and number of hidden draws."""
    # graphs that are isomorphic, or as good as, have no relative error to speak of
    above = np.nonzero(np.triu(truth > 1e-6 * truth.max(), 1))
    rows = []
    for hidden in sizes:
        errors, seconds = {name: [] for name in METHODS}, {name: [] for name in METHODS}
        for seed in range(1, repeats + 1):
            for name, method in METHODS.items():  # in turn, so that a slow moment hits all alike
                start = time.process_time()
                found = method(batch, hidden, seed)
                seconds[name].append(time.process_time() - start)
                errors[name].append(np.mean((found[above] / truth[above] - 1) ** 2))
        for name in METHODS:
            rows.append(
                {
                    "method": name,
                    "hidden": hidden,
                    "relative_error": float(np.sqrt(np.mean(errors[name]))),
                    "seconds": float(np.median(seconds[name])),
                }
            )
    return rows


def tables(results):
    """Error and time with the most hidden samples, errors at equal time, and times to equal errors."""
    rows, equal, times = [], [], []
    for name, found in results.items():
        most = {row["method"]: row for row in found if row["hidden"] == found[-1]["hidden"]}
        cells = [
            f"{100 * row['relative_error']:.2g}, {1000 * row['seconds']:.0f} ms" for row in most.values()
        ]
        rows.append([name, *cells])
        times.append([name, *(f"{1000 * seconds_to(found, method):.0f} ms" for method in METHODS)])
        last = most[list(METHODS)[-1]]["seconds"]
        # the error of a mean of independent terms shrinks like the root of the time
        equal.append(
            [name]
            + [
                f"{100 * row['relative_error'] * min(1, row['seconds'] / last) ** 0.5:.2g}"
                for row in most.values()
            ]
        )
    return [
        Table("error in %, CPU time", ["", *METHODS], rows),
        Table("error in %, scaled to the CPU time of quasi-Monte Carlo", ["", *METHODS], equal),
        Table(f"CPU time to an error of {100 * GOAL:g} %", ["", *METHODS], times),
    ]


def seconds_to(found, method):
    """CPU seconds that a method needs for an error of GOAL, on the line through its two largest sizes."""
    own = [row for row in found if row["method"] == method]
    small, large = own[-2:] if len(own) > 1 else (own[0], own[0])  # a quick run has one size
    if (
        large["relative_error"] > GOAL or small is large
    ):  # a mean of independent terms; quasi-Monte Carlo is at least as fast
        return large["seconds"] * (large["relative_error"] / GOAL) ** 2
    (e1, t1), (e2, t2) = (np.log([row["relative_error"], row["seconds"]]) for row in (small, large))
    return float(np.exp(t2 + (np.log(GOAL) - e2) * (t1 - t2) / (e1 - e2)))


def draw(results):
    """Draw error against time, one panel for each dataset."""
    figure, all_axes = new_figure(4.6 * len(results), 4.2, len(results), sharey=True)
    for axes, (name, rows) in zip(all_axes, results.items(), strict=True):
        for index, method in enumerate(METHODS):
            own = [row for row in rows if row["method"] == method]
            axes.loglog(
                [row["seconds"] for row in own],
                [100 * row["relative_error"] for row in own],
                "o-",
                color=COLORS[index],
                linewidth=1.8,
                markersize=4,
                label=method,
            )
        axes.set(title=name, xlabel="CPU seconds, from the draw to all distances")
    all_axes[0].set_ylabel("relative error of squared distances (%)")
    labels = all_axes[0].get_legend_handles_labels()
    figure.legend(*labels, ncols=4, loc="outside lower center", frameon=False)
    return figure


def settings(study):
    quick = study.quick
    return {
        "orders": {str(k): p for k, p in ORDERS.items()},
        "sets": ["SBM"] if quick else ["SBM", "Delaunay", "MUTAG"],
        "n_graphs": 6 if quick else 40,
        "hidden": [32] if quick else [64, 256, 1024],
        "repeats": 2 if quick else 12,
        "hidden draws of the truth (marginal, seed 0)": 64 if quick else 2**17,
        "seconds": "CPU time of one thread, median over seeds",
        "error": "root mean square of (estimate / truth - 1) over pairs and seeds",
    }


def run(study):
    sizes = settings(study)

    def compute(name):
        batch, _ = load_graphs(name, study, sizes["n_graphs"])
        batch = batch.take(np.linspace(0, len(batch) - 1, sizes["n_graphs"]).astype(int))
        truth = long_run(batch, sizes["hidden draws of the truth (marginal, seed 0)"])
        measure(batch, truth, sizes["hidden"][:1], 1)  # compiles
        with threadpool_limits(1):  # BLAS threads that wait would be counted
            return measure(batch, truth, sizes["hidden"], sizes["repeats"])

    results = {}
    for name in sizes["sets"]:
        study.tell(name)
        results[name] = study.cached({"experiment": "precision", "set": name, **sizes}, lambda: compute(name))
    return results


def long_run(batch, hidden):
    """The truth, by stretches of hidden draws."""
    law = ParameterLaw(ORDERS)
    total = np.zeros((len(batch), len(batch)))
    for U in Embedder(FeatureMap(law, law, hidden, 0, dtype=np.float64), Schedule(10**8)).hidden_sums(batch):
        total += U.n_features / hidden * marginal_distance(U) ** 2
    return total
