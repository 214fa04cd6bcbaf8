"""Bad samples: raised, NaN or skipped, with rows and reasons."""

import warnings

import numpy as np
import pytest

from grnf import GRNF, Graph, GraphError, GrnfWarning
from grnf.io import graphs_from_tables
from guests import guest
from random_graphs import cycle

MOLECULES = ["CCO", "c1ccccc1", "CC(=O)O", "CCN", "C1CCCCC1", "CCCl", "OCC", "N#N"]
BAD = ["CCO", "C1CC", "CCN", None, "c1ccccc1"]


def test_bad_samples_raise_by_default():
    guest("rdkit")
    grnf = GRNF(8, random_state=0).fit(MOLECULES)
    for call in (grnf.transform, grnf.fit, grnf.fit_transform):
        with pytest.raises(GraphError, match=r"X\[1\]: 'C1CC' is no SMILES"):
            call(BAD)


def test_bad_samples_become_rows_of_nan():
    guest("rdkit")
    grnf = GRNF(8, random_state=0, on_error="nan").fit(MOLECULES)
    assert grnf.errors_ == []
    Z = grnf.transform(BAD)
    assert np.isnan(Z).all(axis=1).tolist() == [False, True, False, True, False]
    np.testing.assert_array_equal(Z[[0, 2, 4]], grnf.transform([BAD[0], BAD[2], BAD[4]]))
    assert grnf.errors_ == []
    grnf.transform(BAD)
    assert [row for row, _ in grnf.errors_] == [1, 3]
    assert "'C1CC' is no SMILES" in grnf.errors_[0][1]
    assert np.isnan(grnf.transform(["C1CC"])).all()
    Z = GRNF(8, random_state=0, on_error="nan").fit_transform(BAD)
    assert np.isnan(Z).all(axis=1).tolist() == [False, True, False, True, False]


def test_bad_samples_are_skipped_and_named():
    guest("rdkit")
    grnf = GRNF(8, random_state=0, on_error="skip").fit(MOLECULES)
    with pytest.warns(
        GrnfWarning, match=r"2 of 5 samples are left out: rows 1, 3\. Row 1: 'C1CC' is no SMILES"
    ):
        Z = grnf.transform(BAD)
    np.testing.assert_array_equal(Z, grnf.transform([BAD[0], BAD[2], BAD[4]]))
    with pytest.warns(GrnfWarning, match=r"rows 0, 1, .*, 19 and 5 more"):
        assert grnf.transform([None] * 25).shape == (0, 8)
    assert len(grnf.errors_) == 25


def test_blocks_of_a_stream_count_rows_from_its_beginning():
    samples = [cycle(3), None, cycle(4), cycle(5), None, cycle(6)]
    grnf = GRNF(8, random_state=0, on_error="nan").fit([cycle(3)])
    blocks = list(grnf.transform_blocks(iter(samples), block_size=2))
    assert [row for row, _ in grnf.errors_] == [1, 4]
    np.testing.assert_allclose(np.concatenate(blocks), grnf.transform(samples), rtol=1e-5, atol=1e-7)
    grnf.set_params(on_error="raise")
    with pytest.raises(
        GraphError, match=r"in the block that begins with graph 4: X\[0\]: no graph can be made"
    ):
        list(grnf.transform_blocks(samples[2:4] * 2 + samples[4:], block_size=2))


def test_on_error_covers_attributes_and_plain_graphs():
    graphs = [Graph(1, [], [[1.0]]), Graph(1, [], [[1.0, 2.0]]), Graph(2, [(0, 1)], [1.0, 2.0]), Graph(2, [])]
    grnf = GRNF(8, random_state=0, on_error="nan")
    Z = grnf.fit_transform(graphs)
    assert np.isnan(Z).all(axis=1).tolist() == [False, True, False, True]
    assert grnf.errors_[0][0] == 1
    np.testing.assert_array_equal(grnf.transform(graphs), Z)
    assert grnf.errors_[0] == (1, "node_attr has 2 columns; 1 expected, as in fit")


