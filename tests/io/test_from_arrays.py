"""Arrays as graphs, and values as columns."""

import numpy as np
import pytest
import scipy.sparse as sp

from grnf import GraphError
from grnf.io import to_raw
from grnf.io.from_arrays import is_symmetric
from grnf.io.objects import iter_raw
from grnf.io.raw import as_column, column_of_arrays, column_of_values, is_missing
from optional import require


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


def test_a_stored_zero_is_an_edge_and_entries_stored_twice_are_summed():
    A = sp.coo_array(([0.0, 0.0, 1.0, 1.0], ([0, 1, 1, 2], [1, 0, 2, 1])), shape=(4, 4))
    raw = to_raw(A)
    assert raw.edges.tolist() == [[0, 1], [1, 2]]
    assert raw.edge_columns["weight"].tolist() == [0.0, 1.0]
    assert raw.n_nodes == 4
    assert A.nnz == 4
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
            r"must be square, shape \(n, n\), got shape \(2, 3\); an edge_index goes into a tuple",
        ),
        (np.zeros(3), r"must be square"),
        (
            np.array([[0, np.nan], [np.nan, 0]]),
            r"entry \[0, 1\] of the adjacency matrix must be finite, got nan.*Use 0",
        ),
        (
            sp.csr_array(np.array([[0, 0], [np.inf, 0]])),
            r"entry \[1, 0\] of the adjacency matrix must be finite, got inf",
        ),
        (np.array([["a", "b"], ["c", "d"]]), "must hold real numbers"),
        (np.array([[1j]]), "must hold real numbers"),
        (sp.csr_array(np.array([[1j]])), "must hold real numbers"),
        ((), r"a tuple must be \(edge_index, x, edge_attr\), got 0 entries"),
        ((np.array([[0, 1], [1, 2], [2, 0]]),), r"got \(3, 2\); transpose it"),
        ((np.array([[0.0], [1.0]]),), "edge_index must hold integers"),
        ((np.array([[0], [1]]), np.ones((2, 2, 2))), r"x must have one row per node.*got shape \(2, 2, 2\)"),
        (
            (np.array([[0], [1]]), None, np.ones(3)),
            r"edge_attr must have one row per arc, shape \(1, width\)",
        ),
        ((np.array([[0], [1]]), [["C"], ["O"]]), "x must hold real numbers"),
        ((np.array([[0], [1]]), [[1], [1, 2]]), "x must be an array of numbers with rows of equal length"),
    ],
)
def test_bad_arrays(graph, message):
    with pytest.raises(GraphError, match=message):
        to_raw(graph)


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([1, 2.5, np.float32(3), np.True_], float, [1, 2.5, 3, 1]),
        ([None, 1, float("nan")], float, [np.nan, 1, np.nan]),
        ([(1, 2), [3, 4], np.array([5, 6])], float, [[1, 2], [3, 4], [5, 6]]),
        ([None, [3, 4]], float, [[np.nan, np.nan], [3, 4]]),
        ([np.array(7), np.array([8])[0]], float, [7, 8]),
        (["a", None, "b"], object, ["a", None, "b"]),
        (["a", 1], object, ["a", 1]),
        ([("a", 1), ("b", 2)], object, [("a", 1), ("b", 2)]),
        ([None, None], object, [None, None]),
        ([], object, []),
        (["a", float("nan")], object, ["a", None]),
        ([1j, 2], object, [1j, 2]),
    ],
)
def test_numbers_vectors_and_categories(values, dtype, expected):
    column = as_column(values)
    assert (column.dtype, len(column)) == (dtype, len(expected))
    if dtype is object:
        assert column.tolist() == expected
    else:
        np.testing.assert_array_equal(column, expected)


def test_missing_values_of_pandas_and_tensors():
    pandas, torch = require("pandas"), require("torch")
    assert is_missing(pandas.NA)
    assert is_missing(pandas.NaT)
    np.testing.assert_array_equal(as_column([1, pandas.NA]), [1, np.nan])
    np.testing.assert_array_equal(as_column([torch.tensor([1, 2]), torch.tensor([3, 4])]), [[1, 2], [3, 4]])


def test_graphs_may_disagree_about_a_column():
    ptr = np.array([0, 2, 4, 5, 6])
    column = column_of_values([1, 2.5, "a", None, None, (1, 2)], ptr, title="node column 'x'")
    assert column.is_mixed
    first, second = column.take(np.arange(2), np.arange(1), ptr[:2]), column.array(slice(2, 4))
    assert first.values.tolist() == [1.0, 2.5]
    assert second.tolist() == ["a", None]
    assert column.array(slice(5, 6)).tolist() == [[1, 2]]


@pytest.mark.parametrize(("other", "shown"), [("n/a", "'n/a'"), ((1, 2), r"\(1, 2\)")])
def test_numbers_and_other_values_in_one_graph_are_refused(other, shown):
    with pytest.raises(
        GraphError, match=f"the edge column 'w' holds numbers, but {shown} for edge 1"
    ) as caught:
        column_of_values([1, other, None], np.array([0, 3]), title="edge column 'w'")
    assert "None for a missing value" in caught.value.cure


def test_a_graph_without_values_agrees_with_all_others():
    nothing, gaps = np.array([None, None], dtype=object), np.array([np.nan, np.nan])
    column = column_of_arrays([np.ones((1, 2)), nothing, None], [1, 2, 1], "node column 'x'")
    np.testing.assert_array_equal(column.values, [[1, 1], *[[np.nan] * 2] * 3])
    assert column.absent.tolist() == [False, False, True]
    column = column_of_arrays([np.array(["a"], dtype=object), gaps], [1, 2], "node column 'x'")
    assert (column.values.tolist(), column.categories) == ([0, -1, -1], ("a",))


def test_arcs_in_both_directions_are_undirected_edges():
    arcs = np.array([[0, 1], [2, 2], [1, 0], [2, 2], [1, 0], [0, 1]])
    for values in (np.empty((6, 0)), np.array([[1.0], [0.0], [1.0], [0.0], [2.0], [2.0]])):
        assert is_symmetric(arcs, values)
        raw = to_raw((arcs.T, None, values) if values.size else (arcs.T,))
        assert raw.edges.tolist() == [[0, 1], [2, 2], [2, 2], [0, 1]]
    assert not is_symmetric(arcs[1:], np.empty((5, 0)))
    assert not is_symmetric(arcs, np.arange(6.0)[:, None])
