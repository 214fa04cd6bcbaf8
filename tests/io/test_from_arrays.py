import numpy as np
import pytest
import scipy.sparse as sp

from grnf import GraphError
from grnf.io import iter_raw, to_raw


def dense(raw):
    """The adjacency matrix of weights that a RawGraph stands for."""
    A = np.zeros((raw.n_nodes, raw.n_nodes))
    for (i, j), weight in zip(
        raw.edges, raw.edge_columns.get("weight", np.ones(len(raw.edges))), strict=True
    ):
        A[i, j] = weight
        if not raw.directed:
            A[j, i] = weight
    return A


MATRICES = [
    np.zeros((0, 0)),
    np.zeros((3, 3)),
    np.array([[1]]),
    np.array([[0, 1, 0], [1, 1, 0], [0, 0, 0]], dtype=bool),
    np.array([[0, 1], [0, 0]], dtype=np.uint8),
    np.array([[0, -0.5, 2], [-0.5, 0, 0], [2, 0, 1]]),
    np.array([[0, 0.5], [2, 0]]),
]


@pytest.mark.parametrize("A", MATRICES)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_matrix, sp.coo_array, sp.dok_array])
def test_matrices(A, kind):
    raw = to_raw(kind(A))
    np.testing.assert_array_equal(dense(raw), A)
    assert raw.n_nodes == len(A)
    assert raw.directed == (not np.array_equal(A, A.T))
    assert ("weight" in raw.edge_columns) == bool(((A != 0) & (A != 1)).any())


def test_a_stored_zero_is_an_edge_of_weight_0():
    A = sp.coo_array(([0.0, 0.0, 1.0, 1.0], ([0, 1, 1, 2], [1, 0, 2, 1])), shape=(4, 4))
    raw = to_raw(A)
    assert raw.edges.tolist() == [[0, 1], [1, 2]]
    assert raw.edge_columns["weight"].tolist() == [0.0, 1.0]
    assert raw.n_nodes == 4
    assert A.nnz == 4


def test_entries_stored_twice_are_summed_as_in_scipy():
    raw = to_raw(sp.coo_array(([1, 1, 2], ([0, 0, 1], [1, 1, 0])), shape=(2, 2)))
    assert raw.edges.tolist() == [[0, 1]]
    assert raw.edge_columns["weight"].tolist() == [2.0]


def test_an_array_of_matrices_is_a_collection():
    stack = np.stack([np.eye(3), np.ones((3, 3)), np.zeros((3, 3))])
    assert [len(raw.edges) for raw in iter_raw(stack)] == [3, 6, 0]


def test_tuples():
    raw = to_raw((np.array([[0, 1, 1], [1, 0, 1]]), np.ones((4, 2)), np.array([5.0, 5.0, 7.0])))
    assert (raw.n_nodes, raw.directed) == (4, False)
    assert raw.edges.tolist() == [[0, 1], [1, 1]]
    assert raw.edge_columns["edge_attr"].tolist() == [5.0, 7.0]
    raw = to_raw((np.array([[0, 1], [1, 0]]), None, np.array([5.0, 6.0])))
    assert (raw.n_nodes, raw.directed, len(raw.edges)) == (2, True, 2)
    assert to_raw((np.empty((2, 0)), np.ones((3, 1)))).n_nodes == 3
    assert to_raw(([[], []],)).n_nodes == 0


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (
            np.zeros((2, 3)),
            r"must be square, shape \(n, n\); got shape \(2, 3\); an edge_index goes into a tuple",
        ),
        (np.zeros(3), r"must be square"),
        (np.array([[0, np.nan], [np.nan, 0]]), r"entry \[0, 1\] of the adjacency matrix is nan.*put 0"),
        (sp.csr_array(np.array([[0, 0], [np.inf, 0]])), r"entry \[1, 0\] of the adjacency matrix is inf"),
        (np.array([["a", "b"], ["c", "d"]]), "must hold real numbers"),
        (np.array([[1j]]), "must hold real numbers"),
        (sp.csr_array(np.array([[1j]])), "must hold real numbers"),
        ((), r"a tuple must be \(edge_index, x, edge_attr\); got 0 entries"),
        ((np.array([[0, 1], [1, 2], [2, 0]]),), r"got \(3, 2\); transpose it"),
        ((np.array([[0.0], [1.0]]),), "edge_index must hold integers"),
        ((np.array([[0], [1]]), np.ones((2, 2, 2))), r"x must have one row per node.*got shape \(2, 2, 2\)"),
        (
            (np.array([[0], [1]]), None, np.ones(3)),
            r"edge_attr must have one row per arc, shape \(1, width\)",
        ),
        ((np.array([[0], [1]]), [["C"], ["O"]]), "x must hold real numbers"),
        ((np.array([[0], [1]]), [[1], [1, 2]]), "x must be an array of numbers, rows of one length"),
    ],
)
def test_bad_arrays(graph, message):
    with pytest.raises(GraphError, match=message):
        to_raw(graph)
