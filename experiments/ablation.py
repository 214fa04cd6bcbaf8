"""What each part of an earlier default contributes: views, orders, number of features, the estimator."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from experiments.figures import COLORS, new_figure
from experiments.first_place import evaluate
from experiments.study import Study, Table
from grnf.datasets import load_folds, load_tu
from grnf.estimators import GRNFClassifier
from grnf.lifts import (
    Degree,
    Lift,
    Pool,
    Propagate,
    RandomWalk,
    Size,
    Standardize,
    Triangles,
    WeisfeilerLehman,
)

TITLE = "Ablation: what each part of an earlier default contributes"
ABOUT = (
    "GRNFClassifier on the ten folds of Table 1: seven views, the default of an earlier version, without "
    "each of them, each alone, order 1 alone, with order 3, with fewer features, and with other estimators. "
    "Same folds and same protocol throughout; differences are paired over folds, with their standard error."
)

SETS = ["ENZYMES", "IMDB-BINARY"]
N_FOLDS = 10
VIEWS: dict[str, list[Lift]] = {
    "plain": [Standardize()],
    "degrees": [Standardize(), Degree(), Size()],
    "counts": [Standardize(), Degree(), Pool("count"), Size()],
    "neighbors": [Standardize(), Degree(), Size(), Propagate(2)],
    "labels": [Standardize(), WeisfeilerLehman(3, 8)],
    "deep labels": [Standardize(), WeisfeilerLehman(4, 16), Size()],
    "walks": [Standardize(), Degree(), Triangles(), RandomWalk(6), Size()],
}
"""The seven views."""

ALL = "the default"
NAMES = {
    "plain": "attributes",
    "degrees": "degrees",
    "counts": "attribute counts",
    "neighbors": "neighbor means",
    "labels": "WL labels, depth 3",
    "deep labels": "WL labels, depth 4",
    "walks": "random walks",
}
OTHERS = {
    ALL: "all seven views",
    "order 1 alone": "order 1 only",
    "orders 1, 2 and 3": "orders 1, 2 and 3",
    "M = 64": "64 features per view",
    "M = 256": "256 features per view",
    "linear estimator": "linear model",
    "network estimator": "neural network",
}
"""What the keys of stored results mean: views, and all other variants."""


def variants() -> dict[str, dict[str, Any]]:
    """Return the settings that differ from the default, by what they are called.

    Examples
    --------
    >>> list(variants())[:3]
    ['the default', 'without plain', 'without degrees']
    """
    views = VIEWS
    changed: dict[str, dict[str, Any]] = {ALL: {}}
    for name in views:
        rest = {other: chain for other, chain in views.items() if other != name}
        changed[f"without {name}"] = {"lifts": rest}
    for name, chain in views.items():
        changed[f"{name} alone"] = {"lifts": {name: chain}}
    changed["order 1 alone"] = {"orders": {1: 1.0}}
    changed["orders 1, 2 and 3"] = {"orders": {1: 0.5, 2: 0.3, 3: 0.2}}
    changed |= {f"M = {count}": {"n_components": count} for count in (64, 256)}
    changed |= {f"{name} estimator": {"estimator": name} for name in ("linear", "network")}
    return changed


def run(study: Study) -> dict[str, Any]:
    """Fit and test every variant on every fold; each fold is cached."""
    sets = SETS[:1] if study.quick else SETS
    changed = dict(list(variants().items())[:3]) if study.quick else variants()
    n_folds = 2 if study.quick else N_FOLDS
    results: dict[str, Any] = {name: {} for name in sets}
    default_model = GRNFClassifier(random_state=study.seed, lifts=VIEWS, n_jobs=-1)
    for name in sets:
        data = load_tu(name, data=study.data)
        folds = load_folds(name, data=study.data)[:n_folds]
        for variant, settings in changed.items():
            if study.quick:
                settings = {"n_components": 32, **settings}
            what = {"experiment": "ablation", "set": name, "seed": study.seed, "settings": repr(settings)}
            model = clone(default_model).set_params(**settings)
            results[name][variant] = [
                study.cached({**what, "fold": number}, partial(evaluate, data, fold, model))
                for number, fold in enumerate(folds)
            ]
            study.tell(f"{name}: {variant}")
    return {"sets": results}


def _differences(entries: dict[str, Any], variant: str) -> tuple[float, float, float]:
    """Return mean accuracy, mean difference from all views, and its standard error, in percent."""
    ours = 100 * np.array([fold["test"] for fold in entries[variant]])
    default_scores = 100 * np.array([fold["test"] for fold in entries[ALL]])
    difference = ours - default_scores
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return float(ours.mean()), float(difference.mean()), float(error)


def label(variant: str) -> str:
    """Return a variant by a name that needs no explanation.

    Examples
    --------
    >>> label("without deep labels"), label("linear estimator")
    ('without WL labels, depth 4', 'linear model')
    """
    if variant in OTHERS:
        return OTHERS[variant]
    view = variant.removeprefix("without ").removesuffix(" alone")
    return f"without {NAMES[view]}" if variant.startswith("without ") else f"{NAMES[view]} only"


def tables(results: dict[str, Any]) -> list[Table]:
    """Return accuracy and difference from all seven views, one row per variant."""
    sets = results["sets"]
    rows = []
    for variant in next(iter(sets.values())):
        row = [label(variant)]
        for entries in sets.values():
            mean, difference, error = _differences(entries, variant)
            row.append(f"{mean:.1f}" if variant == ALL else f"{mean:.1f} ({difference:+.1f} ± {error:.1f})")
        rows.append(row)
    title = "Accuracy in percent; in brackets the difference from all views ± its standard error over folds"
    return [Table(title, ["", *sets], rows)]


def draw(results: dict[str, Any]) -> Any:
    """Draw the difference of each variant from all seven views, in groups, the largest gain on top."""
    sets = results["sets"]
    variants = [variant for variant in next(iter(sets.values())) if variant != ALL]
    groups = {
        "one view left out": [name for name in variants if name.startswith("without ")],
        "a single view": [name for name in variants if name.endswith(" alone") and name not in OTHERS],
        "other settings": [name for name in variants if name in OTHERS],
    }
    groups = {title: names for title, names in groups.items() if names}
    heights = [len(names) for names in groups.values()]
    options = {"sharex": True, "height_ratios": heights}
    figure, all_axes = new_figure(7.5, 2 + 0.27 * sum(heights), 1, len(groups), **options)

    def effect(variant: str) -> float:
        return float(np.mean([_differences(entries, variant)[1] for entries in sets.values()]))

    for axes, (title, names) in zip(all_axes, groups.items(), strict=True):
        ranked = sorted(names, key=effect)
        for number, (name, entries) in enumerate(sets.items()):
            _, differences, errors = zip(*(_differences(entries, each) for each in ranked), strict=True)
            places = np.arange(len(ranked)) + 0.2 * ((len(sets) - 1) / 2 - number)
            style = {"fmt": "os"[number % 2], "markersize": 4, "color": COLORS[number], "label": name}
            axes.errorbar(differences, places, xerr=errors, capsize=2, **style)
        axes.axvline(0, color="0.4", linewidth=1, zorder=0)
        axes.set_yticks(range(len(ranked)), list(map(label, ranked)), fontsize=9)
        axes.set_ylim(-0.6, len(ranked) - 0.4)
        axes.set_title(title)
    all_axes[-1].set_xlabel(
        "difference of accuracy from all seven views, points (± standard error)", fontsize=10
    )
    all_axes[0].legend(frameon=False, loc="lower left", fontsize=9)
    return figure
