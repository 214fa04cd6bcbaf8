"""Everything that reproduces a published or documented result. Run `python -m experiments` for a list.

Each experiment is a module of this package, listed in `PAPER` or `MORE`. It has

- `TITLE`, and `ABOUT`: what is measured, and how;
- `run(study)`, which returns plain JSON, with `study.cached` around what takes long;
- `tables(results)`, a list of `Table`;
- and, if needed, `draw(results)`, a matplotlib figure; `settings(study)`, the sizes of the run, stored with
  the results; and `PLACES`, the marks in the documentation where its tables are written.
"""

PAPER = ("tsne", "theorem2", "synthetic", "table1", "accuracy", "first_place", "ablation", "brec")
"""The experiments of the report, in its order."""

MORE = (
    "first_version",
    "baselines",
    "final_estimators",
    "unlabelled",
    "training_cost",
    "moleculeace",
    "learner",
    "coverage",
    "reweighted",
    "precision",
    "third_order",
    "two_sample",
    "generators",
    "streams",
    "outliers",
    "outlier_molecules",
    "neighbors",
    "edit_distance",
    "million",
    "kills",
    "torch_networks",
)
"""Further experiments that the documentation cites."""

EXPERIMENTS = (*PAPER, *MORE)