def test_on_error_covers_features_that_overflow():
    graphs = [Graph(2, [(0, 1)], [scale, 1.0]) for scale in (1.0, 1e38, 2.0, 1e38, 3.0)]
    grnf = GRNF(8, random_state=0, on_error="nan", normalize=False).fit(graphs[:1])
    Z = grnf.transform(graphs)
    assert np.isnan(Z).all(axis=1).tolist() == [False, True, False, True, False]
    assert [row for row, _ in grnf.errors_] == [1, 3]
    np.testing.assert_allclose(Z[[0, 2, 4]], grnf.transform([graphs[0], graphs[2], graphs[4]]), rtol=1e-6)


def test_features_that_overflow_raise_by_default():
    grnf = GRNF(8, random_state=0, normalize=False).fit([Graph(1, [], [1.0])])
    with pytest.raises(GraphError, match="graph 1: its features overflow float32"):
        grnf.transform([Graph(2, [(0, 1)], [1.0, 1.0]), Graph(2, [(0, 1)], [1e38, 1.0])])


def test_fit_needs_one_good_sample():
    with pytest.raises(GraphError, match=r"none of the 2 samples can be used; X\[0\]: no graph can be made"):
        GRNF(8, on_error="skip").fit([None, 3])


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        ({"on_error": "ignore"}, "on_error must be 'raise', 'nan' or 'skip'; got 'ignore'"),
        ({"unseen": "zero"}, "unseen must be 'error' or 'ignore'"),
        ({"missing": "nan"}, "missing must be 'error' or 'zero'"),
    ],
)
def test_bad_policies_are_refused_at_fit(policies, message):
    with pytest.raises(ValueError, match=message):
        GRNF(8, **policies).fit([cycle(3)])


@pytest.mark.parametrize("on_error", ["skip", "nan"])
def test_dataframes_keep_the_index_of_their_rows(on_error):
    guest("rdkit")
    pd = guest("pandas")
    samples = pd.Series(BAD, index=list("abcde"))
    grnf = GRNF(8, random_state=0, on_error=on_error).set_output(transform="pandas")
    kept = ["a", "c", "e"] if on_error == "skip" else list("abcde")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GrnfWarning)
        tables = [grnf.fit_transform(samples), grnf.transform(samples)]
        plain = grnf.set_output(transform="default").transform(samples)
    for table in tables:
        assert table.index.tolist() == kept
        assert table.columns.tolist() == [f"grnf{i}" for i in range(8)]
        np.testing.assert_array_equal(table.to_numpy(), plain)
    assert isinstance(plain, np.ndarray)
    assert grnf.set_output(transform="pandas").transform(samples.iloc[[0, 2]]).index.tolist() == ["a", "c"]


@pytest.mark.parametrize("on_error", ["nan", "skip"])
def test_tables_of_edges_give_one_row_per_graph(on_error):
    pandas = guest("pandas")
    table = {"graph_id": ["a", "a", "b", "c"], "source": [0, 1, 0, 0], "target": [1, 2, 1, 1]}
    good = pandas.DataFrame({**table, "weight": [1.0, 2.0, 3.0, 4.0]})
    grnf = GRNF(4, random_state=0, on_error=on_error)
    expected = grnf.fit_transform(graphs_from_tables(good))
    grnf.set_output(transform="pandas")
    found = grnf.fit_transform(good)
    assert found.index.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(found, expected)
    bad = good.assign(weight=[1.0, 2.0, np.inf, 4.0])
    if on_error == "nan":
        found = grnf.transform(bad)
        assert found.index.tolist() == ["a", "b", "c"]
        assert found.isna().all(axis=1).tolist() == [False, True, False]
    else:
        with pytest.warns(GrnfWarning, match="1 of 3 samples are left out: rows 1"):
            found = grnf.transform(bad)
        assert found.index.tolist() == ["a", "c"]
