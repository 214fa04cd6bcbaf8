"""`grnf cluster`, `split` and `pick`, as a user runs them."""

import json

import numpy as np
import pytest

from cli.small_sets import rows
from optional import require

SMILES = ["Cc1ccccc1", "CCc1ccccc1", "Oc1ccccc1", "C1CCNCC1", "CN1CCCCC1", "CCO", "CC", "CCO"]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "molecules.csv"
    lines = [f"m{row},{text},{row % 2},{'test' if row > 5 else 'train'}" for row, text in enumerate(SMILES)]
    path.write_text("\n".join(["name,smiles,active,fold", *lines]) + "\n")
    return path


@pytest.mark.slow
def test_cluster(call, table, tu, tmp_path):
    require("rdkit")
    done = call("cluster", table, "--id-column", "name", "--keep", "active", "--radius", 0.001)
    found = rows(done)
    assert list(found[0]) == ["id", "cluster", "size", "representative", "smiles", "active"]
    assert [(row["id"], row["representative"]) for row in found if row["size"] == "2"] == [
        ("m5", "m7"),
        ("m7", "m7"),
    ]
    assert "8 graphs, 7 clusters, 6 graphs alone" in done.stderr
    done = call(
        "cluster", table, "--id-column", "name", "--radius", 0.001, "--only-representatives", "--json"
    )
    assert len(json.loads(done.stdout)) == 7
    for space in ("joint", "d_P", "whitened"):
        done = call("cluster", tu, "--space", space, "-m", 32, "-o", tmp_path / f"{space}.csv")
        assert (done.returncode, "25 graphs" in done.stdout, "radius" in done.stderr) == (0, True, True)
    pq = require("pyarrow.parquet")
    done = call("cluster", tu, "--method", "hdbscan", "--min-cluster-size", 3, "-o", tmp_path / "c.parquet")
    assert "graphs of noise" in done.stdout, done.stderr
    assert pq.read_table(tmp_path / "c.parquet").num_rows == 25
    np.save(tmp_path / "z.npy", np.arange(10.0)[:, np.newaxis])
    done = call("cluster", tmp_path / "z.npy", "--radius", 1.0)
    assert len({row["cluster"] for row in rows(done)}) == 5


def test_split_and_leakage(call, table, tu, tmp_path):
    require("rdkit")
    done = call(
        "split", table, "--id-column", "name", "--sizes", "1,1", "--radius", 0.001, "--keep", "active"
    )
    found = rows(done)
    assert list(found[0]) == ["id", "part", "distance", "nearest", "smiles", "active"]
    assert found[5]["part"] == found[7]["part"]
    assert all((row["part"] == "train") == (row["nearest"] == "") for row in found)
    done = call(
        "split", table, "--parts-column", "fold", "--radius", 0.001, "--json", "-o", tmp_path / "s.json"
    )
    summary = json.loads(done.stdout)
    assert (summary["train"], summary["test"], summary["least distance between parts"]) == (6, 2, 0)
    assert summary["graphs within the radius of an earlier part"] == 1
    assert json.loads((tmp_path / "s.json").read_text())[7]["nearest"] == "5"
    (tmp_path / "new.smi").write_text("CCO\nCCCCCC\n")
    done = call("split", table, tmp_path / "new.smi", "--radius", 0.001, says="8 molecules, 2 new, ")
    assert "1 graph within 0.001 of an earlier part" in done.stderr
    done = call("split", table, "--by", "scaffold", "--sizes", "3,2,3")
    parts = [row["part"] for row in rows(done)]
    assert {"train", "validation", "test"} == set(parts)
    assert len(set(parts[:3])) == len(set(parts[3:5])) == 1
    done = call("split", tu, "--by", "random", "--space", "d_P", "-m", 32, "--sizes", "3,2")
    assert "15 train, 10 test" in done.stderr, done.stderr
    done = call("split", table, "--parts-column", "name")
    call("split", tu, "--radius", 100, code=1, says="Choose a smaller radius")


def test_pick(call, table):
    require("rdkit")
    done = call("pick", table, "--id-column", "name", "-n", 3, "--first", "m2", "--first", "m5")
    found = rows(done)
    assert done.returncode == 0, done.stderr
    assert list(found[0]) == ["rank", "id", "distance", "smiles"]
    assert [row["id"] for row in found[:2]] == ["m2", "m5"]
    assert found[0]["distance"] == ""
    assert "8 graphs, 8 picked" in call("pick", table, "-n", 20).stderr
    call("pick", table, "--first", "none", code=1, says="no graph has the id 'none'")
