"""Orders 3 and 4 by types of tuples, compared with all tuples and with orders 1 and 2; regular graphs."""

import time

import measure
import networkx as nx
import numpy as np

from grnf import GRNF, Graph, GraphBatch
from grnf.engine import Engine
from grnf.law import ParameterLaw

RELU = 1


def some(name, count):
    graphs = measure.load(name)
    return graphs.take(np.random.default_rng(0).permutation(len(graphs))[:count])


def against_tuples(name, M):
    """Order 3 of all graphs by types, and of some of them tuple by tuple, node by node."""
    graphs, few, orders = measure.load(name), some(name, 60), {3: 1.0}
    draw = ParameterLaw(orders).sample(M, channels=graphs.channels().all, seed=0)
    by_types, by_tuples = (
        Engine(RELU, "indicator", True, True, np.float32, group=group) for group in (True, False)
    )
    seconds = measure.compare(
        repeats=15,
        by_types=lambda: by_types.sums(graphs, draw),
        tuple_by_tuple=lambda: by_tuples.sums(few, draw),
    )
    each = {
        "by_types": seconds["by_types"] / len(graphs),
        "tuple_by_tuple": seconds["tuple_by_tuple"] / len(few),
    }
    return {
        "components": M,
        "graphs": {"by_types": len(graphs), "tuple_by_tuple": len(few)},
        "seconds_per_graph": each,
        "times_faster": each["tuple_by_tuple"] / each["by_types"],
        "error_against_definition": measure.error_against_definition(graphs, orders, 2, 8),
    }


def against_low_orders():
    """All of NCI1, M = 512: orders 1, 2 and 3, a third each, compared with orders 1 and 2."""
    graphs = measure.load("NCI1")
    laws = {
        "half": {1: 1 / 2, 2: 1 / 2},
        "default": {1: 2 / 3, 2: 1 / 3},
        "three": dict.fromkeys((1, 2, 3), 1 / 3),
    }
    maps = {name: GRNF(512, orders=orders, random_state=0).fit(graphs) for name, orders in laws.items()}
    seconds = measure.compare(
        repeats=9, **{name: lambda grnf=grnf: grnf.transform(graphs) for name, grnf in maps.items()}
    )
    return {
        "seconds": seconds,
        "over_orders_1_and_2_half_each": seconds["three"] / seconds["half"],
        "over_orders_1_and_2_by_default": seconds["three"] / seconds["default"],
        "error_against_definition": measure.error_against_definition(graphs, laws["three"], 2, 8),
    }


def graphs_per_second(name, count, M, k):
    graphs = some(name, count)
    grnf = GRNF(M, orders={k: 1.0}, random_state=0).fit(graphs)
    seconds = measure.compare(repeats=5, transform=lambda: grnf.transform(graphs))["transform"]
    return {
        "components": M,
        "graphs": len(graphs),
        "graphs_per_second": len(graphs) / seconds,
        "error_against_definition": measure.error_against_definition(graphs, {k: 1.0}, 2, 8),
    }


def regular(n, k):
    """One 4-regular graph without attributes through order k, 64 features."""
    graphs = GraphBatch.from_graphs([Graph(n, list(nx.random_regular_graph(4, n, seed=0).edges))])
    grnf = GRNF(64, orders={k: 1.0}, random_state=0).fit(graphs)
    grnf.transform(graphs)
    start = time.perf_counter()
    grnf.transform(graphs)
    small = GraphBatch.from_graphs([Graph(7, list(nx.random_regular_graph(4, 7, seed=0).edges))])
    return {
        "seconds": time.perf_counter() - start,
        "error_against_definition": measure.error_against_definition(small, {k: 1.0}, 2, 8),
    }


def bench_orders():
    """Orders 3 and 4, one thread: by types of tuples, tuple by tuple, compared with orders 1 and 2."""
    rows = {
        f"{label}, order 3, M = {M}": against_tuples(name, M)
        for name, label in (("NCI1", "NCI1"), ("PROTEINS_full", "PROTEINS (labels)"), ("IMDB-BINARY",) * 2)
        for M in (64, 512)
    }
    rows["NCI1, orders 1, 2, 3"] = against_low_orders()
    rows["NCI1, order 4"] = graphs_per_second("NCI1", 400, 64, 4)
    rows["a 4-regular graph of 2,000 nodes, order 3"] = regular(2000, 3)
    rows["a 4-regular graph of 300 nodes, order 4"] = regular(300, 4)
    return rows
