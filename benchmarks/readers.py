"""Readers of files: seconds and peak memory for a file of each format, and lines of code.

python benchmarks/readers.py [--megabytes 50] [--before SRC] [--rounds 3] writes results/readers.json. SRC is
a folder src of an earlier version, to compare with. Each file is read in a process of its own, by both
versions in turns; the values are medians.
"""

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from grnf import __version__
from grnf.io import RawGraph, write_graphs
from grnf.io.files.graph6 import write_graph6

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "readers.json"
SUFFIXES = {
    "parquet": ".parquet", "npz": ".npz", "jsonl": ".jsonl", "json": ".json", "graphml": ".graphml",
    "gml": ".gml", "gexf": ".gexf", "dot": ".dot", "edge-list": ".edgelist", "graph6": ".g6",
    "sparse6": ".s6", "digraph6": ".d6", "graph6-npy": ".npy", "smiles": ".csv", "smi": ".smi", "sdf": ".sdf",
    "edge-table": ".csv", "tu": ".zip", "matlab": ".mat", "market": ".mtx",
    "excel": ".xlsx",
}  # fmt: skip
MODULES = {  # before, after
    "parquet": ("parquet rows row_blocks", "parquet graph_rows"),
    "npz": ("arrays archives npy_stream", "npz"),
    "json": ("node_link json_stream", "node_link"),
    "graphml, gml, gexf": ("graphml gml gexf xml builder", "documents"),
    "dot": ("dot", "dot"),
    "gspan": ("gspan", ""),
    "tables": ("tables survey records values", "tables survey values"),
    "edges": ("edge_list edge_table edge_table_write grouping", "edge_list edge_table"),
    "excel": ("excel", "excel"),
    "matrices": ("matrices matlab market number_table", "matrices"),
    "tu": ("tu tu_arcs tu_tables tu_write", "tu_files"),
    "graph6": ("graph6", "graph6"),
    "molecules": ("molecules sdf", "molecules sdf"),
    "shared": (
        "registry formats blocks inputs streams limits ranges following",
        "reading writing formats file limits ranges following source",
    ),
}
CHILD = """
import resource, sys, time
from grnf.io import read_graphs
path, name = sys.argv[1:]
format = None if name in ("matlab", "market", "excel") else name
start, cpu = time.perf_counter(), time.process_time()
nodes = sum(graph.n_nodes for graph in read_graphs(path, format=format))
print(nodes, time.perf_counter() - start, time.process_time() - cpu,
      resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def ring(n, index, directed=False):
    nodes = np.arange(n)
    random = np.random.default_rng(index)
    columns = {"x": random.random(n).round(3), "element": np.array(["C", "N"], dtype=object)[nodes % 2]}
    edges = np.column_stack([nodes, (nodes + 1) % n])
    weights = {"weight": random.random(n).round(3)}
    return RawGraph(n, edges, columns, weights, directed, graph_id=f"g{index}", y=index % 2)


def write(name, path, count):
    """Write a file of this many lines, molecules, nodes, entries, rows or graphs."""
    lines = range(count)
    if name in ("smiles", "smi", "sdf"):
        molecules = [("CC(=O)Oc1ccccc1C(=O)O", 1), ("CN1C=NC2=C1C(=O)N(C(=O)N2C)C", 0), ("CCO", 1)]
        records = [f"{smiles},{y}\n" for smiles, y in molecules]
        if name == "smi":
            records = [record.replace(",", " ") for record in records]
        if name == "sdf":
            from rdkit.Chem import MolFromSmiles, MolToMolBlock

            blocks = [MolToMolBlock(MolFromSmiles(smiles)) for smiles, _ in molecules]
            records = [
                f"{block}> <y>\n{y}\n\n$$$$\n" for block, (_, y) in zip(blocks, molecules, strict=True)
            ]
        path.write_text(("smiles,y\n" if name == "smiles" else "") + "".join(records) * (count // 3))
    elif name == "dot":
        edges = (f"n{i} -- n{(i * 7) % count} [weight=0.5];\n" for i in lines)
        path.write_text("graph {\n" + "".join(edges) + "}")
    elif name == "edge-list":
        path.write_text("".join(f"{i} {(i * 7) % count}\n" for i in lines))
    elif name in ("matlab", "market"):
        import scipy.io
        import scipy.sparse as sp

        n = count // 3
        sources, turns = np.arange(count) % n, np.arange(count) // n
        matrix = sp.coo_array((np.ones(count), (sources, (sources * 7 + turns) % n)), shape=(n, n))
        if name == "matlab":
            scipy.io.savemat(path, {"A": sp.csc_matrix(matrix)})
        else:
            scipy.io.mmwrite(path, matrix)
    elif name == "excel":
        import openpyxl

        book = openpyxl.Workbook(write_only=True)
        sheet = book.create_sheet()
        sheet.append(["graph_id", "source", "target", "kind", *(f"x{k}" for k in range(8))])
        numbers = np.random.default_rng(0).random((count, 8)).tolist()
        for i in lines:  # a sheet has at most 1,048,576 rows
            sheet.append([f"g{i // 10}", i % 10, (i * 7) % 10, "ab"[i % 2], *numbers[i]])
        book.save(path)
    elif name in ("graphml", "gml", "gexf"):
        write_graphs(path, [ring(count, 0)], format=name, lossy=True)
    else:
        rings = [ring(30, index, name == "digraph6") for index in range(1000)]
        graphs = (replace(rings[i % len(rings)], graph_id=f"g{i}") for i in lines)
        if name == "graph6-npy":
            texts = io.BytesIO()
            write_graph6(texts, graphs)
            np.save(path, np.array(texts.getvalue().split()))
        else:
            write_graphs(path, graphs, format=name, lossy=True)


def write_sized(name, path, size):
    """Write a file of this many bytes, up to 10 %."""
    count = 3000
    write(name, path, count)
    while not 0.9 < path.stat().st_size / size < 1.1:
        count = int(count * size / path.stat().st_size)
        write(name, path, count)


def read(path, name, src):
    # by way of a shell: the peak memory of a child begins with that of its parent
    command = ["sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-c", CHILD, str(path), name]
    environment = {**os.environ, "PYTHONPATH": str(src)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        return {"error": done.stderr.strip().replace(str(path), path.name).splitlines()[-1:]}
    nodes, seconds, cpu, memory = map(float, done.stdout.split())
    return {
        "nodes": int(nodes),
        "seconds": round(seconds, 3),
        "cpu": round(cpu, 3),
        "peak_mb": round(memory / 1e6),
    }


def middle(results):
    """Return the medians of several rounds, or the first error."""
    errors = [result for result in results if "error" in result]
    if errors:
        return errors[0]
    return {key: statistics.median(result[key] for result in results) for key in results[0]}


def lines_of(src, modules):
    files = (Path(src) / "grnf" / "io" / "files" / f"{module}.py" for module in modules.split())
    return sum(len(file.read_text().splitlines()) for file in files if file.exists())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=50)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--formats", nargs="*", default=list(SUFFIXES))
    given = parser.parse_args()
    versions = {"after": HERE.parent / "src", **({"before": given.before} if given.before else {})}
    result = json.loads(RESULTS.read_text()) if len(given.formats) < len(SUFFIXES) else {"read": {}}
    result |= {"grnf": __version__, "megabytes": given.megabytes, "lines": {}}
    for title, modules in MODULES.items():
        pairs = zip(("before", "after"), modules, strict=True)
        result["lines"][title] = {
            version: lines_of(versions[version], own) for version, own in pairs if version in versions
        }
    with tempfile.TemporaryDirectory() as folder:
        for name in given.formats:
            path = Path(folder) / f"{name}{SUFFIXES[name]}"
            try:
                write_sized(name, path, given.megabytes * 1e6)
            except ImportError as error:
                print(f"{name}: {error}")
                continue
            turns = [
                {version: read(path, name, src) for version, src in versions.items()}
                for _ in range(given.rounds)
            ]
            entry = {"bytes": path.stat().st_size, "rounds": given.rounds}
            entry |= {version: middle([turn[version] for turn in turns]) for version in versions}
            path.unlink()
            result["read"][name] = entry
            result["read"] = {kind: result["read"][kind] for kind in SUFFIXES if kind in result["read"]}
            print(name, entry, flush=True)
            RESULTS.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
