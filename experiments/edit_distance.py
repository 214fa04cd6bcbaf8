"""Graph edit distance: equality with networkx, bounds, speed, and how distances of vectors rank with it."""

import time
from contextlib import suppress

import numpy as np
from scipy.stats import spearmanr

from experiments.sets import load_graphs
from experiments.study import Table
from grnf import GRNF, JointFeatures, compare

with suppress(ImportError):
    import networkx as nx

TITLE = "Graph edit distance: bounds, exact search, other distances"
ABOUT = (
    "Random graphs have 3 labels of nodes and 2 of edges. networkx searches below the cost that grnf found, "
    "so it returns a smaller cost if there is one. The first result of networkx is that of its bipartite "
    "assignment (optimize_graph_edit_distance)."
)
PLACES = ("edit_distance",)

PATIENCE = 3.0
"""Seconds that networkx gets for a pair."""


def labeled(rng, n, p=0.4):
    graph = nx.gnp_random_graph(n, p, seed=int(rng.integers(2**31)))
    for node in graph:
        graph.nodes[node]["label"] = "abc"[rng.integers(3)]
    for edge in graph.edges:
        graph.edges[edge]["kind"] = "xy"[rng.integers(2)]
    return graph


def matches():
    equal = nx.algorithms.isomorphism.categorical_node_match("label", None)
    return {"node_match": equal, "edge_match": lambda one, other: one == other}


def clocked(function):
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


def against_networkx(seed, pairs, smallest, largest):
    """Count pairs in which grnf and networkx agree, and in which quick bounds hold."""
    rng = np.random.default_rng(seed)
    equal = finished = bracketed = met = 0
    own = theirs = 0.0
    for _ in range(pairs):
        g, h = (labeled(rng, int(rng.integers(smallest, largest + 1))) for _ in range(2))
        result, seconds = clocked(lambda g=g, h=h: compare(g, h, time_limit=60))
        own += seconds
        limit = {"upper_bound": result.upper_bound, "timeout": PATIENCE}
        start = time.monotonic()
        found, seconds = clocked(
            lambda g=g, h=h, limit=limit: nx.graph_edit_distance(g, h, **matches(), **limit)
        )
        theirs += seconds
        in_time = time.monotonic() - start < PATIENCE
        finished += in_time
        equal += in_time and result.exact and found == result.upper_bound
        quick = compare(g, h, time_limit=0)
        bracketed += quick.lower_bound <= result.upper_bound <= quick.upper_bound
        met += quick.exact
    return {
        "nodes": [smallest, largest],
        "pairs": pairs,
        "networkx_finished": finished,
        "equal": equal,
        "bounds_hold": bracketed,
        "bounds_meet": met,
        "seconds_grnf": own,
        "seconds_networkx": theirs,
    }


def speed(seed, pairs):
    """Return milliseconds of both bounds for graphs of 30 nodes, and of exact search at 11 and 16 nodes."""
    from grnf.edits.branch_and_bound import solve
    from grnf.edits.edit_problem import edit_problem
    from grnf.io import to_raw

    rng = np.random.default_rng(seed)
    bounds, search = [], []
    for _ in range(pairs):
        g, h = (to_raw(labeled(rng, 30, float(rng.uniform(0.08, 0.3)))) for _ in range(2))
        bounds.append(1e3 * clocked(lambda g=g, h=h: solve(edit_problem(g, h), 0.0))[1])
        g, h = (nx.gnm_random_graph(n, 14, seed=int(rng.integers(1000)), directed=True) for n in (11, 16))
        result, seconds = clocked(lambda g=g, h=h: compare(g, h, time_limit=60))
        search.append(seconds if result.exact else np.inf)
    return {
        "bounds_ms_median": float(np.median(bounds)),
        "bounds_ms_99": float(np.quantile(bounds, 0.99)),
        "search_seconds_median": float(np.median(search)),
        "search_seconds_most": float(np.max(search)),
    }


def gaps(study, name, pairs):
    """Return mean gaps between bounds on pairs of a dataset, relative to the upper bound of grnf."""
    graphs = [graph for graph in load_graphs(name, study)[0] if 0 < graph.n_nodes <= 60]
    rng = np.random.default_rng(study.seed)
    rows = []
    for _ in range(pairs):
        g, h = (graphs[i] for i in rng.choice(len(graphs), 2, replace=False))
        quick, seconds = clocked(lambda g=g, h=h: compare(g, h, time_limit=0))
        longer = compare(g, h, time_limit=0.1)
        first, theirs = clocked(lambda g=g, h=h: first_of_networkx(g, h))
        best = max(longer.upper_bound, 1)
        rows.append(
            [
                (quick.upper_bound - quick.lower_bound) / max(quick.upper_bound, 1),
                (longer.upper_bound - longer.lower_bound) / best,
                longer.exact,
                quick.upper_bound / best - 1,
                first / best - 1,
                seconds,
                theirs,
            ]
        )
    names = (
        "gap_quick",
        "gap_search",
        "exact_share",
        "excess_quick",
        "excess_networkx",
        "seconds",
        "seconds_nx",
    )
    return dict(zip(names, np.mean(np.array(rows, float), axis=0).tolist(), strict=True))


