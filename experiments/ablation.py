"""What each part of the default recipe contributes: views, orders, number of features, the estimator."""

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

TITLE = "Ablation: what each part of the recipe contributes"
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
    "neighbours": [Standardize(), Degree(), Size(), Propagate(2)],
    "colours": [Standardize(), WeisfeilerLehman(3, 8)],
    "deep colours": [Standardize(), WeisfeilerLehman(4, 16), Size()],
    "walks": [Standardize(), Degree(), Triangles(), RandomWalk(6), Size()],
}
"""The seven views."""


def variants() -> dict[str, dict[str, Any]]:
    """Return the settings that differ from the default, by what they are called.

    Examples
    --------
    >>> list(variants())[:3]
    ['the recipe', 'without plain', 'without degrees']
    """
    views = VIEWS
    changed: dict[str, dict[str, Any]] = {"the recipe": {}}
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
    recipe_model = GRNFClassifier(random_state=study.seed, lifts=VIEWS, n_jobs=-1)
    for name in sets:
        data = load_tu(name, data=study.data)
        folds = load_folds(name, data=study.data)[:n_folds]
        for variant, settings in changed.items():
            if study.quick:
                settings = {"n_components": 32, **settings}
            what = {"experiment": "ablation", "set": name, "seed": study.seed, "settings": repr(settings)}
            model = clone(recipe_model).set_params(**settings)
            results[name][variant] = [
                study.cached({**what, "fold": number}, partial(evaluate, data, fold, model))
                for number, fold in enumerate(folds)
            ]
            study.tell(f"{name}: {variant}")
    return {"sets": results}


def _differences(entries: dict[str, Any], variant: str) -> tuple[float, float, float]:
    """Return mean accuracy, mean difference from the recipe, and its standard error, in percent."""
    ours = 100 * np.array([fold["test"] for fold in entries[variant]])
    recipe_ = 100 * np.array([fold["test"] for fold in entries["the recipe"]])
    difference = ours - recipe_
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return float(ours.mean()), float(difference.mean()), float(error)


def tables(results: dict[str, Any]) -> list[Table]:
    """Return accuracy and difference from the recipe, one row per variant."""
    sets = results["sets"]
    rows = []
    for variant in next(iter(sets.values())):
        row = [variant]
        for entries in sets.values():
            mean, difference, error = _differences(entries, variant)
            row.append(
                f"{mean:.1f}" if variant == "the recipe" else f"{mean:.1f} ({difference:+.1f} ± {error:.1f})"
            )
        rows.append(row)
    title = "Accuracy in percent; in brackets the difference from the recipe ± its standard error over folds"
    return [Table(title, ["", *sets], rows)]


def draw(results: dict[str, Any]) -> Any:
    """Draw the difference of each variant from the recipe."""
    sets = results["sets"]
    names = [variant for variant in next(iter(sets.values())) if variant != "the recipe"]
    figure, (axes,) = new_figure(7.5, 1.2 + 0.3 * len(names))
    for number, (name, entries) in enumerate(sets.items()):
        values = [_differences(entries, variant) for variant in names]
        places = np.arange(len(names)) + 0.2 * (number - (len(sets) - 1) / 2)
        _, differences, errors = zip(*values, strict=True)
        style = {"fmt": "o", "markersize": 4, "color": COLORS[number], "label": name}
        axes.errorbar(differences, places, xerr=errors, **style)
    axes.axvline(0, color="0.6", linewidth=1, zorder=0)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("accuracy minus that of the recipe, %")
    axes.legend(frameon=False)
    return figure
