import numpy as np
import pytest

from grnf import GraphError
from grnf.io.columns import as_column, column_of_payloads, columns_of_rows, is_missing, undirected_once
from guests import guest


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
    pandas = guest("pandas")
    assert is_missing(pandas.NA)
    assert is_missing(pandas.NaT)
    np.testing.assert_array_equal(as_column([1, pandas.NA]), [1, np.nan])


def test_tensors_are_numbers():
    torch = guest("torch")
    np.testing.assert_array_equal(as_column([torch.tensor([1, 2]), torch.tensor([3, 4])]), [[1, 2], [3, 4]])


def test_rows_give_a_column_for_every_key():
    columns = columns_of_rows([{"a": 1, 3: "x"}, {"b": 2}])
    assert list(columns) == ["a", "3", "b"]
    np.testing.assert_array_equal(columns["b"], [np.nan, 2])
    with pytest.raises(GraphError, match="two attributes are both called '3'"):
        columns_of_rows([{3: 1, "3": 2}])


def test_payloads():
    assert column_of_payloads([None, None], "weight", "x") == {}
    assert list(column_of_payloads([1, 2.5], "weight", "x")) == ["weight"]
    assert list(column_of_payloads(["C", "O"], "weight", "x")) == ["x"]
    assert list(column_of_payloads([[1, 2], [3, 4]], "weight", "x")) == ["x"]
    assert list(column_of_payloads([{"a": 1}, None], "weight", "x")) == ["a"]


def test_arcs_in_both_directions_are_undirected_edges():
    arcs = np.array([[0, 1], [2, 2], [1, 0], [2, 2], [1, 0], [0, 1]])
    keep = undirected_once(arcs, np.empty((6, 0)))
    assert arcs[keep].tolist() == [[0, 1], [2, 2], [2, 2], [0, 1]]
    values = np.array([[1.0], [0.0], [1.0], [0.0], [2.0], [2.0]])
    np.testing.assert_array_equal(undirected_once(arcs, values), keep)
    assert undirected_once(arcs[1:], np.empty((5, 0))) is None
    assert undirected_once(arcs, np.arange(6.0)[:, None]) is None
