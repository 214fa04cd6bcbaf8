"""The benchmarks that time the kernels of grnf, before and after a change, taking turns in one run.

GRNF_BEFORE is a checkout of the version before. Each version runs in a process of its own, which waits for
the name of a task on its standard input and answers with the CPU seconds that it took: a noisy moment hits
both.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
ROUNDS = 9
WORKER = "--worker"


def tasks():
    """The tasks by name; only names that both versions have are used."""
    import measure

    from grnf import GRNF, GraphBatch

    def transform(name, some=None, **settings):
        graphs = measure.load(name)
        if some is not None:
            graphs = graphs.take(np.random.default_rng(0).permutation(len(graphs))[:some])
        grnf = GRNF(random_state=0, stratified=True, **settings).fit(graphs)
        return lambda: grnf.transform(graphs)

    def sparse(n, attributes):
        batch = GraphBatch.from_graphs([measure.sparse_graph(n, attributes)])
        grnf = GRNF(64, stratified=True, random_state=0).fit(batch)  # as many features of order 2
        return lambda: grnf.transform(batch)

    found = {
        f"{name}, orders 1 and 2": lambda name=name: transform(name)
        for name in ("NCI1", "ENZYMES", "IMDB-BINARY")
    }
    found["COLLAB, orders 1 and 2"] = lambda: transform("COLLAB", 1500)
    found["NCI1, 2 threads"] = lambda: transform("NCI1", n_jobs=2)
    found["ENZYMES, tanh"] = lambda: transform("ENZYMES", 100, hidden_activation="tanh")
    found["ENZYMES, 16 heads"] = lambda: transform("ENZYMES", heads=16)
    for name in ("NCI1", "IMDB-BINARY"):
        found[f"{name}, order 3"] = lambda name=name: transform(name, 200, n_components=64, orders={3: 1.0})
    for name, some in (("NCI1", None), ("PROTEINS_full", 100), ("IMDB-BINARY", None)):
        found[f"{name}, order 3, {'all' if some is None else some} graphs"] = lambda name=name, some=some: (
            transform(name, some, n_components=64, orders={3: 1.0})
        )
    full = "IMDB-BINARY, order 3, all graphs, 512 features"
    found[full] = lambda: transform("IMDB-BINARY", orders={3: 1.0})
    found["NCI1, order 4"] = lambda: transform("NCI1", 6, n_components=2, orders={4: 1.0})
    for attributes in (0, 2):
        found[f"one sparse graph of 10^5 nodes, {attributes} attributes"] = lambda a=attributes: sparse(
            10**5, a
        )
    found |= {
        f"layer, {kind}": lambda kind=kind: training(kind)
        for kind in ("frozen", "trainable", "gradients of x")
    }
    return found


def training(kind):
    import layer
    import measure
    import torch

    from grnf import GRNF
    from grnf.nn import GRNFLayer

    torch.set_num_threads(1)
    graphs = measure.load("ENZYMES")
    graphs = graphs.take(np.random.default_rng(0).permutation(len(graphs))[: layer.N_GRAPHS])
    batch = layer.Batch.from_data_list([layer.as_data(graph) for graph in graphs])
    if kind == "gradients of x":
        batch.x.requires_grad_()
    grnf = GRNF(layer.M, random_state=0).fit(graphs)
    model = GRNFLayer.from_transformer(grnf, trainable=kind == "trainable")
    return layer.training_step(model, batch, layer.M, torch.randint(6, (layer.N_GRAPHS,)))


def serve():
    """Answer with CPU seconds to each name of a task."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    ready, known = {}, tasks()
    for line in sys.stdin:
        name = line.strip()
        if name not in ready:
            ready[name] = known[name]()
            ready[name]()
        start = time.process_time()
        ready[name]()
        print(time.process_time() - start, flush=True)


def bench_before_after():
    """CPU seconds of the version in GRNF_BEFORE and of this one, taking turns; ratios below 1 are gains."""
    before = os.environ.get("GRNF_BEFORE")
    if not before:
        print("left out: set GRNF_BEFORE to a checkout of the version before", flush=True)
        return {}
    sys.path.insert(0, str(HERE))
    servers = {}
    for version, root in (("before", Path(before)), ("after", HERE.parent)):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(root / "src"), str(HERE)))}
        servers[version] = subprocess.Popen(
            [sys.executable, __file__, WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            bufsize=1,
        )
    rows = {}
    for name in tasks():
        times = {version: [] for version in servers}
        for _ in range(ROUNDS):
            for version, server in servers.items():
                server.stdin.write(name + "\n")
                server.stdin.flush()
                times[version].append(float(server.stdout.readline()))
        seconds = {version: float(np.median(values)) for version, values in times.items()}
        ratios = np.array(times["after"]) / np.array(times["before"])
        rows[name] = {"seconds": seconds, "after_over_before": float(np.median(ratios))}
        print(name, rows[name], file=sys.stderr, flush=True)
    for server in servers.values():
        server.stdin.close()
        server.wait()
    return rows


if __name__ == "__main__":
    if WORKER in sys.argv:
        serve()
    else:
        print(json.dumps(bench_before_after(), indent=1))
