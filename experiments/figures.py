"""Figures of the experiments, in the style of the command line."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grnf._utils.files import atomic_write
from grnf.maps import figures
from grnf.maps.figures import COLORS

__all__ = ["COLORS", "MARKERS", "new_figure", "png_bytes", "save_figure", "scatter_classes"]

SVG = {"svg.hashsalt": "grnf", "svg.fonttype": "none"}
MARKERS = ["o", "^", "s", "D", "v", "P"]


def new_figure(width: float, height: float, columns: int = 1, rows: int = 1, **options: Any) -> Any:
    """Return a figure and its axes, in the style of the command line; several panels have letters."""
    figure, all_axes = figures.new_figure(width, height, columns, rows, **options)
    for axes, letter in zip(all_axes, "abcdefgh", strict=False):
        axes.set_prop_cycle(color=COLORS)
        if 1 < len(all_axes) < 9:
            axes.set_title(letter, loc="left", fontsize=11, fontweight="bold")
    return figure, all_axes


def scatter_classes(axes: Any, points: Any, y: Any, names: Sequence[str]) -> None:
    """Draw a map of graphs, one point each, in the colors and markers of their classes."""
    for label, name in enumerate(names):
        look = {"color": COLORS[label], "marker": MARKERS[label], "alpha": 0.75, "linewidths": 0}
        look["rasterized"] = True  # thousands of points as shapes would be a large file
        axes.scatter(*points[y == label].T, s=18, label=name, **look)


def save_figure(figure: Any, stem: Path) -> None:
    """Write the figure as stem.png and stem.svg; the same results give the same bytes."""
    from matplotlib import rc_context

    for suffix, options in ((".png", {"dpi": 130}), (".svg", {"dpi": 200, "metadata": {"Date": None}})):
        with atomic_write(stem.with_suffix(suffix), "wb") as file, rc_context(SVG):
            figure.savefig(file, format=suffix[1:], **options)


def png_bytes(figure: Any) -> bytes:
    """Return the figure as the bytes of a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    return buffer.getvalue()
