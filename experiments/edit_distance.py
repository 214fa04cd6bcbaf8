"""Graph edit distance: equality with networkx, bounds, speed, and how distances of vectors rank with it."""

import signal
import time
from contextlib import suppress
from importlib.util import find_spec

import numpy as np
from scipy import optimize
from scipy.stats import spearmanr

from experiments.sets import load_graphs
from experiments.study import Table
from grnf import GRNF, JointFeatures, compare

with suppress(ImportError):
    import networkx as nx

TITLE = "Graph edit distance: bounds, exact search, other distances"
ABOUT = (
    "Random graphs have 3 labels of nodes and 2 of edges. HiGHS computes their edit distance as an integer "
    "linear program. networkx searches for a smaller cost than that of grnf, within a limit of CPU time. The "
    "first result of networkx is that of its bipartite assignment (optimize_graph_edit_distance)."
)
PLACES = ("edit_distance",)

PATIENCE = 12.0
"""CPU seconds that networkx gets for a pair."""

SOLVERS = ("spectral matching", "reweighted random walks", "random walks, then projected fixed point")
"""Published heuristics for quadratic assignment that pygmtools has."""

BUDGET = 85.0
"""CPU seconds after which networkx gets no further pairs. Pairs of small graphs come first."""


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


def limited(function, seconds):
    """Return the result of a function and its CPU time; TimeoutError as the result if it takes longer."""

    def stop(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    start = time.process_time()
    try:
        result = function()
    except TimeoutError:
        result = TimeoutError
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return result, time.process_time() - start


def least_cost(g, h):
    """Return the edit distance by HiGHS: formulation F2 of Lerouge and others (2017), a linear program."""
    edges, others = list(g.edges), list(h.edges)
    gains = [float(g.nodes[i] != h.nodes[x]) - 2 for i in g for x in h]
    gains += [float(g.edges[edge] != h.edges[other]) - 2 for edge in edges for other in others]
    node = np.arange(len(g) * len(h)).reshape(len(g), len(h))
    edge = node.size + np.arange(len(edges) * len(others)).reshape(len(edges), len(others))
    rows = [(group, []) for group in (*node, *node.T)]
    for a, ends in enumerate(edges):
        at = {x: [edge[a, b] for b, other in enumerate(others) if x in other] for x in h}
        rows += [(at[x], [node[end, x] for end in ends]) for x in h]
    for b, ends in enumerate(others):
        at = {i: [edge[a, b] for a, own in enumerate(edges) if i in own] for i in g}
        rows += [(at[i], [node[i, end] for end in ends]) for i in g]
    A = np.zeros((len(rows), len(gains)))
    for row, (plus, minus) in zip(A, rows, strict=True):
        row[plus], row[minus] = 1, -1
    most = [0 if minus else 1 for _, minus in rows]
    constraints = optimize.LinearConstraint(A, ub=most)
    found = optimize.milp(gains, integrality=np.ones(len(gains)), bounds=(0, 1), constraints=constraints)
    return len(g) + len(h) + len(edges) + len(others) + found.fun


def against_others(g, h):
    """Compare the result of grnf for one pair with HiGHS, and its quick bounds with both."""
    result, own = clocked(lambda: compare(g, h, time_limit=60))
    quick = compare(g, h, time_limit=0)
    least, seconds = clocked(lambda: least_cost(g, h))
    return {
        "cost": result.upper_bound,
        "equal": result.exact and abs(least - result.upper_bound) < 1e-6,
        "bounds_hold": quick.lower_bound <= result.upper_bound <= quick.upper_bound,
        "bounds_meet": quick.exact,
        "seconds_grnf": own,
        "seconds_highs": seconds,
    }


def by_networkx(g, h, cost, seconds):
    """Search for a smaller cost by networkx: whether the search ended, and whether there is none."""
    given = {**matches(), "upper_bound": cost - 0.5}
    below, taken = limited(lambda: nx.graph_edit_distance(g, h, **given), seconds)
    return {"ended": below is not TimeoutError, "smallest": below is None, "seconds": taken}


def random_pairs(cached, seed, count, smallest, largest):
    """Count pairs in which other programs confirm the result of grnf, and in which quick bounds hold."""
    rng = np.random.default_rng(seed)
    pairs = [[labeled(rng, int(rng.integers(smallest, largest + 1))) for _ in range(2)] for _ in range(count)]
    name = f"{smallest} to {largest} nodes"
    found = [
        cached(f"{name}, pair {at}", lambda pair=pair: against_others(*pair)) for at, pair in enumerate(pairs)
    ]
    searches, spent = [], 0.0
    for at in sorted(range(count), key=lambda at: len(pairs[at][0]) * len(pairs[at][1])):
        if spent < BUDGET:
            searches.append(
                cached(
                    f"{name}, pair {at}, networkx",
                    lambda at=at: by_networkx(*pairs[at], found[at]["cost"], PATIENCE),
                )
            )
            spent += searches[-1]["seconds"]
    keys = ("equal", "bounds_hold", "bounds_meet", "seconds_grnf", "seconds_highs")
    return {
        "nodes": [smallest, largest],
        "pairs": count,
        "networkx_searches": len(searches),
        "networkx_finished": sum(search["ended"] for search in searches),
        "networkx_confirmed": sum(search["smallest"] for search in searches),
        "seconds_networkx": spent,
        **{key: sum(pair[key] for pair in found) for key in keys},
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
    rows = []
    for g, h in pairs_of(study, name, pairs):
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


def pairs_of(study, name, count):
    """Yield pairs of graphs of a dataset, the same ones for each measurement."""
    graphs = [graph for graph in load_graphs(name, study)[0] if 0 < graph.n_nodes <= 60]
    rng = np.random.default_rng(study.seed)
    for _ in range(count):
        yield [graphs[i] for i in rng.choice(len(graphs), 2, replace=False)]


def quadratic_assignment(study, name, pairs):
    """Return how far the costs of the solvers of pygmtools are above the best of grnf, and their seconds."""
    from pygmtools import hungarian, ipfp, rrwm, sm

    from grnf.edits.edit_problem import edit_problem
    from grnf.io import to_raw

    rows = []
    for g, h in pairs_of(study, name, pairs):
        best = max(compare(g, h, time_limit=0.1).upper_bound, 1)
        dense = edit_problem(*map(to_raw, sorted((g, h), key=lambda graph: graph.n_nodes))).dense()
        n, m = dense.node_gain.shape
        # with unit costs a correspondence of all nodes of the smaller graph is among the cheapest
        affinity = -dense.edge_gain[dense.first, dense.second[..., np.newaxis, np.newaxis]] / 2
        affinity = affinity.transpose(0, 2, 1, 3).reshape(n * m, n * m)  # (x, i), (y, j): i, j of the smaller
        affinity += np.diag(-dense.node_gain.T.ravel())
        given = {"n1": np.array([n]), "n2": np.array([m]), "backend": "numpy"}
        K = affinity[np.newaxis]
        soft = [clocked(lambda K=K, given=given, solve=solve: solve(K, **given)) for solve in (sm, rrwm)]
        walks, taken = soft[1]
        last, more = clocked(lambda K=K, given=given, x0=walks: ipfp(K, **given, x0=x0))
        soft.append((last, taken + more))
        for one, seconds in soft:
            x = hungarian(one[0], backend="numpy").T.ravel()
            rows.append([(dense.total - x @ affinity @ x) / best - 1, seconds])
    means = np.array(rows).reshape(pairs, len(SOLVERS), 2).mean(axis=0).tolist()
    return {
        solver: dict(zip(("excess", "seconds"), mean, strict=True))
        for solver, mean in zip(SOLVERS, means, strict=True)
    }


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
    counts = dict(zip(("small", "medium", "speed", "gaps", "ranks"), sizes(study), strict=True))
    return {**counts, "networkx: CPU s per pair, CPU s in all": [PATIENCE, BUDGET]}


def run(study):
    compare(nx.path_graph(3), nx.cycle_graph(5), time_limit=1)  # compiles
    names = ("AIDS", "MUTAG")
    small, medium, fast, wide, ranked = sizes(study)

    def cached(part, compute):
        study.tell(part)
        what = {"experiment": "edit_distance", "part": part, "seed": study.seed, "sizes": sizes(study)}
        return study.cached(what, compute)

    return {
        "small": random_pairs(cached, study.seed, small, 1, 7),
        "medium": random_pairs(cached, study.seed + 1, medium, 8, 10),
        "speed": cached("speed", lambda: speed(study.seed, fast)),
        "gaps": {name: cached(name, lambda name=name: gaps(study, name, wide)) for name in names},
        "pygmtools": {
            name: cached(
                f"pygmtools, {name}", lambda name=name: quadratic_assignment(study, name, wide // 10)
            )
            for name in names
            if find_spec("pygmtools")
        },
        "ranks": cached("ranks", lambda: ranks(study.seed, ranked)),
    }


def tables(results):
    rows = [
        [
            "{} to {}".format(*part["nodes"]),
            f"{part['pairs']:,}",
            f"{part['equal']:,}",
            f"{part['networkx_confirmed']:,} of {part['networkx_searches']:,}",
            f"{part['bounds_hold']:,}",
            f"{part['bounds_meet']:,}",
            f"{part['seconds_grnf'] / part['pairs']:.3f}",
            f"{part['seconds_highs'] / part['pairs']:.3f}",
            f"{part['seconds_networkx'] / part['networkx_searches']:.3f}",
        ]
        for part in (results["small"], results["medium"])
    ]
    header = ["nodes", "pairs", "equal to HiGHS", "confirmed by networkx"]
    header += ["quick bounds hold", "quick bounds meet"]
    header += [f"CPU s per pair, {name}" for name in ("grnf", "HiGHS", "networkx")]
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
    others = results["pygmtools"]
    solvers = [
        [solver]
        + [
            f"{100 * part[solver]['excess']:.0f} %, {1e3 * part[solver]['seconds']:.1f} ms"
            for part in others.values()
        ]
        for solver in SOLVERS
    ]
    ranked = [[name, f"{value:.2f}"] for name, value in results["ranks"].items()]
    return [
        Table("Random graphs with labels", header, rows, note),
        Table("Pairs of molecules", names, wide, "A gap is relative to the upper bound."),
        *([Table("heuristic of pygmtools: above the best, CPU", ["", *others], solvers)] if others else []),
        Table("Rank correlation with the edit distance, 5 to 8 nodes", ["distance", "Spearman"], ranked),
    ]
