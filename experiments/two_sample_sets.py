"""Families of graphs and the changes that tests are to find: edges rewired or swapped, classes mixed."""

import numpy as np

from grnf import Graph
from grnf.datasets import make_delaunay, make_sbm
from grnf.io import read_tu

SHARES = tuple(np.round(np.linspace(0, 1, 11), 2).tolist())
"""Shares of rewired edges, for rank correlations."""


SMALL = dict.fromkeys((8, 32, 128, 512), (1100, 560))
"""Graphs of each sample: unchanged graphs to draw from, and changed ones of each change."""
LARGE = {2048: (8200, 0), 4096: (8200, 0)}
"""Where every change is found already: unchanged ones alone."""


class Random:
    """Random graphs of networkx whose edges are rewired (degrees change) or swapped (they stay).

    Changes are pairs (name, share of changed edges); every graph of the second sample is changed.
    """

    width = 0

    def __init__(self, name, generate, pools):
        self.name, self.generate, self.pools = name, generate, pools
        self.changes = [("rewired", share) for share in (0.03, 0.06, 0.12)]
        self.changes += [("swapped", share) for share in (0.05, 0.15, 0.4)]

    def make(self, base, other):
        """All graphs, and the rows of unchanged ones (None) and of those of each change."""
        graphs, pools = self.unchanged(base), {None: np.arange(base)}
        for number, (change, share) in enumerate(self.changes):
            pools[change, share] = len(graphs) + np.arange(other)
            graphs = graphs + self.changed(change, share, other, number)
        return graphs, pools

    def unchanged(self, count):
        return [as_graph(self.generate(seed)) for seed in range(count)]

    def changed(self, change, share, count, number):
        first = 10**6 * (1 + number)
        random = np.random.default_rng(first)
        alter = {"rewired": rewired, "swapped": swapped}[change]
        return [as_graph(alter(self.generate(first + seed), share, random)) for seed in range(count)]

    def mixture(self, _share):
        return 1.0

    def attributes(self, graph):
        return np.empty((graph.n_nodes, 0))


class Classes:
    """A set of two classes: a share of the graphs of the second sample are of the other class."""

    def __init__(self, name, shares, read, width, pools):
        self.name, self.read, self.width, self.pools = name, read, width, pools
        self.changes = [("other class", share) for share in shares]

    def make(self, base, other):
        graphs, base = self.read(base, other)
        rows = np.arange(base), np.arange(base, len(graphs))
        return graphs, {None: rows[0], **dict.fromkeys(self.changes, rows[1])}

    def mixture(self, share):
        return share

    def attributes(self, graph):
        return graph.node_attr if self.width else np.empty((graph.n_nodes, 0))


def as_graph(graph):
    return Graph(graph.number_of_nodes(), np.array(graph.edges()).reshape(-1, 2))


def rewired(graph, share, random):
    """Take edges away, and put as many between any nodes that are not joined."""
    edges, n = list(graph.edges()), graph.number_of_nodes()
    for place in random.permutation(len(edges))[: round(share * len(edges))]:
        graph.remove_edge(*edges[place])
        while True:
            u, v = map(int, random.integers(n, size=2))
            if u != v and not graph.has_edge(u, v):
                graph.add_edge(u, v)
                break
    return graph


def swapped(graph, share, random):
    """Swap the ends of pairs of edges; every node keeps its degree."""
    import networkx as nx

    swaps = max(round(share * graph.number_of_edges() / 2), 1)
    return nx.double_edge_swap(graph, swaps, max_tries=10_000, seed=int(random.integers(2**31)))


def powerlaw(seed):
    import networkx as nx

    return nx.powerlaw_cluster_graph(30, 3, 0.5, seed=seed)


def small_world(seed):
    import networkx as nx

    return nx.watts_strogatz_graph(30, 6, 0.1, seed=seed)


def _synthetic(make):
    def read(base, other):
        graphs, y = make(2 * max(base, other), random_state=0)
        sides = [[graph for graph, label in zip(graphs, y, strict=True) if label == side] for side in (0, 1)]
        return sides[0][:base] + sides[1][:other], base

    return read


def _nci1(data):
    def read(base, other):
        found = read_tu(data / "NCI1.zip")
        random = np.random.default_rng(0)
        rows = [random.permutation(np.flatnonzero(np.asarray(found.y) == side)) for side in (0, 1)]
        return found.graphs.take(np.concatenate([rows[0][:base], rows[1][:other]])), min(base, len(rows[0]))

    return read


def rewired_pools(shares, count):
    """Powerlaw graphs rewired by each of the shares, for rank correlations."""
    family = Random("powerlaw", powerlaw, SMALL)
    graphs, pools = family.unchanged(count), {None: np.arange(count)}
    for number, share in enumerate(shares):
        pools[share] = len(graphs) + np.arange(count)
        graphs = graphs + family.changed("rewired", share, count, 50 + number)
    return family, graphs, pools


def families(data):
    """Return all families of graphs; NCI1 where it is there."""
    found = [
        Random("powerlaw", powerlaw, SMALL | LARGE),
        Random("small world", small_world, SMALL),
        Classes("SBM", (0.1, 0.3, 1.0), _synthetic(make_sbm), 0, dict.fromkeys(SMALL | LARGE, (8200, 4100))),
        Classes("Delaunay", (0.3, 1.0), _synthetic(make_delaunay), 2, SMALL | LARGE),
    ]
    if (data / "NCI1.zip").exists():
        whole = {1024: (2100, 2100)}  # all there are
        found.append(Classes("NCI1", (0.3, 1.0), _nci1(data), 37, SMALL | whole))
    return found
