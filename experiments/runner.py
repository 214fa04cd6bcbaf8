"""Run experiments: results as JSON, figures as PNG and SVG, the paper's as one HTML report."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import platform
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments import PAPER
from experiments.figures import png_bytes, save_figure
from experiments.published import SETS
from experiments.report import Section, page
from experiments.sets import CLASSES, ORDERS_TO_3
from experiments.study import Study, made_with, markdown
from grnf import GRNF, __version__
from grnf._utils.files import atomic_write
from grnf._utils.running import no_progress

HERE = Path(__file__).parent
RESULTS = HERE / "results"
DOCS = HERE.parent / "docs"
MAP_SIZE, QUICK_MAP_SIZE = 600, 40
"""Synthetic graphs in a map; and graphs of each dataset in a quick run."""


def module_of(name: str) -> Any:
    """Return the module of an experiment."""
    return importlib.import_module(f"experiments.{name}")


def reproduce(name: str, study: Study) -> dict[str, Any]:
    """Run one experiment; write NAME.json and its figure to the output folder; return the JSON.

    Parts that an earlier run with the same settings computed come from the cache.
    """
    module = module_of(name)
    study.output.mkdir(parents=True, exist_ok=True)
    start, saved = time.perf_counter(), study.saved
    with no_progress():
        results = module.run(study)
    sizes = module.settings(study) if hasattr(module, "settings") else {}
    outcome = {
        "experiment": name,
        "title": module.TITLE,
        "made_with": made_with(),
        "settings": {"seed": study.seed, "quick": study.quick, **sizes},
        "versions": versions(),
        "seconds": round(time.perf_counter() - start + study.saved - saved, 1),
        "results": results,
    }
    if hasattr(module, "draw"):
        save_figure(module.draw(results), study.output / name)
    with atomic_write(study.output / f"{name}.json") as file:
        file.write(compact(outcome) + "\n")
    return outcome


def reproduce_all(study: Study, done: Any = None) -> dict[str, Any]:
    """Run the paper's experiments, map the datasets, write report.html; call `done` with each outcome."""
    sections, outcomes = [], {}
    for name in PAPER:
        module = module_of(name)
        outcome = outcomes[name] = reproduce(name, study)
        if done is not None:
            done(outcome)
        picture = png_bytes(module.draw(outcome["results"]))
        tables = module.tables(outcome["results"])
        sections.append(Section(name, module.TITLE, module.ABOUT, picture, tables, outcome["seconds"]))
    with no_progress():
        maps = write_maps(study)
    with atomic_write(study.output / "report.html") as file:
        file.write(page(sections, {"seed": study.seed, "quick": study.quick}, versions(), maps))
    return outcomes


def write_maps(study: Study) -> dict[str, str]:
    """Write an interactive map of each dataset, unless it exists; return paths relative to the report."""
    from grnf.datasets import load_tu, make_delaunay, make_sbm
    from grnf.maps import map_graphs

    makers = {"SBM": make_sbm, "Delaunay": make_delaunay}
    found = {}
    (study.output / "maps").mkdir(parents=True, exist_ok=True)
    for name in [*makers, *(["ENZYMES", "IMDB-BINARY"] if study.quick else SETS)]:
        found[name] = f"maps/{name}-{study.seed}{'-quick' if study.quick else ''}.html"
        path = study.output / found[name]
        if path.is_file() and not study.fresh:
            continue
        study.tell(f"{name}: a map")
        if name in makers:
            count = QUICK_MAP_SIZE if study.quick else MAP_SIZE
            graphs, y = makers[name](count, random_state=study.seed)
            y = [CLASSES[name][label] for label in y.tolist()]
        else:
            dataset = load_tu(name, data=study.data)
            some = slice(QUICK_MAP_SIZE if study.quick else None)
            graphs, y = list(dataset.graphs)[some], dataset.y[some]
        orders = {"orders": ORDERS_TO_3} if name == "SBM" else {}
        map_graphs(
            graphs,
            y,
            transformer=GRNF(random_state=study.seed, **orders),
            title=name,
            positions="x" if name == "Delaunay" else None,
            random_state=study.seed,
        ).write(path)
    return found


def publish(name: str, output: Path) -> None:
    """Copy results and figure of an experiment into the repository, and write its tables into the docs."""
    sys.path.append(str(DOCS))
    import pages

    module = module_of(name)
    text = (output / f"{name}.json").read_text()
    (RESULTS / f"{name}.json").write_text(text)
    if hasattr(module, "draw"):
        (DOCS / "figures" / f"{name}.svg").write_bytes((output / f"{name}.svg").read_bytes())
    for place, body in placed(name, json.loads(text)["results"]).items():
        pages.fill(place, body)


def redraw(folder: Path, names: Sequence[str]) -> None:
    """Draw the figures of stored results again, as SVG."""
    for name in names:
        module = module_of(name)
        if hasattr(module, "draw"):
            results = json.loads((RESULTS / f"{name}.json").read_text())["results"]
            save_figure(module.draw(results), folder / name)
            (folder / f"{name}.png").unlink()


def placed(name: str, results: Any) -> dict[str, str]:
    """Return the tables of an experiment as Markdown, by their places in the documentation.

    All tables go to the only place; if there are several places, each gets one table.
    """
    module = module_of(name)
    places = getattr(module, "PLACES", ())
    tables = module.tables(results) if places else []
    if len(places) == 1:
        return {places[0]: "\n\n".join(map(markdown, tables))}
    return dict(zip(places, map(markdown, tables), strict=True))


def compact(outcome: dict[str, Any]) -> str:
    """Return JSON with indents, but lists of numbers on one line."""
    text = json.dumps(outcome, indent=1)
    return re.sub(r"\[[^\[\]{}]*\]", lambda found: re.sub(r"\s+", " ", found.group()), text)


def versions() -> dict[str, Any]:
    """Return the versions of what the numbers depend on, and the kind of computer."""
    found = {"grnf": __version__, "python": platform.python_version(), "machine": platform.machine()}
    for package in ("numpy", "scipy", "scikit-learn", "numba", "torch", "matplotlib"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "absent"
    return {**found, "platform": sys.platform, "cores": os.cpu_count()}
