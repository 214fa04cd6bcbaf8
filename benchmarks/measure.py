"""Shared by the benchmarks: real data, medians in turns, peak memory, errors, stored results."""

import ctypes
import gc
import json
import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from grnf import GRNF, Graph
from grnf.io import read_tu

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
DATA = Path(os.environ.get("GRNF_SHARED", Path(__file__).parents[2] / "shared")) / "data"
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def load(name):
    """Graphs of a TU set, with the node labels only where the paper uses only them."""
    return read_tu(DATA / "tu" / f"{name}.zip", node_attributes=name != "PROTEINS_full").graphs


def sparse_graph(n, attributes, seed=0):
    """A random graph with 4 edges per node."""
    generator = np.random.default_rng(seed)
    edges = generator.integers(0, n, size=(4 * n, 2))
    return Graph(n, edges, generator.normal(size=(n, attributes)) if attributes else None)


def error_against_definition(graphs, orders=None, n_graphs=4, n_features=12):
    """Largest relative error of float32 vectors on a few small graphs, against psi by definition.

    Order 3 by definition takes n^5 numbers, so with `orders` the smallest graphs with enough nodes are used.
    """
    from grnf.features import psi_of_graph
    from grnf.law import ParameterLaw

    by_size = np.argsort(graphs.sizes, kind="stable")
    if orders is None:
        few = by_size[len(graphs) // 8 :: len(graphs) // 8]
    else:
        few = by_size[graphs.sizes[by_size] >= max(orders)]
    small = graphs.take(few[:n_graphs])
    orders = orders or {1: 2 / 3, 2: 1 / 3}
    Z = GRNF(n_features, orders=orders, center=False, random_state=0).fit_transform(small)
    draw = ParameterLaw(orders).sample(n_features, channels=graphs.channels().all, seed=0)
    exact = np.array([psi_of_graph(graph, draw, normalize=True) for graph in small])
    return float(np.abs(Z * np.sqrt(n_features) - exact).max() / np.abs(exact).max())


def compare(repeats=5, clock=time.perf_counter, **calls):
    """Median seconds of each call, the calls taking turns so that a noisy moment hits all of them."""
    times = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(repeats):
        for name, call in calls.items():
            start = clock()
            call()
            times[name].append(clock() - start)
    return {name: float(np.median(values)) for name, values in times.items()}


def peak_memory(call):
    """Megabytes that a call takes at its peak beyond what was there, sampled every few milliseconds."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return None

    def resident():
        return int(statm.read_text().split()[1]) * PAGE / 1e6

    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)  # give back what was freed, or it would hide new use
    before, peak, done = resident(), [0.0], threading.Event()

    def watch():
        while not done.wait(0.004):
            peak[0] = max(peak[0], resident() - before)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        call()
    finally:
        done.set()
        thread.join()
    return round(max(peak[0], resident() - before), 1)


def exponent(sizes, seconds):
    """Slope of log(seconds) over log(sizes)."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def stored(name):
    """The stored result of a benchmark."""
    return json.loads((RESULTS / f"{name}.json").read_text())


def store(name, result):
    """Write the result of a benchmark, with the version and the commit that it was made with."""
    sys.path.append(str(ROOT))
    from experiments.study import made_with  # not at the top: `before_after` runs this file with old versions

    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({"made_with": made_with(), **result}, indent=2)
    (RESULTS / f"{name}.json").write_text(text + "\n")
