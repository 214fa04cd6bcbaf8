"""Maps of the sets of the experiments: pages to look at beside the report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from grnf import GRNF
from grnf.datasets import load_tu, make_delaunay, make_sbm
from grnf.experiments.published import SETS
from grnf.experiments.study import Study
from grnf.experiments.synthetic_sets import CLASSES, ORDERS_TO_3
from grnf.maps import map_graphs

__all__ = ["FOLDER", "write_maps"]

FOLDER = "maps"
QUICK = 40
"""Graphs of each set in a quick run."""


def write_maps(study: Study) -> dict[str, str]:
    """Write a map of each set; return their names, and where they are beside the report.

    Maps that an earlier run with the same settings has left stay as they are.
    """
    found = {}
    (study.output / FOLDER).mkdir(parents=True, exist_ok=True)
    for name, graphs_of, settings in _sets(study):
        what = f"{name}-{study.seed}{'-quick' if study.quick else ''}"
        found[name] = f"{FOLDER}/{what}.html"
        path = study.output / found[name]
        if path.is_file() and not study.fresh:
            continue
        study.tell(f"{name}: a map")
        graphs, y = graphs_of()
        orders = settings.pop("orders", None)
        grnf = (
            GRNF(random_state=study.seed) if orders is None else GRNF(orders=orders, random_state=study.seed)
        )
        map_graphs(graphs, y, transformer=grnf, title=name, random_state=study.seed, **settings).write(path)
    return found


def _sets(study: Study) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield names, functions that give graphs and classes, and settings."""
    count = QUICK if study.quick else 600
    for name, make, more in (("SBM", make_sbm, {"orders": ORDERS_TO_3}), ("Delaunay", make_delaunay, {})):

        def drawn(name: str = name, make: Any = make) -> tuple[Any, Any]:
            graphs, y = make(count, random_state=study.seed)
            return graphs, [CLASSES[name][label] for label in y.tolist()]

        yield name, drawn, {**more, **({"places": "x"} if name == "Delaunay" else {})}
    for name in ["ENZYMES", "IMDB-BINARY"] if study.quick else SETS:

        def read(name: str = name) -> tuple[Any, Any]:
            dataset = load_tu(name, data=study.data)
            some = slice(QUICK if study.quick else None)
            return list(dataset.graphs)[some], dataset.y[some]

        yield name, read, {}
