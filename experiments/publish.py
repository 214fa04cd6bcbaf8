"""Take the results of `grnf reproduce all` into the repository: JSON, pictures, the table of the README.

python experiments/publish.py grnf-reproduce
"""

import json
import shutil
import sys
from pathlib import Path

from common import HERE, fill

from grnf.experiments import EXPERIMENTS, brec, first_place, table1

TABLES = {
    "experiments": ("table1", table1),
    "first-place": ("first-place", first_place),
    "brec": ("brec", brec),
}
"""Place in the README -> experiment, and the module that makes its tables."""


def publish(folder):
    for name in EXPERIMENTS:
        if (folder / f"{name}.json").exists():
            for place, suffix in ((HERE / "results", "json"), (HERE.parent / "docs" / "figures", "png")):
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy(folder / f"{name}.{suffix}", place)
    for place, (name, module) in TABLES.items():
        path = HERE / "results" / f"{name}.json"
        if path.exists():
            fill(place, module.tables(json.loads(path.read_text())["results"]))


if __name__ == "__main__":
    publish(Path(sys.argv[1]))
