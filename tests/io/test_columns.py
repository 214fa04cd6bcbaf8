import numpy as np
import pytest

from grnf import GraphError
from grnf.io.from_arrays import undirected_once
from grnf.io.raw import as_column, column_of_arrays, column_of_values, is_missing
from optional import require


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2.5, np.float32(3), np.True_], [1, 2.5, 3, 1]),
        ([None, 1, float("nan")], [np.nan, 1, np.nan]),
        ([(1, 2), [3, 4], np.array([5, 6])], [[1, 2], [3, 4], [5, 6]]),
        ([None, [3, 4]], [[np.nan, np.nan], [3, 4]]),
        ([np.array(7), np.array([8])[0]], [7, 8]),
    ],
)
def test_numbers_and_vectors(values, expected):
    column = as_column(values)
    assert column.dtype == np.float64
    np.testing.assert_array_equal(column, expected)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a", None, "b"], ["a", None, "b"]),
        (["a", 1], ["a", 1]),
        ([("a", 1), ("b", 2)], [("a", 1), ("b", 2)]),
        ([None, None], [None, None]),
        ([], []),
        (["a", float("nan")], ["a", None]),
        ([1j, 2], [1j, 2]),
    ],
)
def test_everything_else_is_categories(values, expected):
    column = as_column(values)
    assert column.dtype == object
    assert column.shape == (len(expected),)
    assert column.tolist() == expected


def test_the_missing_values_of_pandas_are_missing():
    pandas = require("pandas")
    assert is_missing(pandas.NA)
    assert is_missing(pandas.NaT)
    np.testing.assert_array_equal(as_column([1, pandas.NA]), [1, np.nan])


def test_tensors_are_numbers():
    torch = require("torch")
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
    keep = undirected_once(arcs, np.empty((6, 0)))
    assert arcs[keep].tolist() == [[0, 1], [2, 2], [2, 2], [0, 1]]
    values = np.array([[1.0], [0.0], [1.0], [0.0], [2.0], [2.0]])
    np.testing.assert_array_equal(undirected_once(arcs, values), keep)
    assert undirected_once(arcs[1:], np.empty((5, 0))) is None
    assert undirected_once(arcs, np.arange(6.0)[:, None]) is None