def first_of_networkx(g, h):
    one, other = g.to_networkx(), h.to_networkx()

    def same(x, y):
        return {key: np.asarray(value).tolist() for key, value in x.items()} == {
            key: np.asarray(value).tolist() for key, value in y.items()
        }

    return next(nx.optimize_graph_edit_distance(one, other, node_match=same, edge_match=same))


def ranks(seed, pairs):
    """Return Spearman correlations with the edit distance over pairs of 5 to 8 nodes."""
    rng = np.random.default_rng(seed)
    graphs = [labeled(rng, int(rng.integers(5, 9))) for _ in range(2 * pairs)]
    left, right = graphs[:pairs], graphs[pairs:]
    results = [compare(g, h, time_limit=60) for g, h in zip(left, right, strict=True)]
    quick = [compare(g, h, time_limit=0) for g, h in zip(left, right, strict=True)]
    true = [result.upper_bound for result in results]
    grnf = GRNF(4096, random_state=0).fit(graphs)
    Z = grnf.transform(graphs)
    joint = JointFeatures(random_state=0).fit(graphs).transform(graphs)
    found = {
        "lower bound": [result.lower_bound for result in quick],
        "upper bound": [result.upper_bound for result in quick],
        "d_P (M = 4,096)": np.linalg.norm(Z[:pairs] - Z[pairs:], axis=1),
        "exact d": [result.distance.value for result in results],
        "joint vectors": np.linalg.norm(joint[:pairs] - joint[pairs:], axis=1),
    }
    assert all(result.exact for result in results)
    return {name: float(spearmanr(values, true).statistic) for name, values in found.items()}


def sizes(study):
    return (10, 4, 5, 10, 20) if study.quick else (1000, 200, 50, 1000, 300)


def settings(study):
    return dict(zip(("small", "medium", "speed", "gaps", "ranks"), sizes(study), strict=True))


def run(study):
    compare(nx.path_graph(3), nx.cycle_graph(5), time_limit=1)  # compiles
    small, medium, fast, wide, ranked = sizes(study)

    def cached(part, compute):
        study.tell(part)
        what = {"experiment": "edit_distance", "part": part, "seed": study.seed, "sizes": sizes(study)}
        return study.cached(what, compute)

    return {
        "small": cached("small", lambda: against_networkx(study.seed, small, 1, 7)),
        "medium": cached("medium", lambda: against_networkx(study.seed + 1, medium, 8, 10)),
        "speed": cached("speed", lambda: speed(study.seed, fast)),
        "gaps": {name: cached(name, lambda name=name: gaps(study, name, wide)) for name in ("AIDS", "MUTAG")},
        "ranks": cached("ranks", lambda: ranks(study.seed, ranked)),
    }


def tables(results):
    rows = [
        [
            "{} to {}".format(*part["nodes"]),
            f"{part['pairs']:,}",
            f"{part['equal']:,} of {part['networkx_finished']:,}",
            f"{part['bounds_hold']:,}",
            f"{part['bounds_meet']:,}",
            f"{part['seconds_grnf'] / part['pairs']:.3f}",
            f"{part['seconds_networkx'] / part['pairs']:.3f}",
        ]
        for part in (results["small"], results["medium"])
    ]
    header = ["nodes", "pairs", "equal to networkx", "quick bounds hold", "quick bounds meet"]
    header += ["CPU s per pair, grnf", "CPU s per pair, networkx below that cost"]
    fast = results["speed"]
    note = (
        f"Both bounds for 30 nodes: median {fast['bounds_ms_median']:.1f} ms, "
        f"99 % {fast['bounds_ms_99']:.1f} ms of CPU. Exact search for directed graphs of 11 and 16 nodes "
        "with 14 edges each (the sizes of networkx issue 6229): "
        f"median {fast['search_seconds_median']:.2f} s, at most {fast['search_seconds_most']:.2f} s."
    )
    wide = [
        [
            name,
            *(f"{100 * part[key]:.0f} %" for key in ("gap_quick", "gap_search", "exact_share")),
            *(f"{100 * part[key]:.0f} %" for key in ("excess_quick", "excess_networkx")),
            *(f"{1e3 * part[key]:.1f}" for key in ("seconds", "seconds_nx")),
        ]
        for name, part in results["gaps"].items()
    ]
    names = ["dataset", "gap of quick bounds", "gap after 0.1 s", "exact after 0.1 s"]
    names += [
        "upper bound above the best",
        "first result of networkx above the best",
        "ms, grnf",
        "ms, networkx",
    ]
    ranked = [[name, f"{value:.2f}"] for name, value in results["ranks"].items()]
    return [
        Table("Random graphs with labels", header, rows, note),
        Table("Pairs of molecules", names, wide, "A gap is relative to the upper bound."),
        Table("Rank correlation with the edit distance, 5 to 8 nodes", ["distance", "Spearman"], ranked),
    ]
