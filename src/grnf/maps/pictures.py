"""Figures of where two graphs differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grnf._utils.files import atomic_write
from grnf.maps.springs import spring_positions

if TYPE_CHECKING:
    from grnf.estimators.difference import Difference
    from grnf.io import RawGraph

__all__ = ["draw_difference"]

COLORS = "RdBu_r"
"""Red adds to the distance, blue takes from it."""


def draw_difference(path: Path, graphs: list[RawGraph], found: Difference, names: list[str]) -> None:
    """Draw both graphs side by side, nodes and edges colored by what they add to d_P^2."""
    try:
        from matplotlib.collections import LineCollection
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install 'grnf[plot]'") from None
    largest = max((float(np.abs(v).max(initial=0)) for v in (*found.nodes, *found.edges)), default=0.0) or 1.0
    figure = Figure(figsize=(10, 5.2), layout="constrained")
    axes = figure.subplots(1, 2)
    shown: Any = None
    for side, (axis, graph) in enumerate(zip(axes, graphs, strict=True)):
        places = spring_positions(graph.n_nodes, graph.edges)
        lines = LineCollection(
            [places[list(edge)] for edge in np.asarray(graph.edges).reshape(-1, 2).tolist()],
            array=found.edges[side],
            cmap=COLORS,
            clim=(-largest, largest),
            linewidths=4,
            zorder=1,
        )
        lines.set_path_effects(_outline(5.5))
        axis.add_collection(lines)
        style = {"vmin": -largest, "vmax": largest, "edgecolors": "0.3", "zorder": 2}
        size = float(np.clip(6000 / max(graph.n_nodes, 1), 30, 260))
        shown = axis.scatter(*places.T, c=found.nodes[side], cmap=COLORS, s=size, **style)
        if graph.n_nodes <= 60:
            for node, place in enumerate(places):
                text = axis.annotate(str(node), place, ha="center", va="center", fontsize=7, zorder=3)
                text.set_path_effects(_outline(1.5, "white"))
        axis.set_title(names[side])
        axis.set_aspect("equal")
        axis.margins(0.12)
        axis.set_axis_off()
    low, high = found.distance.interval(method=None if found.distance.largest_term < np.inf else "clt")
    figure.suptitle(f"d_P = {found.distance.value:.3g} (95 % interval {low:.3g} to {high:.3g})")
    figure.colorbar(shown, ax=axes, shrink=0.8, label="what it adds to the squared distance")
    with atomic_write(path, "wb") as file:
        figure.savefig(file, format=path.suffix.lower().removeprefix("."), dpi=150)


def _outline(width: float, color: str = "0.3") -> list[Any]:
    from matplotlib.patheffects import Normal, Stroke

    return [Stroke(linewidth=width, foreground=color), Normal()]
