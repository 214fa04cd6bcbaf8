"""Figures in one style, drawn without pyplot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grnf._utils.files import atomic_write

if TYPE_CHECKING:
    from grnf.estimators.validation import Target

COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555"]
"""The color-blind safe palette of Okabe and Ito, and gray."""

MOST_CLASSES_DRAWN, MOST_CLASSES_COUNTED = 60, 12
"""Classes up to which a confusion matrix is drawn, and has numbers in its cells."""


def new_figure(
    width: float, height: float, columns: int = 1, rows: int = 1, **options: Any
) -> tuple[Any, list[Any]]:
    """Return a figure and the list of its axes, row by row. Further options are those of `subplots`."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("figures need matplotlib. Install it with pip install 'grnf[plot]'") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    all_axes = figure.subplots(rows, columns, squeeze=False, **options).ravel().tolist()
    for axes in all_axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(True, color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.tick_params(labelsize=10)
        for label in (axes.xaxis.label, axes.yaxis.label, axes.title):
            label.set_fontsize(11)
    return figure, all_axes


def draw_predictions(folder: Path, suffix: str, target: Target, predictions: Any, title: str) -> str | None:
    """Draw a confusion matrix, or predicted against true numbers. Return the name of the file.

    No figure is drawn, and None returned, for very many classes.
    """
    if target.classes and len(target.labels) > MOST_CLASSES_DRAWN:
        return None
    draw = _confusion if target.classes else _scatter
    figure = draw(target, predictions, title)
    name = f"{'confusion' if target.classes else 'predictions'}{suffix}.png"
    with atomic_write(folder / name, "wb") as file:
        figure.savefig(file, dpi=120, format="png")
    return name


def _confusion(target: Target, predictions: Any, title: str) -> Any:
    from sklearn.metrics import confusion_matrix

    counts = confusion_matrix(target.y, predictions, labels=target.labels)
    shares = counts / counts.sum(axis=1, keepdims=True)
    size = max(4.5, 1.6 + 0.55 * len(counts))
    figure, (axes,) = new_figure(size + 0.8, size)
    axes.grid(False)
    axes.spines[["top", "right"]].set_visible(True)
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    names = [str(name) for name in target.labels.tolist()]
    axes.set_xticks(range(len(names)), names, rotation=45 if max(map(len, names)) > 4 else 0)
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="predicted class", ylabel="true class", title=title)
    if len(counts) <= MOST_CLASSES_COUNTED:
        for (row, column), count in np.ndenumerate(counts):
            share = shares[row, column]
            axes.text(
                column, row, f"{count}\n{100 * share:.0f} %", ha="center", va="center", fontsize=9,
                color="white" if share > 0.55 else "black",
            )  # fmt: skip
    figure.colorbar(image, ax=axes, label="share of the true class", shrink=0.8)
    return figure


def _scatter(target: Target, predictions: Any, title: str) -> Any:
    figure, (axes,) = new_figure(5.8, 5)
    both = np.concatenate([target.y, predictions])
    low, high = both.min(), both.max()
    axes.plot([low, high], [low, high], color="0.6", linewidth=1, zorder=1)
    axes.scatter(target.y, predictions, s=14, c=COLORS[0], alpha=0.6, linewidths=0, zorder=2)
    axes.set(xlabel="true", ylabel="predicted, by cross-validation", title=title)
    return figure
