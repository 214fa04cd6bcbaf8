"""BREC: which of 400 pairs of graphs are told apart, by which orders and lifts, and at what price."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np

from experiments.figures import COLORS, new_figure
from experiments.study import Study, Table
from grnf import GRNF
from grnf._utils.random import page_generator
from grnf.datasets import all_graphs, load_brec
from grnf.graphs import Graph
from grnf.lifts import ClosedWalks, Distance, Individualize, Lift, Resistance
from grnf.typing import FloatArray

TITLE = "BREC: 400 pairs of graphs told apart"
ABOUT = (
    "None of the 400 pairs of BREC is isomorphic; most look alike to methods that compare neighbourhoods. "
    "16 features of one order, with random coefficients and nothing trained, in double precision. Told "
    "apart: the two vectors lie further apart than rounding explains (1e-12). False alarms: graphs whose "
    "vector changes when their nodes are renumbered. The second table follows BREC's own protocol: 32 "
    "relabelled copies of each graph, T^2 = D' pinv(S) D > 72.34 on the differences; pairs that fail the "
    "check on copies of one graph are unreliable, and are to be subtracted. Vectors that are equal to the "
    "last bit make S = 0 and T^2 = 0 there, for which its code offers S + 1e-7 I. The third table: pairs "
    "at distance 0 among all graphs of up to 7 nodes, and among all connected graphs of 8."
)

PLACES = ("brec",)

CATEGORIES = {
    "basic": "basic",
    "regular": "regular",
    "str": "strongly regular",
    "extension": "extension",
    "4vtx": "4-vertex condition",
    "dr": "distance regular",
    "cfi": "CFI",
}

ROWS: dict[str, tuple[int, list[Lift]]] = {
    "order 2": (2, []),
    "order 3": (3, []),
    "order 4": (4, []),
    "order 3, resistances and distances": (3, [Resistance("all"), Distance()]),
    "order 2, closed walks": (2, [ClosedWalks(6, "all")]),
    "order 1, Individualize, depth 0": (1, [Individualize(0)]),
    "order 1, Individualize, depth 1": (1, [Individualize(1)]),
    "order 1, Individualize, depth 2": (1, [Individualize(2)]),
    "order 1, Individualize": (1, [Individualize()]),
}
"""Name -> order of the features, lifts before them."""

SMALL_ROWS = ["order 2", "order 3", "order 4", "order 1, Individualize"]

# Totals that others published, by the protocol of BREC (arXiv 2304.07702).
PUBLISHED = {"3-WL": 270, "KP-GNN": 275, "I2-GNN": 281, "N2": 298, "PPGN": 233, "Graphormer": 79}


COPIES, OUTPUTS, THRESHOLD, RIDGE = 32, 16, 72.34, 1e-7
"""Of BREC: relabelled copies of each graph, numbers per graph, what T^2 must exceed, what is added to S."""

ROUNDING = 1e-12
"""Distances in double precision up to which two vectors count as equal."""

WIDER = 1e-10
"""Another such bound, to see which answers hang on it."""

Embed: TypeAlias = Callable[[list[Graph]], FloatArray]


def run(study: Study) -> dict[str, Any]:
    """Tell pairs apart by each row; every category of a row is cached by itself."""
    pairs = load_brec(data=study.data)
    if study.quick:
        pairs = {name: given[:2] for name, given in pairs.items()}
    rows = {row: {name: _part(row, name, given, study) for name, given in pairs.items()} for row in ROWS}
    sizes = (4, 4) if study.quick else (7, 8)
    what = {"experiment": "brec", "small": sizes, "seed": study.seed}
    return {
        "pairs": {name: len(given) for name, given in pairs.items()},
        "rows": rows,
        "small": study.cached(what, lambda: _small(sizes, study)),
        "published": PUBLISHED,
    }


def _part(row: str, name: str, pairs: list[tuple[Graph, Graph]], study: Study) -> dict[str, Any]:
    """Return what a row does with a category."""
    study.tell(f"{row}: {name}")
    what = {"experiment": "brec", "row": row, "category": name, "pairs": len(pairs), "seed": study.seed}
    found = study.cached({**what, "bounds": [ROUNDING, WIDER]}, lambda: _by_distance(row, pairs, study.seed))
    protocol = study.cached({**what, "protocol": True}, lambda: _protocol(row, pairs, study.seed))
    return {**found, "protocol": protocol}


def _vectors(row: str, graphs: list[Graph], seed: int) -> Any:
    order, lifts = ROWS[row]
    batch: Any = graphs
    for lift in lifts:
        batch = lift.fit_transform(batch)
    grnf = GRNF(OUTPUTS, orders={order: 1.0}, dtype="float64", random_state=seed, n_jobs=1)
    return grnf.fit_transform(batch)


def _by_distance(row: str, pairs: list[tuple[Graph, Graph]], seed: int) -> dict[str, Any]:
    """Return how many pairs are told apart, how many graphs from their copies, and the time of a graph."""
    graphs = [graph for pair in pairs for graph in pair]
    _vectors(row, graphs[:2], seed)  # what is compiled, is compiled before
    start = time.process_time()
    Z = _vectors(row, graphs, seed)
    seconds = time.process_time() - start
    copies = [relabelled(graph, 1, seed, 2_000_000 + i)[0] for i, graph in enumerate(graphs)]
    distances = np.linalg.norm(Z[::2] - Z[1::2], axis=1)
    told = told_apart(Z[::2], Z[1::2])
    return {
        "told": int(told.sum()),
        "told_wider": int(told_apart(Z[::2], Z[1::2], WIDER).sum()),
        "false_alarms": int(told_apart(Z, _vectors(row, copies, seed)).sum()),
        "milliseconds": 1e3 * seconds / len(graphs),
        "smallest_told": float(distances[told].min()) if told.any() else None,
    }


def _protocol(row: str, pairs: list[tuple[Graph, Graph]], seed: int) -> dict[str, Any]:
    def one(number: int) -> dict[str, list[bool]]:
        return by_protocol(lambda graphs: _vectors(row, graphs, seed), pairs[number], seed, number)

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(one, range(len(pairs))))
    told = np.array([entry["told"] for entry in found])
    reliable = np.array([entry["reliable"] for entry in found])
    return {"told": told.sum(axis=0).tolist(), "unreliable": (~reliable).sum(axis=0).tolist()}


def _small(sizes: tuple[int, int], study: Study) -> dict[str, Any]:
    """Count pairs at distance 0 among all graphs of up to so many nodes, and among connected ones."""
    study.tell("making all small graphs")
    up_to = [graph for n in range(sizes[0] + 1) for graph in all_graphs(n)]
    sets = {
        f"up to {sizes[0]} nodes": up_to,
        f"connected, {sizes[1]} nodes": all_graphs(sizes[1], connected=True),
    }
    return {
        name: {
            "graphs": len(graphs),
            "pairs": len(graphs) * (len(graphs) - 1) // 2,
            "equal": {row: equal_pairs(_vectors(row, graphs, study.seed)) for row in SMALL_ROWS},
        }
        for name, graphs in sets.items()
    }


def _total(found: dict[str, Any]) -> int:
    return sum(entry["told"] for entry in found.values())


def _mean_time(results: dict[str, Any], found: dict[str, Any]) -> float:
    counts = results["pairs"]
    total = sum(entry["milliseconds"] * counts[name] for name, entry in found.items())
    return float(total / sum(counts.values()))


def tables(results: dict[str, Any]) -> list[Table]:
    """Return pairs told apart by distance, by the protocol, and pairs of small graphs at distance 0."""
    pairs = results["pairs"]
    header = ["pairs distinguished by distance", *(f"{CATEGORIES[name]} {n}" for name, n in pairs.items())]
    rows = [
        [
            row,
            *(str(entry["told"]) for entry in found.values()),
            str(_total(found)),
            str(sum(entry["told_wider"] for entry in found.values())),
            str(sum(entry["false_alarms"] for entry in found.values())),
            f"{_mean_time(results, found):.1f}",
        ]
        for row, found in results["rows"].items()
    ]
    blank = [""] * len(pairs)
    rows += [
        [f"{name}, published, BREC's protocol", *blank, str(total), "", "", ""]
        for name, total in results["published"].items()
    ]
    first = Table(
        "",
        [*header, f"all {sum(pairs.values())}", "all, bound 1e-10", "false positives", "ms per graph"],
        rows,
    )
    small = results["small"]
    header = [
        "pairs at distance 0",
        *(f"{name}: {entry['graphs']:,} graphs" for name, entry in small.items()),
    ]
    equal = [[row, *(f"{entry['equal'][row]:,}" for entry in small.values())] for row in SMALL_ROWS]
    return [first, _protocol_table(results), Table("", header, equal)]


def _protocol_table(results: dict[str, Any]) -> Table:
    ways = ("S", "S + 1e-7 I")
    header = ["BREC's protocol"]
    header += [f"{what}, {way}" for way in ways for what in ("distinguished", "unreliable")]
    rows = []
    for row, found in results["rows"].items():
        done = [entry["protocol"] for entry in found.values()]
        cells = [sum(entry[what][i] for entry in done) for i in (0, 1) for what in ("told", "unreliable")]
        rows.append([row, *map(str, cells)])
    return Table("", header, rows)


def draw(results: dict[str, Any]) -> Any:
    """Draw how many pairs each method distinguishes, the best on top, with categories, totals and times."""
    figure, (axes,) = new_figure(10, 5.2)
    rows, published = results["rows"], results["published"]
    totals = {name: _total(found) for name, found in rows.items()} | published
    names = sorted(totals, key=lambda name: (name in rows, totals[name]))
    everything = sum(results["pairs"].values())
    for place, name in enumerate(names):
        left = 0
        for color, category in zip([*COLORS], results["pairs"], strict=True):
            if name in rows:
                told = rows[name][category]["told"]
                label = CATEGORIES[category] if place == len(names) - 1 else None
                axes.barh(place, told, left=left, color=color, label=label)
                left += told
        if name in published:
            label = "published totals, by BREC's protocol" if place == 0 else None
            axes.barh(place, totals[name], color="#cccccc", label=label)
        axes.text(everything + 40, place, str(totals[name]), va="center", ha="right", fontsize=9)
        if name in rows:
            time = f"{_mean_time(results, rows[name]):.2g}"
            axes.text(everything + 118, place, time, va="center", ha="right", fontsize=9)
    for x, head in ((everything + 40, "pairs"), (everything + 118, "ms per graph")):
        axes.text(x, len(names) - 0.3, head, ha="right", fontsize=9, fontweight="bold")
    axes.axvline(everything, color="black", linestyle=":", linewidth=1)
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="pairs distinguished", xlim=(0, everything + 120), xticks=range(0, everything + 1, 100))
    axes.grid(False, axis="y")
    figure.legend(loc="outside lower center", ncols=4, fontsize=9, frameon=False)
    return figure


# Whether vectors distinguish two graphs: by their distance, and by the protocol of BREC.


def told_apart(Z: FloatArray, other: FloatArray, bound: float = ROUNDING) -> Any:
    """Return which rows of two arrays lie further apart than rounding explains."""
    return np.linalg.norm(Z - other, axis=1) > bound


def equal_pairs(Z: FloatArray) -> int:
    """Return how many pairs of rows are equal, but for rounding.

    Examples
    --------
    >>> equal_pairs(np.array([[0.0], [1.0], [0.0], [1e-15]]))
    3
    """
    from scipy.spatial import KDTree

    places = KDTree(Z)
    return int(places.count_neighbors(places, ROUNDING) - len(Z)) // 2


def relabelled(graph: Graph, copies: int, seed: int, *where: int) -> list[Graph]:
    """Return copies of a graph with their nodes in random order."""
    generator = page_generator(seed, *where)
    return [graph.permuted(generator.permutation(graph.n_nodes)) for _ in range(copies)]


def by_protocol(embed: Embed, pair: Sequence[Graph], seed: int, number: int) -> dict[str, list[bool]]:
    """Test one pair as BREC does: whether it is told apart, and whether reliably, for S and for S + 1e-7 I.

    T^2 = D' pinv(S) D, where D is the mean and S the covariance of the differences between copies of the
    one graph and copies of the other; reliable if it is small between copies of one of the graphs (here
    each in turn).
    """
    one, other = (relabelled(graph, COPIES, seed, 2 * number + i) for i, graph in enumerate(pair))
    again = relabelled(pair[number % 2], COPIES, seed, 1_000_000 + number)
    Z = embed([*one, *other, *again])
    first, second, third = Z[:COPIES], Z[COPIES : 2 * COPIES], Z[2 * COPIES :]
    own = (first, second)[number % 2]
    found: dict[str, list[bool]] = {"told": [], "reliable": []}
    for ridge in (0.0, RIDGE):
        across, inside = _statistic(first - second, ridge), _statistic(own - third, ridge)
        found["told"].append(bool(across > THRESHOLD and not np.isclose(across, inside, atol=1e-6)))
        found["reliable"].append(bool(inside < THRESHOLD))
    return found


def _statistic(differences: FloatArray, ridge: float) -> float:
    mean = differences.mean(axis=0)
    S = np.cov(differences.T) + ridge * np.eye(len(mean))
    return float(mean @ np.linalg.pinv(S, rcond=len(mean) * np.finfo(np.float64).eps, hermitian=True) @ mean)
