"""The function from Arrow block to Arrow block, by itself and in the hands of others."""

import pickle

import numpy as np
import pytest

from grnf import GRNF, GraphError, GrnfWarning
from grnf.datasets import make_sbm
from grnf.io import read_graphs, write_graphs
from grnf.scale import BlockEmbedder
from optional import require

pa = require("pyarrow")
ds = require("pyarrow.dataset")
pq = require("pyarrow.parquet")

require("rdkit")

SMILES = ["CO", "O", "c1ccccc1", "CCN", "CC(=O)O", "C1CC1"]


@pytest.fixture(scope="module")
def embed():
    return BlockEmbedder(GRNF(8, random_state=0))


@pytest.fixture
def table():
    return pa.table({"name": list("abcdef"), "SMILES": SMILES, "n": range(6)})


def vectors(made, column="embedding"):
    return np.array(made.column(column).to_pylist(), dtype=np.float32)


def test_vectors_of_smiles_are_those_of_the_transformer(embed, table):
    made = embed(table)
    expected = GRNF(8, random_state=0).fit_transform(SMILES)
    np.testing.assert_array_equal(vectors(made), expected)
    assert made.select(["name", "SMILES", "n"]).equals(table)
    assert made.schema.equals(embed.schema(table.schema))


def test_it_does_not_matter_how_rows_are_cut(embed, table):
    whole = vectors(embed(table))
    batches = table.to_batches(max_chunksize=2)
    fresh = BlockEmbedder(GRNF(8, random_state=0))  # which has not seen the labels of other rows
    np.testing.assert_array_equal(
        np.concatenate([vectors(fresh(batch)) for batch in reversed(batches)]),
        np.concatenate([whole[start : start + 2] for start in (4, 2, 0)]),
    )
    parts = list(embed.each(batches))
    assert all(isinstance(part, pa.RecordBatch) for part in parts)
    np.testing.assert_array_equal(np.concatenate([vectors(part) for part in parts]), whole)
    np.testing.assert_array_equal(vectors(embed(pa.Table.from_batches(batches))), whole)
    np.testing.assert_array_equal(vectors(embed(table.slice(3))), whole[3:])
    assert embed(table.slice(0, 0)).num_rows == embed(batches[0].slice(0, 0)).num_rows == 0


def test_it_can_be_pickled_and_changes_nothing(embed, table):
    before = pickle.dumps(embed)
    again = pickle.loads(before)
    assert again(table).equals(embed(table))
    assert pickle.dumps(embed) == before


def test_rows_of_graphs(tmp_path):
    graphs, _ = make_sbm(6, random_state=0)
    write_graphs(tmp_path / "g.parquet", graphs)
    raws = list(read_graphs(tmp_path / "g.parquet"))
    grnf = GRNF(8, random_state=0).fit(raws)
    found = ds.dataset(tmp_path / "g.parquet")
    made = pa.Table.from_batches(BlockEmbedder(grnf).each(found.to_batches(batch_size=4)))
    np.testing.assert_array_equal(vectors(made), grnf.transform(raws))
    assert made.column_names == ["graph_id", "y", "embedding"]
    foreign = pa.table({"edge_index": [[[0, 1], [1, 0]]], "num_nodes": [3], "label": [7]})
    assert BlockEmbedder(grnf, column="z")(foreign).column_names == ["label", "z"]
    with pytest.raises(GraphError, match="not fitted: fit it on some of these graphs"):
        BlockEmbedder(GRNF(8))(foreign)


def test_rows_that_cannot_be_used(embed, table):
    bad = pa.table({"graph_id": ["a", "b", "c"], "smiles": ["CO", None, "C("]})
    with pytest.raises(GraphError, match=r"row 1 of the block \(graph b\): the SMILES is missing"):
        embed(bad)
    made = BlockEmbedder(embed.transformer, on_error="nan")(bad)
    assert np.isnan(vectors(made)).all(axis=1).tolist() == [False, True, True]
    assert [reason is None for reason in made.column("error").to_pylist()] == [True, False, False]
    with pytest.warns(GrnfWarning, match="2 of 3 samples are left out: rows 1, 2"):
        assert BlockEmbedder(embed.transformer, on_error="skip")(bad).column("graph_id").to_pylist() == ["a"]


def test_columns(embed, table):
    made = BlockEmbedder(embed.transformer, keep=["n"], column="z", smiles="SMILES")(table)
    assert made.column_names == ["n", "z"]
    for options, message in (
        ({"keep": ["m"]}, "no column 'm'"),
        ({"smiles": "text"}, "no column 'text'"),
        ({"column": "n"}, "has a column 'n' already"),
    ):
        with pytest.raises(GraphError, match=message):
            BlockEmbedder(embed.transformer, **options)(table)
    with pytest.raises(GraphError, match="neither edge_index nor SMILES"):
        embed(pa.table({"x": [1]}))
    with pytest.raises(GraphError, match="must be an Arrow RecordBatch or Table, got list"):
        embed(["CO"])


def test_with_pyarrow_data_sets(embed, table, tmp_path):
    for place in range(2):
        pq.write_table(table.slice(3 * place, 3), tmp_path / f"{place}.parquet")
    found = ds.dataset(tmp_path)
    made = pa.RecordBatchReader.from_batches(embed.schema(found.schema), embed.each(found.to_batches()))
    ds.write_dataset(made, tmp_path / "out", format="parquet")
    again = ds.dataset(tmp_path / "out").to_table().sort_by("n")
    np.testing.assert_array_equal(vectors(again), vectors(embed(table)))


@pytest.mark.filterwarnings("ignore")  # of its own
def test_with_duckdb(embed, table):
    duckdb, rows = require("duckdb"), table  # noqa: F841 by name
    connection = duckdb.connect()
    reader = connection.sql("select * from rows").to_arrow_reader(2)
    made = pa.RecordBatchReader.from_batches(embed.schema(reader.schema), embed.each(reader))  # noqa: F841
    found = connection.cursor().sql("select * from made order by n").to_arrow_table()
    np.testing.assert_array_equal(vectors(found), vectors(embed(table)))


@pytest.mark.filterwarnings("ignore")  # of its own
def test_with_hugging_face_data_sets(embed, table):
    datasets = require("datasets")
    if not hasattr(datasets, "Dataset"):  # a folder of these tests has the same name
        pytest.skip("could not import 'datasets' of Hugging Face")
    datasets.disable_progress_bars()
    plain = datasets.Dataset(table).map(embed, batched=True, batch_size=4)
    arrow = datasets.Dataset(table).with_format("arrow").map(embed, batched=True, batch_size=4)
    for made in (plain.with_format("arrow")[:], arrow[:]):
        np.testing.assert_array_equal(vectors(made), vectors(embed(table)))


@pytest.mark.filterwarnings("ignore")  # of its own
def test_with_ray(embed, table, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    ray = require("ray")
    require("ray.data")
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, _temp_dir="/tmp/grnf-ray")
    try:
        made = ray.data.from_arrow(table).map_batches(embed, batch_format="pyarrow").to_pandas()
    finally:
        ray.shutdown()
    found = np.stack(made.sort_values("n")["embedding"].to_list())
    np.testing.assert_array_equal(found, vectors(embed(table)))
