"""What a table says of molecules beside their vectors: the SMILES, and the columns that --keep names."""

import csv
import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

from cli.small_sets import rows
from cli.test_resume import COUNT, WRITE, stop
from grnf import GRNF
from grnf.estimators import embed_stream, fit_stream
from grnf.io import read_blocks, read_graphs
from grnf.io.raw import Cell, joined, sized
from grnf.io.vectors import holds_vectors, read_vectors
from optional import require

pa = require("pyarrow")
pq = require("pyarrow.parquet")

require("rdkit")

# as given: no canonical forms; the third is no molecule, the last row has no SMILES
SMILES = ["OC", "C1CC1", "C(", "c1ccccc1O", "N#CC", None]
PHASE = [1, 2, 3, None, 5, 6]
LOGP = ["1.50", "-2", "0.25", "", "NA", "3e-1"]
CODE = ["007", "12", "A,1", "", "1.50", '"q"']
KEEP = ["--keep", "phase", "--keep", "logP", "--keep", "code"]


def write_table(path):
    """The same six molecules in the format that the suffix says."""
    if path.suffix == ".smi":
        path.write_text("".join(f"{smiles} m{row}\n" for row, smiles in enumerate(SMILES[:5])))
    elif path.suffix == ".parquet":
        logp = [1.5, -2.0, 0.25, None, None, 0.3]
        columns = {"graph_id": [f"m{row}" for row in range(6)], "SMILES": SMILES, "phase": PHASE}
        table = pa.table({**columns, "logP": logp, "code": [code or None for code in CODE]})
        pq.write_table(table, path)
    else:
        with open(path, "w", newline="") as file:
            table = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            table.writerow(["graph_id", "SMILES", "phase", "logP", "code"])
            for row in range(6):
                table.writerow([f"m{row}", SMILES[row], PHASE[row], LOGP[row], CODE[row]])
    return path


@pytest.fixture(params=[".csv", ".tsv", ".parquet"])
def table(request, tmp_path):
    return write_table(tmp_path / f"t{request.param}")


def embed(call, source, output, *options):
    return call("embed", source, "-o", output, "-m", 4, "--on-error", "nan", *options)


def test_parquet_has_smiles_and_kept_columns_in_their_types(call, table, tmp_path):
    embed(call, table, tmp_path / "z.parquet", *KEEP, "--keep", "phase")
    found = pq.read_table(tmp_path / "z.parquet")
    assert found.column_names == ["graph_id", "smiles", "phase", "logP", "code", "embedding"]
    types = [found.schema.field(name).type for name in ("smiles", "phase", "logP", "code")]
    assert types == [pa.string(), pa.int64(), pa.float64(), pa.string()]
    assert found["graph_id"].to_pylist() == [f"m{row}" for row in range(6)]
    assert found["smiles"].to_pylist() == SMILES
    assert found["phase"].to_pylist() == PHASE
    assert found["logP"].to_pylist() == [1.5, -2.0, 0.25, None, None, 0.3]
    assert found["code"].to_pylist() == [code or None for code in CODE]
    bad = np.isnan(read_vectors(tmp_path / "z.parquet").Z).all(axis=1)
    assert bad.tolist() == [False, False, True, False, False, True]
    records = json.loads((tmp_path / "z.parquet.json").read_text())["bad"]
    assert [sorted(record) for record in records] == [["graph_id", "index", "reason", "row"]] * 2


def test_other_outputs_have_the_same(call, table, tmp_path):
    embed(call, table, tmp_path / "z.csv", *KEEP)
    found = rows(tmp_path / "z.csv")
    assert list(found[0])[:6] == ["graph_id", "y", "smiles", "phase", "logP", "code"]
    assert [row["smiles"] for row in found] == [smiles or "" for smiles in SMILES]
    assert [row["code"] for row in found] == CODE
    assert [row["phase"] for row in found] == [str(phase or "") for phase in PHASE]
    if table.suffix != ".parquet":
        assert [row["logP"] for row in found] == LOGP  # a text as it was
    assert rows(embed(call, table, "-", *KEEP)) == found
    embed(call, table, tmp_path / "z.npz", *KEEP)
    with np.load(tmp_path / "z.npz", allow_pickle=False) as arrays:
        assert arrays["smiles"].tolist() == [smiles or "" for smiles in SMILES]
        np.testing.assert_array_equal(arrays["phase"], [1, 2, 3, np.nan, 5, 6])
        np.testing.assert_array_equal(arrays["logP"], [1.5, -2, 0.25, np.nan, np.nan, 0.3])
        assert arrays["code"].tolist() == CODE
    embed(call, table, tmp_path / "z.npy")
    assert np.load(tmp_path / "z.npy").shape == (6, 4)


