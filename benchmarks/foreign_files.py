"""By hand or by a library: readers of DOT, Excel, MATLAB and Matrix Market, of whole and of damaged files.

python benchmarks/foreign_files.py writes results/foreign_files.json; it needs pydot and openpyxl. Damaged
files are read in a process of their own, which begins anew after one that ends it.
"""

import io
import json
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

from grnf import GraphError, __version__
from grnf.io import read_graphs, to_raw
from grnf.io.files.matlab import read_variables
from grnf.io.files.streams import Source

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "foreign_files.json"
TURNS, DAMAGED = 3, 1000


def pairs(n):
    return np.random.default_rng(0).integers(0, n, size=(3 * n, 2))


def write_dot(path, n):
    nodes = "".join(f'  n{i} [label="block {i % 50}", size={i % 7}];\n' for i in range(n))
    edges = "".join(f"  n{i} -> n{j} [weight={(i + j) / n:.3f}];\n" for i, j in pairs(n).tolist())
    path.write_text(f"digraph g {{\n{nodes}{edges}}}\n")


def write_excel(path, n):
    import openpyxl

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    sheet.append(["graph_id", "source", "target", "kind"])
    for i, j in pairs(n).tolist():
        sheet.append([f"g{min(i, j) // 10}", i % 10, j % 10, "ab"[i % 2]])
    book.save(path)


def matrix(n):
    i, j = pairs(n).T
    return sp.coo_array((1.0 + i % 7, (i, j)), shape=(n, n)).tocsc()


def graphs_of(path):
    return sum(graph.n_nodes for graph in read_graphs(path))


def text_of(path):
    with Source(path).open() as file:
        return sum(1 for _ in file)


def variables_of(path):
    with path.open("rb") as file:
        return read_variables(file)


def by_pydot(path):
    import pydot

    found = pydot.graph_from_dot_data(path.read_text())
    if not found:
        raise ValueError("what is wrong it has printed")
    return found


def by_openpyxl(path):
    import openpyxl

    sheet = openpyxl.load_workbook(path, read_only=True).worksheets[0]
    return sum(1 for _ in sheet.iter_rows(values_only=True))


def by_scipy(path):
    return to_raw(scipy.io.mmread(path))


def write_matlab(path, n):
    scipy.io.savemat(path, {"A": matrix(n)})


def write_market(path, n):
    scipy.io.mmwrite(path, matrix(n))


FORMATS = {
    "DOT": (".dot", write_dot, by_pydot, "pydot", graphs_of, 4000),
    "Excel": (".xlsx", write_excel, by_openpyxl, "openpyxl", text_of, 20000),
    "MATLAB": (".mat", write_matlab, scipy.io.loadmat, "scipy", variables_of, 20000),
    "Matrix Market": (".mtx", write_market, by_scipy, "scipy", graphs_of, 20000),
}
"""Of each format: suffix, writer, the library's reader and name, what of ours does as much, nodes."""


def damaged(path, number):
    """Write a copy with some bytes changed, and perhaps its end lost; return where it is."""
    random, data = np.random.default_rng(number), np.fromfile(path, np.uint8)
    places = random.integers(len(data), size=random.integers(1, 6))
    data[places] = random.choice(data, len(places)) if number % 2 else random.integers(256, size=len(places))
    copy = path.with_name(f"damaged{path.suffix}")
    data[: len(data) if random.random() < 0.8 else random.integers(len(data))].tofile(copy)
    return copy


def read_damaged(name, reader, path, first):
    """Read damaged files from one on, and say after each how it ended."""
    read = FORMATS[name][2] if reader == "library" else graphs_of
    out, sys.stdout = sys.stdout, io.StringIO()  # pydot prints what it finds
    for number in range(first, DAMAGED):
        copy = damaged(path, number)
        try:
            read(copy)
            ended = "read"
        except GraphError:
            ended = "refused"
        except Exception:
            ended = "refused" if reader == "library" else "another error"
        print(ended, file=out, flush=True)


def endings(name, reader, path):
    """Count how damaged files ended; some end the process."""
    found = []
    while len(found) < DAMAGED:
        command = [sys.executable, __file__, name, reader, str(path), str(len(found))]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        found += run.stdout.split("\n")[:-1]
        if run.returncode:
            found.append("ended the process")
    return {kind: found.count(kind) for kind in sorted(set(found))}


def measured(name):
    suffix, write, library, package, ours, n = FORMATS[name]
    with tempfile.TemporaryDirectory() as folder:
        path, small = Path(folder) / f"file{suffix}", Path(folder) / f"small{suffix}"
        write(path, n)
        write(small, 8)
        seconds = {"ours": [], "library": []}
        for turn in range(TURNS + 1):
            for reader, read in (("ours", ours), ("library", library)):
                start = time.process_time()
                read(path)
                if turn:  # the first imports
                    seconds[reader].append(time.process_time() - start)
        median = {reader: float(np.median(values)) for reader, values in seconds.items()}
        return {
            "library": f"{package} {version(package)}",
            "file_mb": path.stat().st_size / 1e6,
            "seconds": median,
            "time_over_ours": median["library"] / median["ours"],
            "damaged": {reader: endings(name, reader, small) for reader in seconds},
        }


def main():
    if len(sys.argv) > 1:
        name, reader, path, first = sys.argv[1:]
        read_damaged(name, reader, Path(path), int(first))
        return
    result = {
        "benchmark": "foreign_files",
        "what": "Readers of DOT, Excel, MATLAB, Matrix Market beside libraries: whole and damaged files.",
        "command": "python benchmarks/foreign_files.py",
        "version": __version__,
        "damaged_files": DAMAGED,
        "rows": {name: measured(name) for name in FORMATS},
    }
    RESULTS.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result["rows"], indent=1))


if __name__ == "__main__":
    main()
