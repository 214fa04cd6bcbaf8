"""Running experiments: results as JSON, figures as PNG and PDF, all of it as one HTML report."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import platform
import re
import sys
import time
from typing import Any

from grnf._utils.files import atomic_write
from grnf._utils.progress import no_progress
from grnf._version import __version__
from grnf.experiments import EXPERIMENTS
from grnf.experiments.figures import png_bytes, save_figure
from grnf.experiments.maps import write_maps
from grnf.experiments.report import Section, page
from grnf.experiments.study import Study

__all__ = ["reproduce", "reproduce_all", "versions"]


def reproduce(name: str, study: Study) -> dict[str, Any]:
    """Run one experiment; write NAME.json, NAME.png and NAME.pdf to the output folder, return the JSON.

    What an earlier run with the same settings has computed is taken from the cache.
    """
    module = importlib.import_module(EXPERIMENTS[name])
    study.output.mkdir(parents=True, exist_ok=True)
    start, saved = time.perf_counter(), study.saved
    with no_progress():
        results = module.run(study)
    outcome = {
        "experiment": name,
        "title": module.TITLE,
        "settings": {"seed": study.seed, "quick": study.quick},
        "versions": versions(),
        "seconds": round(time.perf_counter() - start + study.saved - saved, 1),
        "results": results,
    }
    save_figure(module.draw(results), study.output / name)
    with atomic_write(study.output / f"{name}.json") as file:
        file.write(_compact(outcome) + "\n")
    return outcome


def reproduce_all(study: Study, done: Any = None) -> dict[str, Any]:
    """Run all experiments, map the sets and write report.html; `done` is called with each outcome."""
    sections = []
    outcomes = {}
    for name, home in EXPERIMENTS.items():
        module = importlib.import_module(home)
        outcome = outcomes[name] = reproduce(name, study)
        if done is not None:
            done(outcome)
        results = outcome["results"]
        picture = png_bytes(module.draw(results))
        sections.append(
            Section(name, module.TITLE, module.ABOUT, picture, module.tables(results), outcome["seconds"])
        )
    with no_progress():
        maps = write_maps(study)
    with atomic_write(study.output / "report.html") as file:
        file.write(page(sections, {"seed": study.seed, "quick": study.quick}, versions(), maps))
    return outcomes


def _compact(outcome: dict[str, Any]) -> str:
    """Return JSON with indents, but lists of numbers on one line."""
    text = json.dumps(outcome, indent=1)
    return re.sub(r"\[[^\[\]{}]*\]", lambda found: re.sub(r"\s+", " ", found.group()), text)


def versions() -> dict[str, str]:
    """Return the versions of what the numbers depend on, and the kind of machine."""
    found = {"grnf": __version__, "python": platform.python_version(), "machine": platform.machine()}
    for package in ("numpy", "scipy", "scikit-learn", "numba", "torch", "matplotlib"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "absent"
    return {**found, "platform": sys.platform}
