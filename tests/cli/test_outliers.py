"""`grnf outliers`, as a user runs it."""

import json

import numpy as np
import pytest

from cli.small_sets import rows
from optional import require


@pytest.fixture
def vectors(tmp_path):
    generator = np.random.default_rng(0)
    np.save(tmp_path / "usual.npy", generator.normal(size=(300, 4)))
    np.save(tmp_path / "new.npy", np.concatenate([generator.normal(size=(40, 4)), np.full((6, 4), 9.0)]))
    return tmp_path


def test_beside_a_reference(call, vectors):
    files = vectors / "new.npy", "--reference", vectors / "usual.npy"
    done = call("outliers", *files, "-o", vectors / "scores.csv", "--fdr", 0.2)
    assert "46 graphs" in done.stdout
    found = rows(vectors / "scores.csv")
    assert list(found[0]) == ["id", "score", "pvalue", "adjusted", "outlier", "nearest", "distance"]
    assert {row["id"] for row in found if row["outlier"] == "True"} >= {str(i) for i in range(40, 46)}
    assert all(0 <= int(row["nearest"]) < 300 for row in found)
    done = call("outliers", *files, "--json", "--only-outliers", "--fdr", 0.2)
    assert {row["id"] for row in json.loads(done.stdout)} >= {str(i) for i in range(40, 46)}


def test_too_few_reference_graphs(call, vectors):
    np.save(vectors / "few.npy", np.load(vectors / "usual.npy")[:40])
    done = call("outliers", vectors / "new.npy", "--reference", vectors / "few.npy", "--fdr", 0.01)
    assert "too few reference graphs for --fdr 0.01" in done.stderr
    assert "got 40" in done.stderr


def test_parquet(call, vectors):
    pq = require("pyarrow.parquet")
    call("outliers", vectors / "new.npy", "--reference", vectors / "usual.npy", "-o", vectors / "o.parquet")
    table = pq.read_table(vectors / "o.parquet")
    kinds = ["string", *["double"] * 3, "bool", "string", "double"]
    assert [str(kind) for kind in table.schema.types] == kinds


def test_graphs_among_themselves(call, tu, tmp_path):
    options = "--space", "whitened", "-m", 32, "-k", 2, "--contamination", 0.08
    done = call("outliers", tu, *options, "-o", tmp_path / "o.json", "--json")
    assert json.loads(done.stdout) == {"output": str(tmp_path / "o.json"), "graphs": 25, "outliers": 2}
    found = json.loads((tmp_path / "o.json").read_text())
    assert all(row["nearest"] != row["id"] for row in found)
    assert all(0 < row["pvalue"] <= 1 for row in found)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["one.npy", "--reference", "one.npy"], "at least two graphs"),
        (["new.npy", "-k", "400"], "smaller n_neighbors"),
        (["new.npy", "--reference", "nan.npy"], "nan.npy, graph 3: the vector holds NaN"),
        (["new.npy", "--reference", "wide.npy"], "Make both with the same transformer"),
    ],
)
def test_clear_errors(call, vectors, monkeypatch, arguments, what):
    monkeypatch.chdir(vectors)
    np.save("one.npy", np.ones((1, 4)))
    np.save("wide.npy", np.ones((20, 5)))
    np.save("nan.npy", np.where(np.arange(20)[:, None] == 3, np.nan, np.ones((20, 4))))
    call("outliers", *arguments, code=1, says=what)
