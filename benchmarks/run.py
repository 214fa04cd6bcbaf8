"""`make bench`: every claim about speed and memory, as ratios inside one run; results as JSON and a table.

Each benchmark runs in a process of its own: python benchmarks/run.py --only NAME runs one of them.
"""

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parent))

import bare
import measure
import straightforward

from grnf import GRNF, GraphBatch
from grnf.activations import ACTIVATIONS
from grnf.engine import Engine, costs
from grnf.law import ParameterLaw

SETS = ("NCI1", "ENZYMES", "IMDB-BINARY", "COLLAB")
M = 512
RELU = ACTIVATIONS["relu"]


def fitted(graphs, **settings):
    return GRNF(M, random_state=0, **settings).fit(graphs)


def draw_for(graphs, orders=None):
    law = ParameterLaw(orders or {1: 2 / 3, 2: 1 / 3})
    return law.sample(M, channels=graphs.channels().all, seed=0)


def memory_and_error(grnf, graphs, orders=None):
    """What is listed with every time: peak memory of the call, and the error of its numbers."""
    return {
        "peak_memory_mb": measure.peak_memory(lambda: grnf.transform(graphs)),
        "error_against_definition": measure.error_against_definition(graphs, orders),
    }


def bench_bound():
    """Against the arithmetic bound, node by node and with equal nodes grouped, one thread."""
    rows = {}
    for name in SETS:
        graphs = measure.load(name)
        draw = draw_for(graphs)
        H1 = 4 * M
        H2 = 4 * int((draw.orders == 2).sum())
        columns = graphs.node_width + 2 * (1 + graphs.edge_width)
        values = np.count_nonzero(graphs.node_attr) + graphs.node_ptr[-1]  # attributes and the degree
        density = values / (graphs.node_ptr[-1] * columns)
        single = fitted(graphs)
        plain = Engine(RELU, "indicator", True, True, np.float32, group=False)
        grouping = Engine(RELU, "indicator", True, True, np.float32, group=True)
        sizes = graphs.sizes
        single.transform(graphs.take(np.arange(8)))
        beside = memory_and_error(single, graphs)
        seconds = measure.compare(
            repeats=3 if name == "COLLAB" else 7,
            products=lambda: bare.products(graphs.node_ptr[-1], columns, H1 + 2 * H2, density),
            pairs=lambda: bare.pair_terms(sizes, H2),
            node_by_node=lambda: plain.sums(graphs, draw),
            grouped=lambda: grouping.sums(graphs, draw),
            transform=lambda: single.transform(graphs),
        )
        bound = seconds["products"] + seconds["pairs"]
        rows[name] = {
            "seconds": seconds,
            "node_by_node_over_bound": seconds["node_by_node"] / bound,
            "grouped_over_bound": seconds["grouped"] / bound,
            "gain_of_grouping": seconds["node_by_node"] / seconds["grouped"],
            "graphs_per_second": len(graphs) / seconds["transform"],
            "vectors_mb": len(graphs) * M * 4 / 1e6,
            **beside,
        }
    return rows


def bench_afternoon():
    """Against a straightforward dense implementation of the same definition, all cores for both.

    `GRNF` is timed several times in a row, since the threads of BLAS keep a core busy for a while after the
    dense products.
    """
    rows, in_a_row = {}, 20
    for name in ("NCI1", "ENZYMES"):
        graphs = measure.load(name)
        some = graphs.take(
            np.random.default_rng(0).permutation(len(graphs))[: 300 if name == "NCI1" else 200]
        )
        draw = draw_for(graphs)
        tensors = [graph.tensor().astype(np.float32) for graph in some]
        many = fitted(graphs, n_jobs=-1)
        exact = straightforward.embed(tensors, draw)
        Z = fitted(graphs, center=False).transform(some) * np.sqrt(M)
        seconds = measure.compare(
            repeats=7,
            straightforward=lambda: straightforward.embed(tensors, draw),
            transform=lambda: [many.transform(graphs) for _ in range(in_a_row)],
        )
        slow = seconds["straightforward"] / len(some)
        fast = seconds["transform"] / (in_a_row * len(graphs))
        rows[name] = {
            "graphs_timed": {"straightforward": len(some), "transform": in_a_row * len(graphs)},
            "seconds_per_graph": {"straightforward": slow, "transform": fast},
            "times_faster": slow / fast,
            "largest_difference": float(np.abs(Z - exact).max()),
            **memory_and_error(many, graphs),
        }
    return rows


