"""The pictures of `grnf demo`: distances within and between classes, and graphs with their nearest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grnf.cli.figures import COLORS, new_figure, save_png
from grnf.maps.springs import spring_positions

if TYPE_CHECKING:
    from grnf.graphs import Graph

__all__ = ["draw_distances", "draw_neighbours"]

BLUE, ORANGE = COLORS[:2]


def draw_distances(path: Path, sets: dict[str, tuple[Any, Any]]) -> None:
    """Draw histograms of the distances of all pairs, of one class and of two, a panel for each set."""
    from grnf.cli.demo import pair_distances
    from grnf.metric import pairwise_distances

    figure, all_axes = new_figure(9, 3.4, len(sets))
    for axes, (name, (Z, y)) in zip(all_axes, sets.items(), strict=True):
        within, between = pair_distances(pairwise_distances(Z), y)
        bins = np.linspace(0, float(np.quantile(np.concatenate([within, between]), 0.999)), 50)
        for pairs, colour, label in ((within, BLUE, "of one class"), (between, ORANGE, "of two classes")):
            axes.hist(pairs, bins, density=True, alpha=0.45, color=colour, label=f"pairs {label}")
            axes.axvline(pairs.mean(), color=colour, linewidth=1.5)
        axes.set(title=name, xlabel="distance", yticks=[])
        axes.legend(fontsize=8, frameon=False)
    figure.suptitle("Distances of all pairs; lines are means")
    save_png(figure, path)


def draw_neighbours(path: Path, sets: dict[str, tuple[list[Graph], list[dict[str, Any]]]]) -> None:
    """Draw the first graph of each set and its nearest, a row for each set."""
    from matplotlib.collections import LineCollection

    columns = 1 + max(len(near) for _, near in sets.values())
    figure, all_axes = new_figure(2.1 * columns, 2.5 * len(sets), columns, len(sets))
    for axis in all_axes:
        axis.set_axis_off()
    for row, (name, (graphs, near)) in enumerate(sets.items()):
        axes = all_axes[row * columns :]
        titles = [f"{name}, graph 0"]
        titles += [f"{row['distance']:.3f}\n{row['low']:.3f} to {row['high']:.3f}" for row in near]
        for axis, number, title in zip(axes, [0, *(row["graph"] for row in near)], titles, strict=False):
            graph = graphs[number]
            has_places = graph.node_attr is not None and graph.node_attr.shape[1] == 2
            places = np.asarray(
                graph.node_attr if has_places else spring_positions(graph.n_nodes, graph.edges)
            )
            axis.add_collection(LineCollection(list(places[graph.edges]), colors="0.6", linewidths=0.9))
            axis.scatter(*places.T, s=22, color=BLUE if number == 0 else ORANGE, zorder=2)
            axis.set_title(title, fontsize=8)
            axis.set_aspect("equal")
    figure.suptitle("A graph, and the nearest ones with their distances and 95 % intervals", fontsize=10)
    save_png(figure, path)
