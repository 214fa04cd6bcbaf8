"""`grnf map`, as a user runs it."""

import json
from pathlib import Path

import numpy as np

from grnf.maps import GraphMap
from map_pages import meta_of, parts_of
from optional import require

MOLECULES = Path(__file__).parents[1] / "data" / "molecules.csv"


def test_map_of_a_benchmark_set(call, tu, tmp_path):
    page = tmp_path / "map.html"
    command = "map", tu, "-o", page, "-m", 32, "-k", 3, "--title", "A <set>", "--layout", "pca"
    done = call(*command)
    assert f"{page}: 25 graphs" in done.stdout
    assert page.as_uri() in done.stdout
    html = page.read_text(encoding="utf-8")
    assert "<title>A &lt;set&gt;</title>" in html
    assert meta_of(html)["columns"][0]["name"] == "label"
    assert meta_of(html)["about"][-1].startswith("Command: grnf map ")
    assert "--title 'A <set>'" in meta_of(html)["about"][-1]
    assert (meta_of(html)["k"], meta_of(html)["n"]) == (3, 25)
    assert (meta_of(html)["bars"], meta_of(html)["title"]) == (0, "joint distance")
    call("map", tu, "-o", page, code=1, says="--force")
    call(*command, "--force")
    assert page.read_text(encoding="utf-8") == html


def test_columns_of_a_table_are_colors(call, tmp_path):
    require("rdkit")
    page = tmp_path / "map.html"
    options = "--id-column", "name", "--color", "target", "--on-error", "skip", "--space", "d_P"
    done = call("map", MOLECULES, "-o", page, "-m", 32, "--layout", "pca", *options, "--json")
    answer = json.loads(done.stdout)
    assert answer["graphs"] + answer["left_out"] == 21
    assert answer["left_out"] > 0
    html = page.read_text(encoding="utf-8")
    meta = meta_of(html)
    assert (meta["bars"], meta["title"]) == (1, "d_P with standard errors")
    assert "aspirin" in json.loads(parts_of(html)["ids"])
    assert meta["columns"][meta["first"]]["name"] == "target"
    assert meta["texts"] == ["smiles"]
    assert json.loads(parts_of(html)["t0"])[0] == ["CC(=O)Oc1ccccc1C(=O)O"]


def test_bad_molecules_stop_or_are_told(call, tmp_path):
    require("rdkit")
    table = tmp_path / "bad.csv"
    table.write_text("smiles,mass\nCCO,1\nnot one,2\nCCN,3\nCCC,4\n")
    call("map", table, "-o", tmp_path / "map.html", "-m", 16, code=1, says="line 3")
    assert not (tmp_path / "map.html").exists()
    done = call("map", table, "-o", tmp_path / "map.html", "-m", 16, "--on-error", "skip")
    assert "1 graph could not be used (left out)" in done.stderr
    assert "3 graphs" in done.stdout


def test_new_graphs_on_a_saved_map(call, tu, tmp_path):
    layout = "--layout", "pca", "--save-layout", tmp_path / "a.npz"
    done = call("map", tu, "-o", tmp_path / "a.html", "-m", 32, *layout)
    done = call("map", tu, "-o", tmp_path / "b.html", "--onto", tmp_path / "a.npz", "--json")
    assert json.loads(done.stdout)["graphs"] == 50
    done = call("map", tu, "-o", tmp_path / "c.html", "--onto", tmp_path / "a.npz", "-m", 64, code=2)
    assert "are fixed" in done.stderr


def test_molecules_are_read_as_those_of_the_saved_map(call, tmp_path):
    require("rdkit")
    table, saved = tmp_path / "t.csv", tmp_path / "a.npz"
    table.write_text("smiles\nC[C@H](F)Cl\nC[C@@H](F)Cl\nCCCO\nCCN\n")
    options = "--layout", "pca", "--save-layout", saved, "--stereo"
    call("map", table, "-o", tmp_path / "a.html", *options)
    assert GraphMap.load(saved).molecules == ("stereo",)
    again = tmp_path / "b.npz"
    done = call("map", table, "-o", tmp_path / "b.html", "--onto", saved, "--save-layout", again)
    Z = GraphMap.load(again).vectors
    np.testing.assert_allclose(Z[:4], Z[4:], atol=1e-6)  # so stereochemistry was read
    done = call("map", table, "-o", tmp_path / "c.html", "--onto", saved, "--standardize", code=2)
    assert "--standardize was not used" in done.stderr


def test_two_datasets_are_compared(call, tmp_path):
    files = [tmp_path / "rings.jsonl", tmp_path / "paths.jsonl"]
    for path, closed in zip(files, (True, False), strict=True):
        graphs = ([[i, i + 1] for i in range(4 + n % 3)] + closed * [[4 + n % 3, 0]] for n in range(12))
        rows = [
            {
                "nodes": [{"id": i} for i in range(max(map(max, edges)) + 1)],
                "edges": [{"source": a, "target": b} for a, b in edges],
            }
            for edges in graphs
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    page = tmp_path / "map.html"
    call("map", *files, "-o", page, "-m", 32, "--layout", "pca")
    html = page.read_text(encoding="utf-8")
    meta = meta_of(html)
    assert (meta["n"], meta["columns"][meta["first"]]["name"]) == (24, "source")
    assert meta["columns"][meta["first"]]["categories"] == ["paths.jsonl", "rings.jsonl"]
    p = float(call("test", *files, "--json").stdout.split('"pvalue": ')[1].split(",")[0])
    assert p < 0.05
    assert f"<h1>rings.jsonl and paths.jsonl: p = {p:.3g} (grnf test)</h1>" in html


def test_no_graphs_make_an_empty_map(call, tmp_path):
    require("ijson")
    (tmp_path / "none.json").write_text("[]")
    done = call("map", tmp_path / "none.json", "-o", tmp_path / "map.html", "--format", "json")
    assert "the map is empty" in done.stderr
    assert meta_of((tmp_path / "map.html").read_text())["n"] == 0