def bench_growth_nodes():
    """One sparse graph of average degree 8: time and memory against n, with and without attributes."""
    rows = {}
    sizes = [10**3, 10**4, 10**5, 10**6]
    for attributes in (0, 2):
        seconds, memory = [], []
        GRNF(64, random_state=0).fit_transform([measure.sparse_graph(1000, attributes)])
        for n in sizes:
            batch = GraphBatch.from_graphs([measure.sparse_graph(n, attributes)])
            grnf = GRNF(64, random_state=0).fit(batch)
            memory.append(measure.peak_memory(lambda: grnf.transform(batch)))
            times = measure.compare(repeats=5 if n < 10**6 else 2, it=lambda: grnf.transform(batch))
            seconds.append(times["it"])
        rows[f"{attributes} attributes"] = {
            "nodes": sizes,
            "components": 64,
            "seconds": seconds,
            "peak_memory_mb": memory,
            "exponent_from_10^4": measure.exponent(sizes[1:], seconds[1:]),
            "error_against_pairs_in_double": error_of_sorting(attributes),
        }
    return rows


def error_of_sorting(attributes):
    """Relative error of float32 sums by sorting, against all pairs in double: psi is for small graphs.

    The loop over pairs is tested against the definition on small graphs.
    """
    batch = GraphBatch.from_graphs([measure.sparse_graph(1000, attributes)])
    draw = ParameterLaw({2: 1.0}).sample(64, channels=1 + attributes, seed=0)
    single, double = (
        Engine(RELU, "indicator", True, True, dtype, group=False) for dtype in (np.float32, np.float64)
    )
    found = single.sums(batch, draw)  # 1,000 classes: sorted
    usual, costs.SORTED_FROM = costs.SORTED_FROM, 10**9
    exact = double.sums(batch, draw)
    costs.SORTED_FROM = usual
    return float(np.abs(found - exact).max() / np.abs(exact).max())


def growth(cases, make):
    """Seconds, and memory in addition to the vectors, for each case; `make` gives transformer and graphs.

    The draw of the features is part of it: a transformer keeps them for the next call if they are few.
    """
    seconds, memory = [], []
    for case in cases:
        grnf, graphs = make(case)
        grnf.transform(graphs.take(np.arange(2)))
        vectors = len(graphs) * grnf.n_components_ * 4 / 1e6
        memory.append(round(measure.peak_memory(lambda: grnf.transform(graphs)) - vectors, 1))
        seconds.append(measure.compare(repeats=3, it=lambda: grnf.fit(graphs).transform(graphs))["it"])
    return {
        "cases": cases,
        "seconds": seconds,
        "peak_memory_mb_beside_vectors": memory,
        "exponent": measure.exponent(cases, seconds),
    }


def bench_growth_features():
    """Time and memory against M, and against the number of graphs; max_memory is 200 MB."""
    graphs = measure.load("ENZYMES")
    some = graphs.take(np.arange(100))
    few = {"random_state": 0, "max_memory": "200MB"}
    error = {"error_against_definition": measure.error_against_definition(some)}
    return {
        "M": growth([512, 2048, 8192, 32768], lambda m: (GRNF(m, **few).fit(some), some)) | error,
        "graphs": growth(
            [600, 2400, 9600, 38400],
            lambda n: (GRNF(128, **few).fit(graphs), graphs.take(np.arange(n) % len(graphs))),
        )
        | error,
    }


def bench_workers():
    """Two workers against one, and the bare loop over pairs in two threads, for what the cores give."""
    rows = {}
    for name in ("NCI1", "ENZYMES", "IMDB-BINARY"):
        graphs = measure.load(name)
        if name != "NCI1":
            graphs = graphs.take(np.arange(4000) % len(graphs))
        one, two = fitted(graphs, n_jobs=1), fitted(graphs, n_jobs=2)
        halves = [np.full(500, 24), np.full(500, 24)]
        seconds = measure.compare(
            repeats=31 if name == "ENZYMES" else 151,  # about half a minute each
            one=lambda: one.transform(graphs),
            two=lambda: two.transform(graphs),
            bare_one=lambda: bare.in_threads(bare.pair_terms, [(np.concatenate(halves), 683)]),
            bare_two=lambda: bare.in_threads(bare.pair_terms, [(half, 683) for half in halves]),
        )
        rows[name] = {
            "seconds": seconds,
            "times_faster": seconds["one"] / seconds["two"],
            "bare_loop_times_faster": seconds["bare_one"] / seconds["bare_two"],
            **memory_and_error(two, graphs),
        }
    return rows


def bench_triples():
    """Order 3 node by node against the bare triple loop, one thread."""
    rows = {}
    for name in ("NCI1", "IMDB-BINARY"):
        graphs = measure.load(name)
        graphs = graphs.take(np.random.default_rng(0).permutation(len(graphs))[:200])
        orders = {3: 1.0}
        grnf = GRNF(64, orders=orders, random_state=0).fit(graphs)
        draw = ParameterLaw(orders).sample(64, channels=graphs.channels().all, seed=0)
        plain = Engine(RELU, "indicator", True, True, np.float32, group=False)
        sizes = graphs.sizes[graphs.sizes >= 3].astype(np.int64)
        channels = 64 * 4
        seconds = measure.compare(
            repeats=7,
            bare=lambda: bare.triple_terms(sizes, channels, 256),
            node_by_node=lambda: plain.sums(graphs, draw),
        )
        terms = float((sizes.astype(float) ** 3).sum()) * channels
        rows[name] = {
            "seconds": seconds,
            "node_by_node_over_bare_loop": seconds["node_by_node"] / seconds["bare"],
            "terms_per_second": {key: terms / value for key, value in seconds.items()},
            **memory_and_error(grnf, graphs, orders),
        }
    return rows


