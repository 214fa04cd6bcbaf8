"""Published numbers, for comparison."""

from __future__ import annotations

from typing import Any

__all__ = ["COMPETITORS", "PAPER_ROW", "SETS", "best_of", "deviation_of"]

SETS = ["NCI1", "PROTEINS", "ENZYMES", "IMDB-BINARY", "IMDB-MULTI", "COLLAB"]

# Errica, Podda, Bacciu, Micheli: A fair comparison of graph neural networks for graph classification,
# ICLR 2020 (arXiv 1912.09893), Tables 3 and 4 (social sets without node attributes): accuracy in percent,
# mean and standard deviation over ten folds. None: out of resources.
COMPETITORS: dict[str, list[tuple[float, float] | None]] = {
    "Baseline": [(69.8, 2.2), (75.8, 3.7), (65.2, 6.4), (50.7, 2.4), (36.1, 3.0), (55.0, 1.9)],
    "DGCNN": [(76.4, 1.7), (72.9, 3.5), (38.9, 5.7), (53.3, 5.0), (38.6, 2.2), (57.4, 1.9)],
    "DiffPool": [(76.9, 1.9), (73.7, 3.5), (59.5, 5.6), (68.3, 6.1), (45.1, 3.2), (67.7, 1.9)],
    "ECC": [(76.2, 1.4), (72.3, 3.4), (29.5, 8.2), (67.8, 4.8), (44.8, 3.1), None],
    "GIN": [(80.0, 1.4), (73.3, 4.0), (59.6, 4.5), (66.8, 3.9), (42.2, 4.6), (75.9, 1.9)],
    "GraphSAGE": [(76.0, 1.8), (73.0, 4.5), (58.2, 6.0), (69.9, 4.6), (47.2, 3.6), (71.6, 1.5)],
}

# The row "GRNF" of Table 1 of Zambon, Alippi, Livi (ICML 2020), in the same order.
PAPER_ROW = [(66.7, 2.4), (75.1, 2.6), (45.9, 6.6), (69.7, 3.8), (44.4, 3.9), (73.2, 2.5)]


def best_of(name: str) -> dict[str, Any]:
    """Return the best competitor on a set.

    Examples
    --------
    >>> best_of("NCI1")
    {'method': 'GIN', 'mean': 80.0}
    """
    column = SETS.index(name)
    mean, method = max((entry[0], method) for method, row in COMPETITORS.items() if (entry := row[column]))
    return {"method": method, "mean": mean}


def deviation_of(method: str, name: str) -> float:
    """Return the published standard deviation over folds."""
    entry = COMPETITORS[method][SETS.index(name)]
    return float("nan") if entry is None else entry[1]
