"""The exact distance: cost of a pair, amortized over a Gram matrix, compared with vectors of GRNF."""

import time

import measure
import numpy as np

from grnf import GRNF
from grnf.metric import exact_kernel, pairwise_kernels

BOTH = {1: 2 / 3, 2: 1 / 3}
CASES = {
    "MUTAG, order 1": ("MUTAG", {1: 1.0}, None),
    "MUTAG, orders 1 and 2": ("MUTAG", BOTH, None),
    "NCI1, order 1": ("NCI1", {1: 1.0}, None),
    "NCI1, 300 graphs, orders 1 and 2": ("NCI1", BOTH, 300),
}
"""Name -> dataset, orders, number of graphs that are drawn from it."""


def cpu_seconds(call, repeats):
    """The median CPU time of some calls, after one on few graphs has compiled."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return float(np.median(times))


def bench_exact(components=512):
    """Gram matrices of molecules without sampling, and by vectors of M = 512: CPU time, one thread."""
    rows = {}
    for name, (dataset, orders, count) in CASES.items():
        graphs = measure.load(dataset)
        if count is not None:
            graphs = graphs.take(np.random.default_rng(0).permutation(len(graphs))[:count])
        few = graphs.take(np.arange(8))
        exact_kernel(few, orders=orders)
        grnf = GRNF(components, orders=orders, random_state=0).fit(graphs)
        pairwise_kernels(grnf.transform(few))
        n, repeats = len(graphs), 1 if len(graphs) > 1000 else 5
        seconds = {
            "exact": cpu_seconds(lambda g=graphs, p=orders: exact_kernel(g, orders=p), repeats),
            "vectors": cpu_seconds(lambda g=graphs, t=grnf: pairwise_kernels(t.transform(g)), repeats),
        }
        rows[name] = {
            "graphs": n,
            "orders": {str(k): p for k, p in orders.items()},
            "repeats": repeats,
            "seconds": seconds,
            "microseconds_per_pair": {key: 1e6 * value / (n * (n + 1) / 2) for key, value in seconds.items()},
        }
    return rows
