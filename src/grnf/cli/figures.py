"""Figures in one style, drawn without pyplot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grnf._utils.files import atomic_write

__all__ = ["COLORS", "new_figure", "save_png"]

COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555"]
"""The color-blind safe palette of Okabe and Ito, and gray."""


def new_figure(
    width: float, height: float, columns: int = 1, rows: int = 1, **options: Any
) -> tuple[Any, list[Any]]:
    """Return a figure and the list of its axes, row by row; further options are those of `subplots`."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("figures need matplotlib; install it with pip install 'grnf[plot]'") from None
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


def save_png(figure: Any, path: Path, dpi: int = 110) -> None:
    """Write a figure as a PNG file."""
    with atomic_write(path, "wb") as file:
        figure.savefig(file, dpi=dpi, format="png")
