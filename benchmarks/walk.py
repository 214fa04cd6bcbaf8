"""The path of a call through the package: files in which functions run, and frames to the compiled kernel.

python benchmarks/walk.py [fit_transform | two_sample_test | embed | search] ... prints what these calls pass
through once everything is imported and compiled. The calls are `GRNF().fit_transform(graphs)`, by default,
`two_sample_test(graphs, graphs)`, `grnf embed table.csv -o z.parquet` and `grnf search my.index table.csv`.
Files of the core, which computes the features, are counted separately.
"""

import atexit
import contextlib
import io
import os
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

import networkx as nx

import grnf
from grnf import GRNF

HOME = Path(grnf.__file__).parent


def fit_transform():
    """Embed networkx graphs."""
    GRNF(8, random_state=0).fit_transform([nx.cycle_graph(n) for n in (3, 4, 5)])


def two_sample_test():
    """Test two collections of networkx graphs."""
    from grnf.stats import two_sample_test

    cycles, paths = ([make(n % 4 + 3) for n in range(8)] for make in (nx.cycle_graph, nx.path_graph))
    two_sample_test(cycles, paths, n_components=8, n_resamples=19, random_state=0)


def embed():
    """Embed a table of edges on the command line."""
    with tempfile.TemporaryDirectory() as folder:
        table = edge_table(folder)
        command("embed", table, "-o", table.with_name("z.parquet"), "-m", 8, "--quiet")


@cache
def small_index():
    """Return the folder of an index, which is removed at the end, and a table of queries."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    table, index = edge_table(folder), Path(folder) / "my.index"
    command("index", table, "-o", index, "--space", "d_P", "-m", 8, "--quiet")
    return index, table


def search():
    """Search an index on the command line."""
    command("search", *small_index(), "-k", 2, "--quiet")


def edge_table(folder):
    """Write a table of edges, and return its path."""
    table = Path(folder) / "table.csv"
    rows = [f"{n},{node},{(node + 1) % n}" for n in (3, 4, 5) for node in range(n)]
    table.write_text("\n".join(["graph_id,source,target", *rows]))
    return table


def command(*arguments):
    """Run a command without its output."""
    from grnf.cli.app import app

    with contextlib.redirect_stdout(io.StringIO()):
        app(list(map(str, arguments)), standalone_mode=False)


CALLS = {call.__name__: call for call in (fit_transform, two_sample_test, embed, search)}


def walk(call):
    """Return the files in which some function runs, in the order of the walk, and the frames to the loop."""
    call()  # imports and compiles
    files, stacks = {}, []

    def note(frame, event, _):
        if event != "call" or not frame.f_code.co_filename.startswith(str(HOME)):
            return
        files.setdefault(os.path.relpath(frame.f_code.co_filename, HOME))
        if frame.f_code.co_name != "piece_sums":  # what calls the loop
            return
        names = []
        while frame is not None:
            if frame.f_code.co_filename.startswith(str(HOME)):
                names.append(f"{os.path.relpath(frame.f_code.co_filename, HOME)}: {frame.f_code.co_qualname}")
            frame = frame.f_back
        stacks.append(names[::-1])

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(files), max(stacks, key=len)


CORE = ("_utils", "law", "engine", "features")
"""Packages that compute features: every call passes through the same files of them."""


def outside_core(files):
    """Return the files that do not belong to the core."""
    return [file for file in files if file.split("/")[0] not in CORE]


if __name__ == "__main__":
    for name in sys.argv[1:] or ["fit_transform"]:
        files, stack = walk(CALLS[name])
        print(
            f"{name}: {len(files)} files, {len(outside_core(files))} of them outside the core:",
            *files,
            sep="\n  ",
        )
        print(f"{len(stack)} frames, then the compiled kernel:", *stack, sep="\n  ")
