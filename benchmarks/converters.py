"""From files and objects to vectors: CPU time of reading and encoding compared with the kernels, one core.

Alone: python benchmarks/converters.py [ROW ...]
"""

import csv
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import measure
import numpy as np

from grnf import GRNF
from grnf.estimators import embed_stream
from grnf.io import RawGraph, read_blocks, read_graphs, write_graphs
from grnf.io.objects import to_batch

M, REPEATS = 512, 5
N_MOLECULES, N_FOR_PROCESSES = 10_000, 150_000
GRAPHS, LABELS = 20_000, 41_000


def bench_converters(names=()):
    """Seconds and ratios of every converter and reader."""
    tasks = {"files": files, "objects": objects, "molecules": molecules, "workers": workers, "labels": labels}
    rows = {}
    for name, task in tasks.items():
        if not names or name in names:
            rows |= task()
    return rows


def loops(grnf, graphs):
    """What is left when graphs are encoded: the kernels alone."""
    batch, _, _ = grnf.encoder_.encode_batch(to_batch(graphs))
    return lambda: grnf._embedder(batch)


def files():
    path = measure.DATA / "tu" / "NCI1.zip"
    graphs = list(read_graphs(path))
    grnf = GRNF(M, random_state=0).fit(graphs)
    with tempfile.TemporaryDirectory() as folder:
        paths = {"TU zip": path}
        for name, suffix in (("npz", "npz"), ("Parquet", "parquet")):
            paths[name] = Path(folder) / f"NCI1.{suffix}"
            write_graphs(paths[name], graphs)

        def embed(path):
            return lambda: [block.Z for block, _ in embed_stream(grnf, read_blocks(path))]

        tasks = {name: embed(path) for name, path in paths.items()}
        seconds = measure.compare(
            repeats=REPEATS, clock=time.process_time, loops=loops(grnf, graphs), **tasks
        )
    return {
        f"{name} to vectors, NCI1": {
            "seconds": seconds[name],
            "loops": seconds["loops"],
            "over_loops": seconds[name] / seconds["loops"],
        }
        for name in paths
    }


def objects():
    import igraph
    import networkx as nx
    import torch
    from torch_geometric.data import Data

    graphs = list(read_graphs(measure.DATA / "tu" / "NCI1.zip"))
    lists = {"networkx": [], "igraph": [], "PyG": []}
    present = sorted({label for graph in graphs for label in graph.node_columns["label"]})
    labels = {label: i for i, label in enumerate(present)}
    for raw in graphs:
        label = raw.node_columns["label"].tolist()
        one = nx.Graph()
        one.add_nodes_from((i, {"label": value}) for i, value in enumerate(label))
        one.add_edges_from(raw.edges.tolist())
        lists["networkx"].append(one)
        lists["igraph"].append(igraph.Graph(raw.n_nodes, raw.edges.tolist(), vertex_attrs={"label": label}))
        x = torch.eye(len(labels))[[labels[value] for value in label]]
        arcs = np.concatenate([raw.edges, raw.edges[:, ::-1]]).T
        lists["PyG"].append(Data(x=x, edge_index=torch.from_numpy(np.ascontiguousarray(arcs))))
    rows = {}
    for name, some in lists.items():
        grnf = GRNF(M, random_state=0).fit(some)
        samples = {
            "walk": lambda name=name, some=some: WALKS[name](some),
            "loops": _loops_of_objects(grnf, some),
            "transform": lambda grnf=grnf, some=some: grnf.transform(some),
        }
        seconds = measure.compare(repeats=REPEATS, clock=time.process_time, **samples)
        rows[f"{name}, {len(some)} graphs of NCI1"] = _over(seconds, "walk")
    return rows


def _loops_of_objects(grnf, some):
    from grnf.collection import encode

    batch = encode(some, grnf.encoder_).batch
    return lambda: grnf._embedder(batch)


def walk_networkx(graphs):
    for graph in graphs:
        for _ in graph.nodes(data=True):
            pass
        for _ in graph.edges(data=True):
            pass


