"""Theorem 2: bounds of the risk that a distance is wrong by eps, beside what happens."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.figures import COLORS, new_figure
from experiments.study import Study, Table
from grnf import GRNF
from grnf._utils.random import page_generator
from grnf.datasets import make_sbm
from grnf.metric import DistanceEstimate, required_dimension
from grnf.metric.bounds import failure_probability
from grnf.typing import FloatArray

TITLE = "Theorem 2: risk of an error of 25 %"
ABOUT = (
    "Two SBM graphs, one of each class. X is the squared distance estimated with M features, X' another "
    "such estimate, mu the value with M_* = 1,000,000 features. delta_* bounds P(|X - mu| >= eps) by "
    "Chebyshev with the variance of one term, delta_M bounds P(|X - X'| >= eps), delta_clt is the normal "
    "approximation; all three are the paper's, as are their empirical counterparts (500 estimates, "
    "features picked at random from the M_*). Ours adds the constant of Theorem 2 itself (16 C, C = max E "
    "psi^4), Hoeffding's bound, which needs no moment at all, and the coverage of the 95 % intervals that "
    "come with every single distance."
)

SHARE = 0.25
DELTA = 0.05
LOWEST = 1e-10


def run(study: Study) -> dict[str, Any]:
    """Embed two graphs with M_* features, then estimate from M of them again and again."""
    largest, repetitions = (20_000, 50) if study.quick else (1_000_000, 500)
    powers = range(5, 9) if study.quick else range(5, 17)
    settings = {
        "M_star": largest,
        "repetitions": repetitions,
        "dimensions": [2**power for power in powers],
        "share": SHARE,
        "delta": DELTA,
    }
    what = {"experiment": "theorem2", "seed": study.seed, **settings}
    found = study.cached(what, lambda: _compute(settings, study))
    return {**settings, **found, "needed": _needed(found)}


def _needed(found: dict[str, Any]) -> dict[str, int]:
    """Return the M from which on each bound promises a risk of at most DELTA."""
    eps, variance = found["eps"], found["variance"]
    return {
        "delta_clt": required_dimension(eps, DELTA, bound="clt", variance=variance),
        "delta_star": required_dimension(eps, DELTA, bound="chebyshev", variance=variance),
        "delta_M": required_dimension(eps, DELTA, bound="chebyshev", variance=8 * variance),
        "hoeffding": required_dimension(eps, DELTA, bound="hoeffding"),
        "theorem2": required_dimension(eps, DELTA, bound="chebyshev", variance=16 * found["C"]),
    }


def _compute(settings: dict[str, Any], study: Study) -> dict[str, Any]:
    study.tell(f"embedding two graphs with {settings['M_star']:,} features")
    graphs, _ = make_sbm(2, random_state=study.seed)
    grnf = GRNF(settings["M_star"], center=False, random_state=study.seed)
    psi = np.asarray(grnf.fit_transform(graphs), dtype=np.float64) * np.sqrt(settings["M_star"])
    terms = np.square(psi[0] - psi[1])
    squared, variance = float(terms.mean()), float(terms.var())
    fourth = float(np.mean(psi**4, axis=1).max())
    eps = settings["share"] * squared
    curves: dict[str, list[float]] = {}
    for index, M in enumerate(settings["dimensions"]):
        study.tell(f"M = {M:,}")
        row = _empirical(terms, M, settings["repetitions"], eps, study.seed, index)
        row |= {
            "delta_star": min(1.0, variance / (M * eps**2)),
            "delta_M": min(1.0, 8 * variance / (M * eps**2)),
            "delta_clt": failure_probability(M, eps, bound="clt", variance=variance),
            "theorem2": min(1.0, 16 * fourth / (M * eps**2)),
            "hoeffding": failure_probability(M, eps, bound="hoeffding"),
        }
        for name, value in row.items():
            curves.setdefault(name, []).append(value)
    return {"squared_distance": squared, "variance": variance, "C": fourth, "eps": eps, "curves": curves}


def _empirical(
    terms: FloatArray, M: int, repetitions: int, eps: float, seed: int, block: int
) -> dict[str, float]:
    """Return how often estimates with M features are off, and how often intervals hold the true value."""
    generator = page_generator(seed, block)
    truth = float(terms.mean())
    estimates = np.empty(repetitions)
    held = {"bernstein": 0, "clt": 0}
    length = {"bernstein": 0.0, "clt": 0.0}
    for repetition in range(repetitions):
        picked = terms[generator.integers(len(terms), size=M)]
        error = float(picked.std(ddof=1)) / np.sqrt(M)
        estimate = DistanceEstimate(float(picked.mean()), error, M, largest_term=4.0)
        estimates[repetition] = estimate.squared
        for method in held:
            low, high = estimate.squared_interval(1 - DELTA, method)
            held[method] += low <= truth <= high
            length[method] += (high - low) / repetitions
    pairs = np.abs(np.subtract.outer(estimates, estimates))[np.triu_indices(repetitions, k=1)]
    return {
        "empirical_delta_star": float((np.abs(estimates - truth) >= eps).mean()),
        "empirical_delta_M": float((pairs >= eps).mean()),
        "coverage_bernstein": held["bernstein"] / repetitions,
        "coverage_clt": held["clt"] / repetitions,
        "length_bernstein": length["bernstein"] / truth,
        "length_clt": length["clt"] / truth,
    }


def tables(results: dict[str, Any]) -> list[Table]:
    """Return all curves in numbers."""
    names = {
        "delta_star": "delta_*",
        "empirical_delta_star": "delta_*, empirical",
        "delta_M": "delta_M",
        "empirical_delta_M": "delta_M, empirical",
        "delta_clt": "delta_clt",
        "hoeffding": "Hoeffding",
        "theorem2": "Theorem 2, 16 C",
        "coverage_bernstein": "coverage of Bernstein",
        "coverage_clt": "coverage of CLT",
    }
    header = ["M", *names.values()]
    curves = results["curves"]
    rows = [
        [f"{M:,}", *(f"{curves[name][index]:.3g}" for name in names)]
        for index, M in enumerate(results["dimensions"])
    ]
    about = (
        f"Squared distance {results['squared_distance']:.4f}, eps {results['eps']:.4f}, "
        f"variance of a term {results['variance']:.4f}"
    )
    needed = [[names[name], f"{M:,}"] for name, M in results["needed"].items()]
    return [
        Table(about, header, rows),
        Table("Features from which on the risk is at most 5 %", ["according to", "M"], needed),
    ]


def draw(results: dict[str, Any]) -> Any:
    """Draw the bounds with what happens, and the coverage of the intervals."""
    figure, (left, right) = new_figure(10.5, 4.4, columns=2, width_ratios=[1.7, 1])
    M, curves, needed = results["dimensions"], results["curves"], results["needed"]
    for name, label, colour, style, marker in (
        ("theorem2", f"Theorem 2, 16 C (5 % from M = {needed['theorem2']:.1e})", COLORS[6], "-", None),
        ("hoeffding", f"Hoeffding (5 % from M = {needed['hoeffding']:.1e})", COLORS[2], "--", None),
        ("delta_M", r"$\delta_M$", COLORS[1], "-", "^"),
        ("empirical_delta_M", r"$\hat\delta_M$ (empirical)", COLORS[1], "--", "^"),
        ("delta_star", r"$\delta_*$", COLORS[0], "-", "o"),
        ("empirical_delta_star", r"$\hat\delta_*$ (empirical)", COLORS[0], "--", "o"),
        ("delta_clt", r"$\delta_{clt}$", "black", ":", None),
    ):
        values = np.array(curves[name])
        shown = values >= LOWEST  # an empirical 0 has no place on a logarithmic axis
        axes_style = {"color": colour, "linestyle": style, "marker": marker, "markersize": 5}
        left.plot(np.array(M)[shown], values[shown], label=label, linewidth=1.6, **axes_style)
    left.set_xscale("log", base=2)
    left.set_yscale("log")
    left.set_ylim(1e-6, 1.6)
    left.set(xlabel="number of features M", ylabel=r"risk of an error $\geq\varepsilon$ = 25 %")
    left.legend(fontsize=9, loc="lower left")
    for name, label, colour, marker in (
        ("coverage_bernstein", "empirical Bernstein", COLORS[2], "s"),
        ("coverage_clt", "normal approximation", COLORS[3], "D"),
    ):
        right.plot(M, curves[name], label=label, color=colour, marker=marker, markersize=5)
    right.axhline(1 - results["delta"], color="black", linestyle=":", label="nominal 95 %")
    right.set_xscale("log", base=2)
    right.set(xlabel="number of features M", ylabel="share of intervals that hold $d_P^2$")
    right.set_ylim(min(0.8, min(curves["coverage_clt"]) - 0.02), 1.01)
    right.legend(fontsize=9, loc="lower right")
    return figure
