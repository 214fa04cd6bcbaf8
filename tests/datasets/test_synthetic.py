import numpy as np
import pytest

from grnf.datasets import make_delaunay, make_sbm


def test_sbm_has_the_probabilities_of_the_paper():
    graphs, y = make_sbm(2000, random_state=0)
    assert len(graphs) == 2000
    assert np.bincount(y).tolist() == [1000, 1000]
    A = np.array([graph.tensor()[:, :, 0] for graph in graphs])
    assert (A == A.transpose(0, 2, 1)).all()
    assert not A[:, np.arange(12), np.arange(12)].any()
    mean = [A[y == label].mean(axis=0) for label in (0, 1)]
    off = ~np.eye(12, dtype=bool)
    same = np.equal.outer(np.arange(12) < 6, np.arange(12) < 6)
    assert mean[0][off] == pytest.approx(0.4, abs=0.08)
    assert mean[1][off & same] == pytest.approx(0.8, abs=0.07)
    assert mean[1][~same] == pytest.approx(0.1, abs=0.05)


def test_delaunay_edges_triangulate_their_points():
    graphs, y = make_delaunay(100, random_state=0)
    assert np.bincount(y).tolist() == [50, 50]
    for graph in graphs:
        assert graph.node_attr.shape == (12, 2)
        assert 2 * 12 - 3 <= graph.n_edges <= 3 * 12 - 6
        assert len(np.unique(np.sort(graph.edges, axis=1), axis=0)) == graph.n_edges
    centres = [
        np.mean([g.node_attr for g, c in zip(graphs, y, strict=True) if c == k], axis=0) for k in (0, 1)
    ]
    shift = np.linalg.norm(centres[0] - centres[1], axis=1)
    assert shift == pytest.approx(1.5, abs=1.0)
    residual = graphs[0].node_attr - centres[0]
    assert 0.3 < residual.std() < 2


@pytest.mark.parametrize("make", [make_sbm, make_delaunay])
def test_every_graph_is_drawn_afresh_and_the_seed_decides(make):
    first, again, other = (make(20, random_state=seed)[0] for seed in (0, 0, 1))
    tensors = [graph.tensor() for graph in first]
    for a, b in zip(tensors, again, strict=True):
        np.testing.assert_array_equal(a, b.tensor())
    assert not any(np.array_equal(a, b.tensor()) for a, b in zip(tensors, other, strict=True))
    assert len({A.tobytes() for A in tensors}) == 20


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="n_graphs must be an integer >= 1, got 0"):
        make_sbm(0)
    with pytest.raises(ValueError, match=r"n_nodes must be an integer >= 4, got 3. A triangulation"):
        make_delaunay(2, n_nodes=3)
