"""Take the results of `grnf reproduce all` into the repository: JSON, pictures, the table of the README.

python experiments/publish.py grnf-reproduce
"""

import json
import shutil
import sys
from pathlib import Path

from grnf.experiments import EXPERIMENTS, table1

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
START, END = "<!-- experiments: begin -->", "<!-- experiments: end -->"


def table(outcome):
    (found,) = table1.tables(outcome["results"])
    lines = ["| " + " | ".join(found.header) + " |", "|---" * len(found.header) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in found.rows]
    return "\n".join(lines)


def publish(folder):
    for name in EXPERIMENTS:
        if (folder / f"{name}.json").exists():
            shutil.copy(folder / f"{name}.json", HERE / "results")
            shutil.copy(folder / f"{name}.png", HERE.parent / "docs" / "figures")
    text = README.read_text()
    before, rest = text.split(START)
    _, after = rest.split(END)
    outcome = json.loads((HERE / "results" / "table1.json").read_text())
    README.write_text(f"{before}{START}\n{table(outcome)}\n{END}{after}")


if __name__ == "__main__":
    publish(Path(sys.argv[1]))