def walk_igraph(graphs):
    for graph in graphs:
        for _ in graph.vs["label"]:
            pass
        for _ in graph.get_edgelist():
            pass


def walk_pyg(graphs):
    for data in graphs:
        for _ in data.x.tolist():
            pass
        for _ in data.edge_index.t().tolist():
            pass


WALKS = {"networkx": walk_networkx, "igraph": walk_igraph, "PyG": walk_pyg}


def _over(seconds, base):
    bound = seconds[base] + seconds["loops"]
    return {"seconds": seconds, "over_bound": seconds["transform"] / bound}


def some_smiles(count):
    with gzip.open(measure.DATA / "molecules" / "moses_test.csv.gz", "rt") as file:
        rows = csv.DictReader(file)
        column = next(name for name in rows.fieldnames if name.lower() == "smiles")
        return [row[column] for _, row in zip(range(count), rows, strict=False)]


def molecules():
    from rdkit import Chem

    smiles = some_smiles(N_MOLECULES)
    grnf = GRNF(M, random_state=0).fit(smiles)
    seconds = measure.compare(
        repeats=REPEATS,
        clock=time.process_time,
        parse=lambda: [Chem.MolFromSmiles(text) for text in smiles],
        loops=_loops_of_objects(grnf, smiles),
        transform=lambda: grnf.transform(smiles),
    )
    return {f"{N_MOLECULES:,} SMILES of MOSES": _over(seconds, "parse")}


def workers():
    """SMILES to Parquet by the command line, with one process and with two."""
    smiles = some_smiles(N_FOR_PROCESSES)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "smiles.csv"
        table.write_text("\n".join(["smiles", *smiles]) + "\n")
        seconds = {}
        embed(table, Path(folder) / "z.parquet", "--n-jobs", 2)  # loads and compiles
        for n_jobs in (1, 2):
            start = time.perf_counter()
            embed(table, Path(folder) / "z.parquet", "--n-jobs", n_jobs, "--force")
            seconds[str(n_jobs)] = time.perf_counter() - start
    row = {"seconds": seconds, "times_faster": seconds["1"] / seconds["2"]}
    return {f"{len(smiles):,} SMILES to Parquet, 2 workers": row}


def embed(source, output, *more):
    command = [sys.executable, "-m", "grnf", "embed", str(source), "-o", str(output), "-q", *map(str, more)]
    subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})


def labels():
    """The set of many labels through the command line: seconds and peak memory of the process."""
    generator = np.random.default_rng(0)
    weights = 1 / (10 + np.arange(LABELS))
    names = np.array([f"label {i}" for i in range(LABELS)], dtype=object)
    everyone = generator.permutation(LABELS)  # all of them occur
    graphs, start = [], 0
    for n in generator.integers(4, 18, GRAPHS):
        chosen = generator.choice(LABELS, n, p=weights / weights.sum())
        if start < LABELS:
            own = everyone[start : start + 3]
            chosen[: len(own)] = own
            start += 3
        edges = np.column_stack([np.arange(1, n), generator.integers(0, np.arange(1, n))])
        graphs.append(RawGraph(int(n), edges, {"label": names[chosen]}))
    with tempfile.TemporaryDirectory() as folder:
        write_graphs(Path(folder) / "labels.npz", graphs)
        code = "import resource, sys; sys.argv[0] = 'grnf'; from grnf.cli.app import main\ntry:\n    main()\n"
        code += "finally:\n    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        command = [sys.executable, "-c", code, "embed", f"{folder}/labels.npz", "-o", f"{folder}/z.npy", "-q"]
        start = time.perf_counter()
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        seconds = time.perf_counter() - start
    distinct = len({label for graph in graphs for label in graph.node_columns["label"]})
    memory = int(run.stdout.split()[-1]) * (1 if sys.platform == "darwin" else 1024)
    return {
        f"{GRAPHS:,} graphs with {distinct:,} node labels, M = {M}": {
            "seconds": seconds,
            "peak_memory_mb": memory / 1e6,
        }
    }


if __name__ == "__main__":
    print(json.dumps(bench_converters(sys.argv[1:]), indent=1))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, "MB", file=sys.stderr)
