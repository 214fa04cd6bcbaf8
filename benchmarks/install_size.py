"""Time and size of `pip install .` in empty environments, by package: python benchmarks/install_size.py.

The core, then each extra in the same environment. PyTorch is large, so its size comes from the environment
that runs this file. Results: results/install.json. They go into docs/install.md with table.py.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import measure

EXTRAS = ("io", "chem", "plot", "map", "dask")
LARGE = ("torch", "torch_geometric")
SIZES = """
import importlib.metadata, json
found = {}
for each in importlib.metadata.distributions():
    paths = {each.locate_file(file) for file in each.files or []}
    name = each.metadata["Name"].lower().replace("-", "_")
    found[name] = sum(path.stat().st_size for path in paths if path.is_file())
print(json.dumps(found))
"""
DEPENDENCIES = (
    ("", "numpy", "arrays", "BSD-3-Clause", "required"),
    ("", "scipy", "sparse matrices, assignment, special functions, MATLAB files", "BSD-3-Clause", "required"),
    ("", "scikit_learn joblib", "estimator API, SVM, t-SNE, HDBSCAN", "BSD-3-Clause", "required"),
    ("", "numba llvmlite", "compiled kernels", "BSD-2-Clause, Apache-2.0", "required"),
    ("", "typer rich", "command line, progress", "MIT", "required"),
    ("io", "pyarrow", "Parquet", "Apache-2.0", "no Parquet files"),
    ("io", "pandas narwhals", "dataframes", "BSD-3-Clause, MIT", "no dataframes"),
    ("io", "networkx", "GraphML, GML, GEXF", "BSD-3-Clause", "these formats are refused"),
    ("io", "ijson python_calamine", "JSON lists, Excel", "BSD-3-Clause, MIT", "these formats are refused"),
    ("chem", "rdkit", "molecules", "BSD-3-Clause", "no SMILES, no SD files"),
    ("plot", "matplotlib", "figures", "PSF-based", "no figures"),
    ("map", "umap_learn", "layouts of large maps", "BSD-3-Clause", "principal axes above 5,000 graphs"),
    ("torch pyg", "torch torch_geometric", "PyTorch layer", "BSD-3-Clause, MIT", "no `grnf.nn`"),
    ("dask", "dask distributed", "clusters", "BSD-3-Clause", "no `--dask`"),
)
"""Extra, names of distributions, reason, license, what happens without them."""


def run(python, *arguments):
    return subprocess.run([python, *arguments], check=True, capture_output=True, text=True).stdout


def on_disk(folder):
    """Bytes of all files."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def install(python, what):
    """Seconds of the clock and of the CPU that pip takes."""
    clock, before = time.perf_counter(), os.times()
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", what)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {"seconds": round(time.perf_counter() - clock, 1), "cpu_seconds": round(cpu, 1)}


def measured():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        venv.create(folder, with_pip=True)
        python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
        empty = on_disk(folder)
        core = install(python, str(measure.ROOT))
        core["mb"] = round((on_disk(folder) - empty) / 1e6)
        sizes, extras = json.loads(run(python, "-c", SIZES)), {}
        for extra in EXTRAS:
            before = on_disk(folder)
            extras[extra] = install(python, f"{measure.ROOT}[{extra}]")
            extras[extra]["mb"] = round((on_disk(folder) - before) / 1e6)
            sizes = json.loads(run(python, "-c", SIZES)) | sizes
    here = json.loads(run(sys.executable, "-c", SIZES))
    sizes |= {name: here[name] for name in LARGE if name in here}
    sizes = {name: round(size / 1e6, 1) for name, size in sorted(sizes.items())}
    return {"python": sys.version.split()[0], "core": core, "extras": extras, "mb": sizes}


def table():
    """Return the lines for the page, from the stored result."""
    found = measure.stored("install")
    core, sizes = found["core"], found["mb"]
    lines = [
        f"In an empty environment with Python {found['python']}, `pip install .` took",
        f"{core['cpu_seconds']:.0f} s of CPU time and {core['mb']} MB on disk, compiled files included.",
        "Sizes in the table are those of the files of each package.",
        "",
        "| Dependency | Extra | Reason | License | Size (MB) | Without it |",
        "|---|---|---|---|---|---|",
    ]
    for extra, names, reason, license_, without in DEPENDENCIES:
        known = [sizes[name] for name in names.split() if name in sizes]
        size = f"{sum(known):.0f}" if known else "not measured"
        shown = ", ".join(name.replace("_", "-") for name in names.split())
        extras = ", ".join(f"`{each}`" for each in extra.split()) or "core"
        lines.append(f"| {shown} | {extras} | {reason} | {license_} | {size} | {without} |")
    parts = [f"`{extra}` {entry['mb']} MB" for extra, entry in found["extras"].items()]
    return [*lines, "", f"With what they bring along, the extras add: {', '.join(parts)}."]


if __name__ == "__main__":
    measure.store("install", measured())