def test_lines_of_smiles(call, tmp_path):
    source = write_table(tmp_path / "t.smi")
    embed(call, source, tmp_path / "z.parquet")
    found = pq.read_table(tmp_path / "z.parquet")
    assert found["smiles"].to_pylist() == SMILES[:5]
    keep = "--keep", "phase"
    call("embed", source, "-o", tmp_path / "y.parquet", *keep, code=2, says="needs a SMILES table")


def test_rows_stay_aligned_when_bad_ones_are_left_out(call, table, tmp_path):
    embed(call, table, tmp_path / "z.parquet", *KEEP, "--on-error", "skip", "--block-size", 2)
    found = pq.read_table(tmp_path / "z.parquet")
    good = [0, 1, 3, 4]
    assert found["smiles"].to_pylist() == [SMILES[row] for row in good]
    assert found["phase"].to_pylist() == [PHASE[row] for row in good]
    assert found["code"].to_pylist() == [CODE[row] or None for row in good]
    alone = GRNF.load(tmp_path / "z.parquet.json").transform([SMILES[row] for row in good])
    np.testing.assert_allclose(read_vectors(tmp_path / "z.parquet").Z, alone, rtol=1e-6)


def test_several_processes(call, tmp_path):
    lines = [("C(" if row % 700 == 5 else "C" * (1 + row % 9) + "O", row) for row in range(2500)]
    text = "\n".join(f"{smiles},{row}" for smiles, row in lines)
    (tmp_path / "t.csv").write_text(f"smiles,row\n{text}\n")
    options = ["--keep", "row", "--n-jobs", 2, "--block-size", 300]
    embed(call, tmp_path / "t.csv", tmp_path / "z.parquet", *options)
    found = pq.read_table(tmp_path / "z.parquet")
    assert list(zip(found["smiles"].to_pylist(), found["row"].to_pylist(), strict=True)) == lines
    bad = np.isnan(read_vectors(tmp_path / "z.parquet").Z[:, 0])
    assert np.flatnonzero(bad).tolist() == [5, 705, 1405, 2105]


def test_a_table_that_is_cut_off(call, tmp_path):
    text = "smiles,row\n" + "".join(f"{'C' * (1 + row * row % 23)}O,{row}\n" for row in range(3000))
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode())[:-200])
    embed(call, tmp_path / "t.csv.gz", tmp_path / "z.parquet", "--keep", "row", "--block-size", 100)
    found = pq.read_table(tmp_path / "z.parquet")
    good = len(found) - 1
    assert 1000 < good < 3000
    assert found["row"].to_pylist()[:good] == list(range(good))
    assert found["row"].to_pylist()[good] is None


def test_standard_input_and_a_format_by_name(fork, call, tmp_path):
    source = write_table(tmp_path / "t.csv")
    embed(call, source, tmp_path / "y.csv", "--keep", "code")
    options = ["-o", tmp_path / "z.csv", "-m", 4, "--on-error", "nan", "--keep", "code"]
    fork("", "embed", "-", *options, "--format", "csv", stdin=source)
    assert (tmp_path / "z.csv").read_text() == (tmp_path / "y.csv").read_text()


def test_a_row_with_too_many_fields_keeps_nothing(call, tmp_path):
    (tmp_path / "t.csv").write_text("smiles,phase\nCO,1\nCC,x,2\nCN,3\n")
    embed(call, tmp_path / "t.csv", tmp_path / "z.parquet", "--keep", "phase")
    found = pq.read_table(tmp_path / "z.parquet")
    assert found["phase"].to_pylist() == [1, None, 3]
    assert found["smiles"].to_pylist() == ["CO", None, "CN"]


def test_a_folder_of_tables(call, tmp_path):
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "a.csv").write_text("smiles,phase\nCO,1\nC(,2\n")
    (tmp_path / "f" / "b.csv").write_text("phase,smiles\n3,CN\n")
    embed(call, tmp_path / "f", tmp_path / "z.parquet", "--format", "smiles", "--keep", "phase")
    found = pq.read_table(tmp_path / "z.parquet")
    assert found["smiles"].to_pylist() == ["CO", "C(", "CN"]
    assert found["phase"].to_pylist() == [1, 2, 3]


