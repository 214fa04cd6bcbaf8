"""Theorem 2: bounds of the probability that a distance is wrong by eps, and measured errors."""

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

TITLE = "Theorem 2: probability of an error of 25 %"
ABOUT = (
    "Two SBM graphs, one of each class. X is the squared distance estimated with M features, X' another "
    "such estimate, mu the value with M_* = 1,000,000 features. delta_* bounds P(|X - mu| >= eps) by "
    "Chebyshev with the variance of one term, delta_M bounds P(|X - X'| >= eps), delta_clt is the normal "
    "approximation; all three are the paper's, as are their empirical counterparts (500 estimates, "
    "features picked at random from the M_*). Added are the constant of Theorem 2 itself (16 C, C = max E "
    "psi^4), Hoeffding's bound, which needs no moment, and coverage and length of the 95 % intervals that "
    "come with every distance."
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
    held = dict.fromkeys(("bernstein", "betting", "clt"), 0)
    length = dict.fromkeys(held, 0.0)
    for repetition in range(repetitions):
        picked = terms[generator.integers(len(terms), size=M)]
        error = float(picked.std(ddof=1)) / np.sqrt(M)
        estimate = DistanceEstimate(float(picked.mean()), error, M, 4.0, terms=picked)
        estimates[repetition] = estimate.squared
        for method in held:
            low, high = estimate.squared_interval(1 - DELTA, method)
            held[method] += low <= truth <= high
            length[method] += (high - low) / repetitions
    pairs = np.abs(np.subtract.outer(estimates, estimates))[np.triu_indices(repetitions, k=1)]
    return {
        "empirical_delta_star": float((np.abs(estimates - truth) >= eps).mean()),
        "empirical_delta_M": float((pairs >= eps).mean()),
        **{f"coverage_{method}": count / repetitions for method, count in held.items()},
        **{f"length_{method}": mean / truth for method, mean in length.items()},
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
        "coverage_betting": "coverage of betting",
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
    """Draw bounds and measured errors, and coverage and length of the intervals."""
    figure, (risk, coverage, length) = new_figure(13, 4.6, columns=3, width_ratios=[1.6, 1, 1])
    M, curves = np.array(results["dimensions"]), results["curves"]
    wide = np.logspace(1.5, 11.5, 200)
    eps, variance = results["eps"], results["variance"]
    chebyshev = {
        "Theorem 2, constant 16 C": (16 * results["C"], COLORS[6]),
        r"Chebyshev, two estimates ($\delta_M$)": (8 * variance, COLORS[1]),
        r"Chebyshev, one estimate ($\delta_*$)": (variance, COLORS[0]),
    }
    for label, (constant, color) in chebyshev.items():
        risk.plot(wide, np.minimum(1, constant / (wide * eps**2)), color=color, label=label)
    hoeffding = [failure_probability(int(m), eps, bound="hoeffding") for m in wide]
    risk.plot(wide, hoeffding, color=COLORS[2], label="Hoeffding")
    normal = [failure_probability(int(m), eps, bound="clt", variance=variance) for m in wide]
    risk.plot(wide, normal, color="black", linestyle=":", label=r"normal approximation ($\delta_{clt}$)")
    for name, label, color, marker in (
        ("empirical_delta_M", "measured, two estimates", COLORS[1], "^"),
        ("empirical_delta_star", "measured, one estimate", COLORS[0], "o"),
    ):
        shown = np.array(curves[name]) > 0  # 0 has no place on a logarithmic axis
        risk.plot(
            M[shown], np.array(curves[name])[shown], ls="", marker=marker, ms=5, color=color, label=label
        )
    risk.axhline(results["delta"], color="0.5", linewidth=1, linestyle="--")
    risk.text(4e11, 1.12 * results["delta"], f"{100 * results['delta']:.0f} %", ha="right", color="0.35")
    risk.set(xscale="log", yscale="log", ylim=(1e-3, 1.5), xlim=(20, 5e11))
    risk.set(ylabel=f"probability of an error of {100 * results['share']:.0f} % or more")
    risk.legend(fontsize=8.5, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False)
    for name, label, color, marker in (
        ("bernstein", "empirical Bernstein", COLORS[2], "s"),
        ("betting", "betting (the default)", COLORS[4], "o"),
        ("clt", "normal approximation", COLORS[3], "D"),
    ):
        look = {"color": color, "marker": marker, "markersize": 5, "label": label}
        held = np.array(curves[f"coverage_{name}"])
        error = np.sqrt(held * (1 - held) / results["repetitions"])
        coverage.errorbar(M, 100 * held, yerr=100 * error, capsize=2, **look)
        length.plot(M, curves[f"length_{name}"], **look)
    coverage.axhline(100 * (1 - results["delta"]), color="black", linestyle=":", label="nominal")
    coverage.set(xscale="log", ylabel="intervals that contain $d_P^2$, %", ylim=(70, 102))
    length.set(xscale="log", yscale="log", ylabel="mean length of an interval / $d_P^2$")
    labels = coverage.get_legend_handles_labels()
    coverage.legend(
        *labels, fontsize=8.5, loc="upper left", bbox_to_anchor=(0, -0.16), ncols=2, frameon=False
    )
    for axes in (risk, coverage, length):
        axes.set_xlabel("number of features M")
    return figure
