"""One collection: bad graphs are raised, NaN or left out; graphs or vectors in, vectors with names out."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from grnf import GRNF, Graph, GraphBatch, GraphError
from grnf.collection import Collection, collect, encode, fit_encode, vectors_of
from grnf.estimators import FeatureViews
from grnf.io import RawGraph, graphs_from_tables
from grnf.io.encode import AttributeEncoder
from optional import require
from random_graphs import cycle

MOLECULES = ["CCO", "c1ccccc1", "CC(=O)O", "CCN", "C1CCCCC1", "CCCl", "OCC", "N#N"]
BAD = ["CCO", "C1CC", "CCN", None, "c1ccccc1"]


def test_bad_samples_become_rows_of_nan():
    require("rdkit")
    grnf = GRNF(8, random_state=0, on_error="nan").fit(MOLECULES)
    assert grnf.errors_ == []
    Z = grnf.transform(BAD)
    assert np.isnan(Z).all(axis=1).tolist() == [False, True, False, True, False]
    np.testing.assert_array_equal(Z[[0, 2, 4]], grnf.transform([BAD[0], BAD[2], BAD[4]]))
    found = grnf.embed(BAD)
    np.testing.assert_array_equal(found.vectors, Z)
    assert found.rows.tolist() == [0, 1, 2, 3, 4]
    assert [row for row, _ in found.errors] == [1, 3]
    assert "'C1CC' is not a valid SMILES" in found.errors[0][1]
    assert np.isnan(grnf.transform(["C1CC"])).all()
    assert grnf.errors_ == []
    fitted = GRNF(8, random_state=0, on_error="nan")
    Z = fitted.fit_transform(BAD)
    assert np.isnan(Z).all(axis=1).tolist() == [False, True, False, True, False]
    assert fitted.errors_ == found.errors


def test_bad_samples_are_left_out_by_embed_alone():
    require("rdkit")
    grnf = GRNF(8, random_state=0).fit(MOLECULES)
    found = grnf.embed(BAD, on_error="skip")
    assert (found.rows.tolist(), [row for row, _ in found.errors]) == ([0, 2, 4], [1, 3])
    np.testing.assert_array_equal(found.vectors, grnf.transform([BAD[0], BAD[2], BAD[4]]))
    found = grnf.embed([None] * 25, on_error="skip")
    assert (found.vectors.shape, len(found.errors)) == ((0, 8), 25)
    with pytest.raises(ValueError, match="on_error must be 'raise' or 'nan', got 'skip'"):
        GRNF(8, on_error="skip").fit(MOLECULES)


def test_policies_of_one_call():
    grnf = GRNF(4, random_state=0).fit([cycle(3)])
    samples = [cycle(4), None, cycle(5)]
    with pytest.raises(GraphError, match=r"X\[1\]: .* cannot be converted to a graph"):
        grnf.embed(samples)
    assert grnf.embed(samples, on_error="nan").vectors.shape == (3, 4)
    assert grnf.embed(samples, on_error="skip").vectors.shape == (2, 4)
    assert (grnf.on_error, grnf.errors_) == ("raise", [])
    with pytest.raises(ValueError, match="on_error must be 'raise', 'nan' or 'skip', got 'drop'"):
        grnf.embed(samples, on_error="drop")


def test_threads_that_share_a_transformer_get_their_own_reports():
    grnf = GRNF(16, random_state=0).fit([cycle(3)])
    good = [cycle(n) for n in range(3, 40)]
    Z = grnf.transform(good)
    before = dict(vars(grnf))
    meet = threading.Barrier(4)

    def collection(thread):
        """Every (thread + 2)-th sample is bad."""
        return [None if n % (thread + 2) == 0 else graph for n, graph in enumerate(good)]

    def work(thread):
        samples = collection(thread)
        for _ in range(20):
            meet.wait()
            found = grnf.embed(samples, on_error="skip")
            assert [row for row, _ in found.errors] == [n for n, s in enumerate(samples) if s is None]
            np.testing.assert_array_equal(found.vectors, Z[found.rows])
            assert grnf.embed(samples, on_error="nan").vectors.shape == Z.shape
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))
    after = vars(grnf)
    assert after.keys() == before.keys()
    assert all(after[name] is value for name, value in before.items())


def test_on_error_covers_attributes_and_plain_graphs():
    graphs = [Graph(1, [], [[1.0]]), Graph(1, [], [[1.0, 2.0]]), Graph(2, [(0, 1)], [1.0, 2.0]), Graph(2, [])]
    grnf = GRNF(8, random_state=0, on_error="nan")
    Z = grnf.fit_transform(graphs)
    assert np.isnan(Z).all(axis=1).tolist() == [False, True, False, True]
    assert grnf.errors_[0][0] == 1
    found = grnf.embed(graphs)
    np.testing.assert_array_equal(found.vectors, Z)
    assert found.errors[0] == (1, "the node column 'x' must have width 1, as in fit, got 2")


def test_on_error_covers_features_that_overflow():
    graphs = [Graph(2, [(0, 1)], [scale, 1.0]) for scale in (1.0, 3e38, 2.0, 3e38, 3.0)]
    grnf = GRNF(8, random_state=0, on_error="nan", normalize=False).fit(graphs[:1])
    found = grnf.embed(graphs)
    Z = found.vectors
    assert np.isnan(Z).all(axis=1).tolist() == [False, True, False, True, False]
    assert [row for row, _ in found.errors] == [1, 3]
    np.testing.assert_allclose(Z[[0, 2, 4]], grnf.transform([graphs[0], graphs[2], graphs[4]]), rtol=1e-6)


def test_fit_needs_one_good_sample():
    with pytest.raises(GraphError, match=r"none of the 2 samples can be used\. X\[0\]: .* cannot be conv"):
        GRNF(8, on_error="nan").fit([None, 3])


def test_dataframes_keep_the_index_of_their_rows():
    require("rdkit")
    pd = require("pandas")
    samples = pd.Series(BAD, index=list("abcde"))
    grnf = GRNF(8, random_state=0, on_error="nan").set_output(transform="pandas")
    tables = [grnf.fit_transform(samples), grnf.transform(samples)]
    plain = grnf.set_output(transform="default").transform(samples)
    for table in tables:
        assert table.index.tolist() == list("abcde")
        assert table.columns.tolist() == [f"grnf{i}" for i in range(8)]
        np.testing.assert_array_equal(table.to_numpy(), plain)
    assert isinstance(plain, np.ndarray)
    assert grnf.set_output(transform="pandas").transform(samples.iloc[[0, 2]]).index.tolist() == ["a", "c"]


def test_tables_of_edges_give_one_row_per_graph():
    pandas = require("pandas")
    table = {"graph_id": ["a", "a", "b", "c"], "source": [0, 1, 0, 0], "target": [1, 2, 1, 1]}
    good = pandas.DataFrame({**table, "weight": [1.0, 2.0, 3.0, 4.0]})
    for model in (GRNF(4, random_state=0, on_error="nan"), FeatureViews(4, random_state=0)):
        expected = model.fit_transform(graphs_from_tables(good))
        model.set_output(transform="pandas")
        found = model.fit_transform(good)
        assert found.index.tolist() == model.transform(good).index.tolist() == ["a", "b", "c"]
        np.testing.assert_array_equal(found, expected)
    grnf = GRNF(4, random_state=0, on_error="nan").set_output(transform="pandas").fit(good)
    found = grnf.transform(good.assign(weight=[1.0, 2.0, np.inf, 4.0]))
    assert found.index.tolist() == ["a", "b", "c"]
    assert found.isna().all(axis=1).tolist() == [False, True, False]


# ---- graphs or vectors in, vectors out


def named(*names):
    """Graphs of 3, 4, ... nodes with these names."""
    return [RawGraph(n, np.array([[0, 1]]), graph_id=name) for n, name in enumerate(names, start=3)]


@pytest.mark.parametrize(
    ("given", "ids"),
    [
        (named("a", "b"), ["a", "b"]),
        (named("a", None), ["a", "11"]),
        (iter([cycle(3), cycle(4)]), ["10", "11"]),
        (GraphBatch.from_graphs([cycle(3), cycle(4)]), ["10", "11"]),
        (np.zeros((2, 4), np.float32), ["10", "11"]),
        ([[0, 1.5, 2, 3], [4, 5, 6, 7]], ["10", "11"]),
        (np.zeros(4), ["10"]),
    ],
)
def test_vectors_of_graphs_and_vectors(given, ids):
    found = vectors_of(given, GRNF(4, random_state=0), start=10)
    assert (found.ids, found.all_ids, found.errors) == (ids, ids, [])
    assert found.vectors.shape == (len(ids), 4)
    assert found.rows.tolist() == list(range(len(ids)))
    again = vectors_of(found, ids=["x"] * len(ids))
    assert again.vectors is found.vectors
    assert again.ids == ["x"] * len(ids)
    assert again.unique_ids == (["10", "11"] if len(ids) == 2 else ["x"])


def test_a_transformer_is_fitted_on_a_copy_and_goes_with_the_vectors():
    blank, fitted = GRNF(4, random_state=0), GRNF(4, random_state=0).fit([cycle(3)])
    found = vectors_of([cycle(3), cycle(4)], blank)
    assert not hasattr(blank, "n_components_")
    np.testing.assert_array_equal(found.vectors, found.transformer.transform([cycle(3), cycle(4)]))
    assert vectors_of([cycle(5)], fitted).transformer is fitted
    assert vectors_of(found.vectors, blank).transformer is None
    assert vectors_of(found.vectors, fitted).transformer is fitted
    assert fitted.embed([cycle(5)]).transformer is fitted
    with pytest.raises(GraphError, match="Y holds graphs, and nothing is known that makes vectors"):
        vectors_of([cycle(5)], name="Y")


@pytest.mark.parametrize("transformer", [GRNF(4, random_state=0), GRNF(4, random_state=0, on_error="nan")])
def test_bad_graphs_and_vectors_are_left_out_and_reported(transformer):
    graphs = [*named("a", "b", "c"), None, *named("d")]
    found = vectors_of(graphs, transformer, on_error="skip", keep_graphs=True)
    assert (found.n_rows, found.rows.tolist(), found.ids) == (5, [0, 1, 2, 4], ["a", "b", "c", "d"])
    assert found.all_ids == ["a", "b", "c", "3", "d"]
    assert [graph.graph_id for graph in found.graphs] == found.ids
    assert [row for row, _ in found.errors] == [3]
    np.testing.assert_array_equal(found.vectors, found.transformer.transform([*graphs[:3], graphs[4]]))
    Z = found.vectors.copy()
    Z[1, 0], Z[2, 1] = np.inf, 2e18
    left = vectors_of(Z, on_error="skip", ids=list("wxyz"))
    assert (left.rows.tolist(), left.ids) == ([0, 3], ["w", "z"])
    assert left.errors == [(row, "the vector holds NaN, infinity or a number beyond 1e+18") for row in (1, 2)]
    with pytest.raises(GraphError, match=r"X\[1\]: the vector holds NaN, .* \(id 'x'\)"):
        vectors_of(Z, ids=list("wxyz"))
    for given, where, index in ((graphs, "the stream", 13), (Z, "the stream", 11)):
        with pytest.raises(GraphError) as caught:
            vectors_of(given, transformer, name=where, start=10)
        assert (caught.value.where, caught.value.index) == (where, index)


def test_errors_of_a_collection_are_settled():
    """What was left out when a collection was read is no error again, and stays in the report."""
    read = Collection(4, np.array([0, 3]), [(1, "bad"), (2, "worse")], graphs=named("a", "d"), name="f.smi")
    found = vectors_of(read, GRNF(4, random_state=0))
    assert (found.name, found.n_rows, found.rows.tolist(), found.errors) == ("f.smi", 4, [0, 3], read.errors)
    grnf = GRNF(4, random_state=0).fit(read)
    np.testing.assert_array_equal(grnf.embed(read).vectors, found.vectors)
    filled = grnf.embed(read, on_error="nan").vectors
    assert np.isnan(filled).all(axis=1).tolist() == [False, True, True, False]
    bad = Collection(2, np.arange(2), graphs=[cycle(3), None], name="f.smi")
    with pytest.raises(GraphError) as caught:
        vectors_of(bad, GRNF(4, random_state=0), name="X")
    assert (caught.value.where, caught.value.index) == ("f.smi", 1)
    with pytest.raises(GraphError, match="X must be graphs, got vectors"):
        grnf.transform(collect(np.zeros((2, 4))))


def test_collections_are_checked():
    with pytest.raises(GraphError, match="X: 1 ids for 2 graphs"):
        collect(np.zeros((2, 4)), ids=["a"])
    for nothing in ([], np.zeros((0, 4)), np.zeros((3, 0))):
        with pytest.raises(GraphError, match="Y is empty"):
            collect(nothing, name="Y")

    class Short:
        def transform(self, graphs):
            return np.zeros((len(graphs) - 1, 2))

    with pytest.raises(GraphError, match="1 vectors of 2 graphs"):
        vectors_of([cycle(3), cycle(4)], Short())


def test_some_of_a_collection():
    encoder, found = fit_encode(named("a", "b", "c"), AttributeEncoder())
    some = found.take(np.array([True, False, True]))
    assert (some.ids, some.batch.sizes.tolist(), some.n_rows) == (["a", "c"], [3, 5], 3)
    assert encode(named("a"), encoder).embed(lambda batch: batch.sizes[:, None], 1, float).vectors == [[3]]
    kept = collect(named("a", "b", "c")).take(np.array([2, 0]))
    assert [graph.graph_id for graph in kept.graphs] == kept.ids == ["c", "a"]