@pytest.mark.parametrize("table", [".csv", ".parquet"], indirect=True)
def test_resume(call, fork, table, tmp_path):
    job = ["embed", table, "-o", tmp_path / "z.parquet", "-m", 4, "--on-error", "nan", "--block-size", 2]
    fork(stop(WRITE, "SIGINT", 3), *job, *KEEP, code=130)
    for other, message in (
        (["--keep", "phase"], "input.options.keep was ['phase', 'logP', 'code'], now ['phase']"),
        ([], "input.options.keep was ['phase', 'logP', 'code'], now None"),
    ):
        call(*job, *other, "--resume", code=1, says=message)
    fork(COUNT, *job, *KEEP, "--resume", says="computed 2")
    embed(call, table, tmp_path / "whole.parquet", *KEEP)
    Z, expected = (read_vectors(tmp_path / f"{each}.parquet").Z for each in ("z", "whole"))
    np.testing.assert_array_equal(Z, expected)
    for name in ("graph_id", "smiles", "phase", "logP", "code"):
        resumed, whole = (pq.read_table(tmp_path / f"{each}.parquet")[name] for each in ("z", "whole"))
        assert resumed.type == whole.type
        assert resumed.to_pylist() == whole.to_pylist()


@pytest.mark.parametrize("name", ["graph_id", "y", "embedding", "grnf0", "grnf12", "smiles"])
def test_names_that_the_output_has_already(call, tmp_path, name):
    (tmp_path / "t.csv").write_text(f"Drug,{name}\nCCO,1\nCCN,2\n")
    options = ["-o", tmp_path / "z.csv", "--smiles-column", "Drug", "--keep", name]
    reason = f"differ from those of the columns of vectors, got {name!r}"
    reason = "SMILES are always kept" if name == "smiles" else reason
    call("embed", tmp_path / "t.csv", *options, code=2, says=reason)
    assert not (tmp_path / "z.csv").exists()


def test_columns_that_are_not_there(call, table, tu, tmp_path):
    for more in ([], ["--on-error", "nan"], ["--smiles-column", "SMILES"]):
        result = call("embed", table, "-o", tmp_path / "z.csv", "--keep", "Phase", *more, code=1)
        assert (
            "'Phase': did you mean 'phase'? Available: ['graph_id', 'SMILES', 'phase', 'logP', 'code']"
            in result.stderr
        )
    call("embed", tu, "-o", tmp_path / "z.csv", "--keep", "phase", code=2, says="needs a SMILES table")
    call("embed", table, "-o", tmp_path / "z.npy", "--keep", "phase", code=2, says=".parquet, .npz or .csv")


@pytest.mark.parametrize("suffix", ["parquet", "npz", "csv"])
def test_vectors_with_columns_are_read_as_vectors(call, tmp_path, suffix):
    source = write_table(tmp_path / "t.csv")
    output = tmp_path / f"z.{suffix}"
    embed(call, source, output, *KEEP, "--on-error", "skip")
    assert holds_vectors(output)
    assert read_vectors(output).Z.shape == (4, 4)
    for command in ("distances", "info"):
        result = call(command, output, *(["-o", "-"] if command == "distances" else []))
        assert "m4" in result.stdout or command == "info"


def test_library(tmp_path):
    source = write_table(tmp_path / "t.csv")
    keep = {"keep": ["code", "phase"], "on_error": "yield"}
    (batch,) = read_blocks(source, **keep)
    assert list(batch.graph_columns) == ["smiles", "code", "phase"]
    assert batch.graph_columns["smiles"] == SMILES
    assert [graph.graph_columns for graph in batch] == [g.graph_columns for g in read_graphs(source, **keep)]
    assert batch.take([4, 0]).graph_columns["code"] == ["1.50", "007"]
    other = replace(batch, graph_columns={"smiles": SMILES})
    again = [block.graph_columns for block in sized([batch, other], 4)]
    assert [smiles for columns in again for smiles in columns["smiles"]] == SMILES * 2
    phases = [phase for columns in again for phase in columns["phase"]]
    assert phases == [*batch.graph_columns["phase"], *[None] * 6]
    both = joined([([3, 0], batch.take([1, 0])), ([1], other.take([3]))], 4, {2: "bad"})
    assert both.graph_columns["smiles"] == ["OC", "c1ccccc1O", None, "C1CC1"]
    assert both.graph_columns["phase"] == ["1", None, None, "2"]
    assert joined([([2, 0], batch.take([1, 0]))], 3, {1: "bad"}).graph_columns["phase"] == ["1", None, "2"]
    grnf = fit_stream(GRNF(4, random_state=0), read_blocks(source, **keep), on_error="skip")
    for stream in (read_blocks(source, **keep), read_graphs(source, **keep)):
        ((block, bad),) = embed_stream(grnf, stream, on_error="skip")
        assert [graph.index for graph in bad] == [2, 5]
        assert block.columns["code"] == ["007", "12", None, "1.50"]
    assert all(isinstance(value, Cell) for value in block.columns["phase"] if value is not None)
