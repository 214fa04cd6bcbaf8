"""What others compare collections of graphs by, in small.

Histograms of degrees, of clustering coefficients and of the spectrum of the normalised Laplacian; random
features of an untrained GIN.
"""

import numpy as np

BINS = {"degree": 64, "clustering": 100, "spectrum": 200}
LAYERS, HIDDEN = 3, 32


def adjacency(graph):
    A = np.zeros((graph.n_nodes, graph.n_nodes))
    edges = np.asarray(graph.edges).reshape(-1, 2)
    A[edges[:, 0], edges[:, 1]] = A[edges[:, 1], edges[:, 0]] = 1
    np.fill_diagonal(A, 0)
    return A


def degree(A, _attr):
    return _histogram(A.sum(axis=1), BINS["degree"], (0, BINS["degree"]))


def clustering(A, _attr):
    d = A.sum(axis=1)
    closed = (A * (A @ A)).sum(axis=1)
    return _histogram(closed / np.maximum(d * (d - 1), 1), BINS["clustering"], (0, 1))


def spectrum(A, _attr):
    scale = 1 / np.sqrt(np.maximum(A.sum(axis=1), 1))
    L = np.diag((A.sum(axis=1) > 0).astype(float)) - scale[:, None] * A * scale
    return _histogram(np.linalg.eigvalsh(L), BINS["spectrum"], (-1e-5, 2 + 1e-5))


def _histogram(values, bins, ends):
    counts = np.histogram(np.clip(values, *ends), bins=bins, range=ends)[0]
    return counts / max(counts.sum(), 1)


class RandomGIN:
    """Sums over nodes after each layer of an untrained GIN with orthogonal weights."""

    def __init__(self, width, seed=0):
        random = np.random.default_rng(seed)
        sizes = [width, *[HIDDEN] * LAYERS]
        self.weights = [
            (_orthogonal(random, a, HIDDEN), _orthogonal(random, HIDDEN, HIDDEN)) for a in sizes[:-1]
        ]

    def __call__(self, A, attr):
        h = np.column_stack([np.ones(len(A)), attr])
        parts = []
        for first, second in self.weights:
            h = np.maximum(np.maximum((h + A @ h) @ first, 0) @ second, 0)
            parts.append(h.sum(axis=0))
        return np.concatenate(parts)


def _orthogonal(random, rows, columns):
    Q, _ = np.linalg.qr(random.normal(size=(max(rows, columns), min(rows, columns))))
    return Q if rows >= columns else Q.T


def baselines(width):
    """Functions of (adjacency, node attributes) by name; `width` is that of the attributes."""
    return {
        "degree histogram": degree,
        "clustering histogram": clustering,
        "Laplacian spectrum": spectrum,
        "random GIN": RandomGIN(width + 1),
    }
