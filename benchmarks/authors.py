"""`GRNF` compared with the authors' code (dzambon/graph-random-neural-features), in turns in one run.

GRNF_AUTHORS names a folder with their repository. It runs in a process of its own (their package has our
name), with a stand-in for `torch_scatter`; nothing of it is copied. Alone: python benchmarks/authors.py

The vectors are not compared here: the authors' code divides one sum by n^3. `tests/engine/test_golden.py`
compares the rest.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np

SETS = ("MUTAG", "ENZYMES", "IMDB-BINARY", "NCI1")
M, HIDDEN, THREADS = 512, 4, 2
PAIRS = 10_000
"""Sum of n^2 in one batch of the authors' code. Each takes M / 3 * HIDDEN numbers, several times over."""

ROUNDS, SECONDS_A_ROUND = 5, 1.0


def bench_authors():
    """`GRNF` and the authors' code in turns, two threads each: vectors of whole datasets, labels only."""
    folder = os.environ.get("GRNF_AUTHORS")
    if not folder:
        print("left out: set GRNF_AUTHORS to a folder with dzambon/graph-random-neural-features", flush=True)
        return {}
    if not (Path(folder) / "grnf" / "torch").is_dir():
        raise FileNotFoundError(f"GRNF_AUTHORS={folder} holds no grnf/torch of the authors' repository")
    return {name: compare(name, folder) for name in SETS}


def compare(name, folder):
    import measure

    from grnf import GRNF
    from grnf.io import read_tu

    graphs = read_tu(measure.DATA / "tu" / f"{name}.zip", node_attributes=False).graphs
    grnf = GRNF(M, hidden_channels=HIDDEN, random_state=0, n_jobs=THREADS).fit(graphs)
    vectors = grnf.transform(graphs)
    with tempfile.TemporaryDirectory() as temporary, Authors(folder, graphs, temporary) as authors:
        ours, theirs = [], []
        for _ in range(ROUNDS):
            theirs.append(authors.seconds())
            grnf.transform(graphs)  # not timed: the caches hold data of the other process
            ours += timed(lambda: grnf.transform(graphs))
        shape = authors.shape
    if shape != list(vectors.shape):
        raise RuntimeError(f"{name}: the authors' vectors have shape {shape}, those of GRNF {vectors.shape}")
    seconds = {"ours": float(np.median(ours)), "authors": float(np.median(theirs))}
    return {
        "seconds": seconds,
        "times_faster": seconds["authors"] / seconds["ours"],
        "times_faster_by_the_fastest": min(theirs) / min(ours),  # less disturbed by other load
        "rounds": ROUNDS,
        "calls": {"ours": len(ours), "authors": len(theirs)},
        "graphs": len(graphs),
    }


def timed(call):
    """Seconds of each of several calls in a row."""
    times, until = [], time.perf_counter() + SECONDS_A_ROUND
    while time.perf_counter() < until or len(times) < 3:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


class Authors:
    """The process with the authors' code: a line asks for one pass over the set, a line answers."""

    def __init__(self, folder, graphs, temporary):
        arrays = Path(temporary) / "graphs.npz"
        names = ("node_ptr", "edge_ptr", "edges", "node_attr", "edge_attr")
        np.savez(arrays, **{name: getattr(graphs, name) for name in names})
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--child", folder, str(arrays)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # threads that wait must not take a core from GRNF, or from each other
            env=os.environ | {"OMP_NUM_THREADS": str(THREADS), "OMP_WAIT_POLICY": "PASSIVE"},
        )
        self.shape = None

    def __enter__(self):
        self.seconds()  # the first pass is not timed
        return self

    def seconds(self):
        self.process.stdin.write("pass\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the authors' code ended with status {self.process.wait()}")
        answer = json.loads(line)
        self.shape = answer["shape"]
        return answer["seconds"]

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def child(folder, arrays):
    import warnings

    import torch

    warnings.simplefilter("ignore")
    stand_in = ModuleType("torch_scatter")
    stand_in.scatter_add = scatter_add
    sys.modules["torch_scatter"] = stand_in
    sys.path.insert(0, folder)
    from grnf.torch import GRNF  # theirs

    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    graphs = np.load(arrays)
    batches = list(batches_of(graphs, torch))
    layer = GRNF(
        M,
        in_node_channels=graphs["node_attr"].shape[1],
        in_edge_channels=graphs["edge_attr"].shape[1],
        hidden_features=HIDDEN,
        activation=torch.tanh,
        order_2_prc=1 / 3,
    )
    for _ in sys.stdin:
        with torch.no_grad():
            start = time.perf_counter()
            Z = torch.cat([layer(batch) for batch in batches])
            seconds = time.perf_counter() - start
        print(json.dumps({"seconds": seconds, "shape": list(Z.shape)}), flush=True)


def scatter_add(src, index, dim=0, dim_size=None):
    """Stand in for the function of torch_scatter, along the first axis."""
    n = int(index.max()) + 1 if dim_size is None else dim_size
    return src.new_zeros((n, *src.shape[1:])).index_add_(dim, index, src)


def batches_of(graphs, torch):
    """Batches as PyTorch Geometric would make them: arcs in both directions, nodes numbered through."""
    node_ptr, edge_ptr, edges = graphs["node_ptr"], graphs["edge_ptr"], graphs["edges"]
    sizes = np.diff(node_ptr)
    pairs, first = 0, 0
    bounds = []
    for graph, n in enumerate(sizes):
        if pairs and pairs + n * n > PAIRS:
            bounds.append((first, graph))
            pairs, first = 0, graph
        pairs += n * n
    bounds.append((first, len(sizes)))
    for first, last in bounds:
        nodes, some = slice(node_ptr[first], node_ptr[last]), slice(edge_ptr[first], edge_ptr[last])
        batch = np.repeat(np.arange(last - first), sizes[first:last])
        graph_of_edge = np.repeat(np.arange(first, last), np.diff(edge_ptr[first : last + 1]))
        ends = edges[some] + (node_ptr[graph_of_edge] - node_ptr[first])[:, None]
        back = ends[:, 0] != ends[:, 1]
        arcs = np.concatenate([ends, ends[back, ::-1]])
        edge_attr = graphs["edge_attr"][some]
        yield SimpleNamespace(
            x=torch.from_numpy(graphs["node_attr"][nodes]).float(),
            edge_index=torch.from_numpy(arcs.T.astype(np.int64)),
            edge_attr=torch.from_numpy(np.concatenate([edge_attr, edge_attr[back]])).float(),
            batch=torch.from_numpy(batch),
        )


if __name__ == "__main__":
    if "--child" in sys.argv:
        child(*sys.argv[2:])
    else:
        for set_name, row in bench_authors().items():
            print(f"{set_name}: {row}")
