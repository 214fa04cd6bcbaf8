"""The paper's experiments, and one of our own. Each is a module here, and one line in `EXPERIMENTS`.

A module has `TITLE` and `ABOUT` (what the paper shows, and what ours adds), `run(study) -> dict` (plain
JSON), `draw(results) -> matplotlib Figure` and `tables(results) -> list of Table`.
"""

from __future__ import annotations

__all__ = ["EXPERIMENTS"]

EXPERIMENTS = {
    "tsne": "grnf.experiments.tsne",
    "theorem2": "grnf.experiments.theorem2",
    "synthetic": "grnf.experiments.synthetic",
    "table1": "grnf.experiments.table1",
    "accuracy": "grnf.experiments.accuracy",
    "first-place": "grnf.experiments.first_place",
    "ablation": "grnf.experiments.ablation",
    "brec": "grnf.experiments.brec",
}
"""Name of the command -> module, in the order of the report."""
