"""By hand or by a library: seconds and memory of readers beside a library in their place, and tests failed.

A file of some 50 MB for each format; ours and the library take turns, each pass in a process of its own.
python benchmarks/readers.py [NAME ...] writes results/readers.json; see `libraries.py` for the names.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "readers.json"
SIZE = 50e6
ROUNDS = 3
TESTS = ("tests/io/files", "tests/io/test_tu.py", "tests/fuzz")
SLOW = "moses or gigabyte or coverage_guided or real_sets or facts_of"
OF_DOCUMENTS = "wrong_is_named or fault_is_one or networkx or truncated or graphs_of_the_library"
TESTS_OF = {
    "json": f"json or node_link or documents or pieces or without_end or {OF_DOCUMENTS}",
    "graphml": f"graphml or gexf or keys or {OF_DOCUMENTS}",
    "gexf": f"gexf or {OF_DOCUMENTS}",
    "gml": f"gml or pieces or without_end or {OF_DOCUMENTS}",
    "graph6": "graph6 or g6 or long_file or fault_is_one",
    "edge-list": "edge_list or edgelist or edge-list or wrong_is_named or fault_is_one",
    "tu": "tu or arcs or archive or bombs or packings or numbers_of_graphs or reverse",
    "edge-table": "table or csv or smiles or fault_is_one",
    "npz": "npz or own_formats or array_headers or pickle or library",
}
"""Words in the names of the tests of each format."""

SOON, ENOUGH = 900, 120
"""Seconds after which a pass is given up, and after which no further round begins."""


def graphs(n_nodes, count):
    """Random graphs with columns of all kinds."""
    from grnf.io import RawGraph

    generator = np.random.default_rng(0)
    elements = np.array(["C", "N", "O", "S"], dtype=object)
    for index in range(count):
        ends = np.sort(generator.integers(0, n_nodes, size=(3 * n_nodes, 2)), axis=1)
        edges = np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0)
        nodes = {
            "element": elements[generator.integers(0, 4, n_nodes)],
            "charge": generator.integers(-2, 3, n_nodes),
            "x": generator.normal(size=n_nodes).round(6),
        }
        weights = {"weight": generator.random(len(edges)).round(6)}
        yield RawGraph(n_nodes, edges, nodes, weights, False, f"g{index}", int(index % 2))


def write(name, path, size, one_graph):
    """Write a file of about this many bytes."""
    from dataclasses import replace

    from grnf.io import write_graphs

    def fitting(graph):
        if name != "tu":
            return graph
        codes = {"C": "1", "N": "2", "O": "3", "S": "4"}
        labels = np.array([codes[entry] for entry in graph.node_columns["element"]], dtype=object)
        return replace(graph, node_columns={"label": labels}, edge_columns={})

    def written(nodes, count):
        write_graphs(path, map(fitting, graphs(nodes, count)), format=name, lossy=True)
        return path.stat().st_size * (4 if name in ("tu", "npz") else 1)  # packed

    if one_graph:
        written(round(size / written(10_000, 1) * 10_000), 1)
    else:
        written(60, round(size / written(60, 200) * 200))


def one_pass(name, library, path):
    """Read a file from front to back in this process; print seconds and megabytes."""
    from libraries import put

    from grnf.io import read_graphs

    if library:
        put(library)
    small = Path(path).with_name(f"small-{Path(path).name}")
    for _ in read_graphs(small, format=name):  # what is imported and cached once
        pass
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    start = time.process_time()  # of the processor, all threads: the same beside a busy neighbour
    n_graphs = n_edges = 0
    for graph in read_graphs(path, format=name):
        n_graphs += 1
        n_edges += len(graph.edges)
    seconds = time.process_time() - start
    print(json.dumps({"seconds": seconds, "mb": memory("VmHWM") - before, "found": [n_graphs, n_edges]}))


def memory(field):
    text = Path("/proc/self/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+) kB", text)[1]) / 1e3


def measured(name, library, path):
    command = [sys.executable, __file__, "--pass", name, library or "", str(path)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=SOON, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {SOON} s"}
    if run.returncode:
        return {"error": (run.stderr.strip().splitlines() or ["ended without a word"])[-1][:200]}
    return json.loads(run.stdout.splitlines()[-1])


def tests_failed(library, name):
    """Run the tests of the readers with a library in place; return which failed."""
    chosen = f"not ({SLOW}) and ({TESTS_OF[name]})"
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"GRNF_LIBRARY": library, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "libraries", "-k", chosen, *TESTS]
    run = subprocess.run(
        command, env=environment, cwd=HERE.parent, capture_output=True, text=True, check=False
    )
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+::\S+)", run.stdout, re.MULTILINE)
    passed = re.search(r"(\d+) passed", run.stdout)
    if not passed or run.returncode < 0:
        marks = re.match(r"[.FEsx]+", run.stdout)
        if not marks or "allocate memory" not in run.stdout + run.stderr:
            raise RuntimeError(
                f"the tests did not run with {library}:\n{run.stdout[-2000:]}{run.stderr[-2000:]}"
            )
        found = {"passed": marks[0].count("."), "failed": marks[0].count("F"), "which": failed}
        return {**found, "died": "the process ran out of memory"}
    return {"passed": int(passed[1]), "failed": len(failed), "which": failed}


def row(library, folder):
    from libraries import LIBRARIES

    from grnf.io import FORMATS

    name = LIBRARIES[library][0]
    one = FORMATS[name].one_graph or library == "networkx, GML"  # which reads one graph a file
    path = folder / f"{'one' if one else 'many'}{FORMATS[name].suffixes[0]}"
    if not path.exists():
        write(name, path, SIZE, one)
        write(name, path.with_name(f"small-{path.name}"), 2e5, one)
    passes, begin = {"ours": [], "library": []}, time.perf_counter()
    while len(passes["ours"]) < ROUNDS and time.perf_counter() < begin + ENOUGH:
        for who in passes:
            found = measured(name, library if who == "library" else None, path)
            passes[who].append(found)
        if "error" in found:
            break
    result = {"format": name, "file_mb": round(path.stat().st_size / 1e6, 1)}
    errors = [found["error"] for found in passes["library"] if "error" in found]
    if errors:
        result["error"] = errors[0]
    else:
        for key in ("seconds", "mb"):
            values = {who: float(np.median([found[key] for found in runs])) for who, runs in passes.items()}
            result[key] = values
        result["time_over_ours"] = result["seconds"]["library"] / result["seconds"]["ours"]
        result["same_graphs"] = passes["ours"][0]["found"] == passes["library"][0]["found"]
    return result | {"tests": tests_failed(library, name)}


def bench_readers(names=()):
    """Each reader beside a library in its place: seconds of the processor, memory, tests failed."""
    from libraries import LIBRARIES

    known = json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        for library in names or LIBRARIES:
            known[library] = row(library, Path(folder))
            shown = {key: value for key, value in known[library].items() if key != "tests"}
            print(library, shown, known[library]["tests"]["failed"], "tests failed", flush=True)
            document = {"benchmark": "readers", "what": bench_readers.__doc__, "rows": known}
            RESULTS.write_text(json.dumps(document, indent=2) + "\n")
    return known


if __name__ == "__main__":
    if sys.argv[1:2] == ["--pass"]:
        one_pass(sys.argv[2], sys.argv[3], sys.argv[4])
    else:
        bench_readers(sys.argv[1:])
