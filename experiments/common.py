"""What the experiments share: data sets by name, results as JSON with settings and machine, README tables."""

import argparse
import json
import os
import platform
from pathlib import Path

import numpy as np

from grnf import GraphBatch, __version__
from grnf.datasets import make_delaunay, make_sbm
from grnf.io import read_tu

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
SHARED = Path(os.environ.get("GRNF_SHARED", HERE.parents[1] / "shared")) / "data" / "tu"


def parser(text):
    """Options that every experiment has."""
    made = argparse.ArgumentParser(description=text)
    made.add_argument("--data", type=Path, default=SHARED, help="folder of TU sets (.zip)")
    made.add_argument("--output", type=Path, default=HERE, help="results/ and figures/ are written in it")
    made.add_argument("--tiny", action="store_true", help="a run of seconds that shows that it works")
    return made


def load(name, n_graphs, data):
    """Graphs and classes of a synthetic set, or of a TU set (all of its graphs)."""
    if name == "SBM":
        graphs, y = make_sbm(n_graphs, random_state=0)
        return GraphBatch.from_graphs(graphs), np.asarray(y)
    if name == "Delaunay":
        graphs, y = make_delaunay(n_graphs, random_state=0)
        return GraphBatch.from_graphs(graphs), np.asarray(y)
    found = read_tu(data / f"{name}.zip")
    return found.graphs, np.asarray(found.y)


def save(name, output, settings, results):
    """Write results with what they came from."""
    folder = output / "results"
    folder.mkdir(parents=True, exist_ok=True)
    record = {
        "command": f"python experiments/{name}.py",
        "version": __version__,
        "machine": {"python": platform.python_version(), "numpy": np.__version__, "cores": os.cpu_count()},
        "settings": settings,
        "results": results,
    }
    (folder / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")


def fill(place, tables, page=README):
    """Write tables into their place in the README, or in another page."""
    text = page.read_text()
    start, end = f"<!-- {place}: begin -->", f"<!-- {place}: end -->"
    before, rest = text.split(start)
    _, after = rest.split(end)
    body = "\n\n".join("\n".join(lines(found)) for found in tables)
    page.write_text(f"{before}{start}\n{body}\n{end}{after}")


def lines(found):
    """A table in Markdown."""
    yield "| " + " | ".join([found.header[0] or found.title, *found.header[1:]]) + " |"
    yield "|---" * len(found.header) + "|"
    yield from ("| " + " | ".join(row) + " |" for row in found.rows)


def save_figure(figure, name, output):
    folder = output / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=110, bbox_inches="tight")
