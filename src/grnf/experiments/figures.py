"""Figures in one style: readable, safe for the colour-blind, drawn without pyplot."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grnf._utils.files import atomic_write

__all__ = ["COLOURS", "MARKERS", "new_figure", "png_bytes", "save_figure", "scatter_classes", "style_axes"]

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555"]
"""Okabe and Ito's palette, and grey."""

MARKERS = ["o", "^", "s", "D", "v", "P"]


def new_figure(width: float, height: float, columns: int = 1, **options: Any) -> tuple[Any, Any]:
    """Return a figure and its axes in a row (a list even of one)."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("figures need matplotlib: pip install 'grnf[plot]' brings it") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, columns, squeeze=False, **options)[0]
    for each in axes:
        style_axes(each)
    return figure, list(axes)


def style_axes(axes: Any) -> None:
    """Give axes the common look."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=10)
    for label in (axes.xaxis.label, axes.yaxis.label, axes.title):
        label.set_fontsize(11)


def scatter_classes(axes: Any, points: Any, y: Any, names: Sequence[str]) -> None:
    """Draw a map of graphs, one point each, in the colours and marks of their classes."""
    for label, name in enumerate(names):
        look = {"color": COLOURS[label], "marker": MARKERS[label], "alpha": 0.75, "linewidths": 0}
        axes.scatter(*points[y == label].T, s=18, label=name, **look)


def save_figure(figure: Any, stem: Path) -> list[Path]:
    """Write the figure as stem.png and stem.pdf."""
    paths = []
    for suffix, options in ((".png", {"dpi": 130}), (".pdf", {"metadata": {"CreationDate": None}})):
        path = stem.with_suffix(suffix)
        with atomic_write(path, "wb") as file:
            figure.savefig(file, format=suffix[1:], **options)
        paths.append(path)
    return paths


def png_bytes(figure: Any) -> bytes:
    """Return the figure as the bytes of a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    return buffer.getvalue()
