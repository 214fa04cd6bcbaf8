"""Places of nodes by springs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import shortest_path

from grnf.maps.drawings import LARGEST, _scaled, spring_positions
from optional import require

nx = require("networkx")


def stress(places, D):
    """sum over pairs of (|x - x'| - d)^2 / d^2."""
    far = np.linalg.norm(places[:, None] - places, axis=-1)
    upper = np.triu_indices(len(D), 1)
    return float(np.square((far[upper] - D[upper]) / D[upper]).sum())


def distances(graph):
    return shortest_path(nx.to_scipy_sparse_array(graph), directed=False, unweighted=True)


@pytest.mark.parametrize(
    "graph",
    [
        nx.cycle_graph(12),
        nx.grid_2d_graph(5, 5),
        nx.complete_graph(9),
        nx.star_graph(10),
        nx.petersen_graph(),
    ],
    ids=["cycle", "grid", "complete", "star", "petersen"],
)
def test_energy_is_about_as_low_as_a_general_optimiser_finds(graph):
    graph = nx.convert_node_labels_to_integers(graph)
    D = distances(graph)
    ours = spring_positions(len(graph), np.array(graph.edges))
    theirs = nx.kamada_kawai_layout(graph)
    theirs = np.array([theirs[node] for node in range(len(graph))])
    lowest = min(stress(scale * theirs, D) for scale in np.linspace(0.1, len(graph), 1000))
    assert stress(ours, D) <= 1.15 * lowest
    assert stress(ours, D) <= stress(_scaled(D), D)


@given(st.integers(0, 25), st.integers(0, 10**6), st.floats(0, 0.4))
def test_any_graph_has_finite_places_of_its_own(n, seed, density):
    graph = nx.gnp_random_graph(n, density, seed=seed)
    edges = np.array(graph.edges).reshape(-1, 2)
    places = spring_positions(n, edges)
    assert places.shape == (n, 2)
    assert np.isfinite(places).all()
    if n > 1:
        far = np.linalg.norm(places[:, None] - places, axis=-1) + np.eye(n)
        assert far.min() > 1e-3
    assert np.array_equal(places, spring_positions(n, edges))


def test_parts_do_not_overlap():
    graph = nx.disjoint_union_all([nx.cycle_graph(6), nx.path_graph(4), nx.empty_graph(3)])
    places = spring_positions(len(graph), np.array(graph.edges))
    boxes = []
    for part in nx.connected_components(graph):
        own = places[list(part)]
        boxes.append((own.min(axis=0), own.max(axis=0)))
    for a, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:a]:
            assert (low > other_high).any() or (other_low > high).any()


def test_large_graphs_are_scaled_by_pivots():
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(20, 20))
    places = spring_positions(400, np.array(graph.edges))
    far = np.linalg.norm(places[:, None] - places, axis=-1)
    upper = np.triu_indices(400, 1)
    assert np.corrcoef(far[upper], distances(graph)[upper])[0, 1] > 0.9
    assert LARGEST >= 400