def bench_labels():
    """Many node labels: 20,000 graphs with 41,000 labels, and the time to draw one coefficient."""
    from grnf._utils.random import fill_normals
    from grnf.io import RawGraph

    generator = np.random.default_rng(0)
    labels = np.array([f"label {number}" for number in range(41_000)], dtype=object)
    graphs = []
    for _ in range(20_000):
        n = int(generator.integers(8, 25))
        edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
        graphs.append(RawGraph(n, edges, {"label": labels[generator.integers(0, len(labels), n)]}))
    start = time.perf_counter()
    Z = GRNF(M, random_state=0, n_jobs=2).fit_transform(graphs)
    seconds = time.perf_counter() - start
    out, keys = np.empty((16, 64, 512)), np.arange(64, dtype=np.uint64)
    times = measure.compare(draw=lambda: fill_normals(0, 1, np.arange(512), keys, out))
    return {
        "20,000 graphs, 41,000 labels": {"seconds": seconds, "graphs": len(Z), "labels": len(labels)},
        "drawing": {"ns_per_coefficient": 1e9 * times["draw"] / out.size},
    }


def bench_crossing():
    """Sizes at which sorting overtakes the loop over pairs (order 2, ReLU, no equal nodes)."""
    rows = {}
    law = ParameterLaw({2: 1.0})
    engine = Engine(RELU, "indicator", True, True, np.float32)
    draw = law.sample(128, channels=2, seed=0)
    for n in (64, 96, 128, 192, 256, 384, 512):
        batch = GraphBatch.from_graphs([measure.sparse_graph(n, 1, seed) for seed in range(20)])
        seconds = {}

        def with_switch(value, batch=batch):
            costs.SORTED_FROM = value
            engine.sums(batch, draw)

        seconds = measure.compare(
            repeats=5,
            loop=lambda: with_switch(10**9),
            sorted=lambda: with_switch(0),
        )
        rows[str(n)] = {**seconds, "loop_over_sorted": seconds["loop"] / seconds["sorted"]}
    return rows


ELSEWHERE = {
    "authors": "GRNF and the authors' code (a folder in GRNF_AUTHORS) in turns, two threads each.",
    "first_call": "The first call on a new computer: with an empty compile cache, and with a warm one.",
    "converters": "From files, objects and SMILES to vectors, compared with the kernels alone.",
    "pairwise": "Distances between vectors of which many are equal, against distinct ones and scikit-learn.",
    "before_after": "The version in GRNF_BEFORE, a checkout, and this one taking turns.",
    "orders": "Orders 3 and 4, one thread: by types of tuples, tuple by tuple, compared with orders 1 and 2.",
    "exact": "Gram matrices of molecules without sampling, and by vectors of M = 512: CPU time, one thread.",
    "layer": "A training step on 128 ENZYMES graphs: layer, dense torch, GIN. CPU time, one thread.",
}
"""Benchmarks in files of their own, which are loaded for them alone."""

BENCHMARKS = {
    name.removeprefix("bench_"): function.__doc__
    for name, function in list(globals().items())
    if name.startswith("bench_")
} | ELSEWHERE
"""Name -> what it measures."""


def measured(name):
    """Run a benchmark and return its rows."""
    room = vars(importlib.import_module(name)) if name in ELSEWHERE else globals()
    return room[f"bench_{name}"]()


def machine():
    model = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.processor(),
    )
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=BENCHMARKS, help="run one benchmark in this process")
    arguments = parser.parse_args()
    if not measure.DATA.is_dir():
        sys.exit(f"the benchmarks need the TU sets in {measure.DATA}/tu (set GRNF_SHARED to its parent)")
    if arguments.only:
        if arguments.only != "afternoon":  # there dense numpy may use all cores
            threadpool_limits(1)
        result = {
            "benchmark": arguments.only,
            "what": BENCHMARKS[arguments.only],
            "command": f"python benchmarks/run.py --only {arguments.only}",
            "machine": machine(),
            "components": M,
            "rows": measured(arguments.only),
        }
        if result["rows"]:  # nothing where what it needs is not given
            measure.store(arguments.only, result)
        print(json.dumps(result["rows"], indent=1))
        return
    for name in BENCHMARKS:
        print(f"--- {name}: {BENCHMARKS[name]}", flush=True)
        subprocess.run([sys.executable, __file__, "--only", name], check=True)
    import table

    table.main()


if __name__ == "__main__":
    main()
