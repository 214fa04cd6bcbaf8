"""`grnf test` and `grnf evaluate`, as a user runs them."""

import json

import numpy as np
import pytest

from cli.small_sets import rows, write_tu
from optional import require


@pytest.fixture
def other(tmp_path):
    return write_tu(tmp_path / "OTHER", 20, seed=1)


def test_two_collections(call, tu, other, tmp_path):
    small = ("-m", 32, "--n-resamples", 99)
    done = call("test", tu, other, *small)
    assert "p = " in done.stdout
    assert "samples of 25, 20 graphs" in done.stdout
    assert "typical of the first sample" in done.stdout
    done = call("test", tu, other, *small, "--json", "--witnesses", 2)
    found = json.loads(done.stdout)
    assert 0.05 < found["pvalue"] <= 1
    assert len(found["witnesses_x"]) == 2
    done = call("test", tu, other, *small, "-o", tmp_path / "r.json", "-q")
    assert done.stdout == ""
    assert json.loads((tmp_path / "r.json").read_text())["pvalue"] == found["pvalue"]
    done = call("test", tu, other, *small, "-o", tmp_path / "r.csv", "--axes", "4", "--statistic", "mmd")
    first, second = rows(tmp_path / "r.csv")[:2]
    assert [first["view"], second["view"], second["axes"], second["width"]] == ["all", "plain", "4", "0.5"]
    done = call("test", tu, tu, *small, "--paired")
    assert "p = 1 " in done.stdout


def test_vectors_and_bad_usage(call, tu, tmp_path):
    random = np.random.default_rng(0)
    np.save(tmp_path / "a.npy", random.normal(size=(30, 4)))
    np.save(tmp_path / "b.npy", random.normal(1.5, 1, size=(30, 4)).astype(np.float32))
    done = call("test", tmp_path / "a.npy", tmp_path / "b.npy", "--n-resamples", 99, "--json")
    assert json.loads(done.stdout)["pvalue"] == 0.01
    call("test", tmp_path / "a.npy", tu, code=1, says="holds vectors and")
    call("test", tmp_path / "a.npy", tmp_path / "c.npy", code=1, says="c.npy")
    call("test", tu, tu, "-o", tmp_path / "r.txt", code=2, says=".json or .csv")
    done = call("test", tu, tu, "--axes", "a", code=2)
    call("test", "-", "-", "--format", "graph6", code=2, says="only once")
    (tmp_path / "empty.g6").write_text("")
    call("test", tu, tmp_path / "empty.g6", code=1, says="empty.g6")


def test_bad_graphs_are_invalid(call, tmp_path):
    lines = ["Bw", "Bg", "BW", "C~", "Cr", "CF", "C^"]
    (tmp_path / "a.g6").write_text("\n".join([*lines[:4], "C~~~~", *lines[4:]]) + "\n")
    (tmp_path / "b.g6").write_text("\n".join(lines) + "\n")
    small = (tmp_path / "a.g6", tmp_path / "b.g6", "-m", 16, "--n-resamples", 99)
    for command in ("test", "evaluate"):
        call(command, *small, code=1, says="a.g6")
    done = call("evaluate", *small, "--on-error", "skip", "--json")
    assert "1 graph could not be used (left out)" in done.stderr
    assert json.loads(done.stdout)["scores"]["validity"]["value"] == 7 / 8
    done = call("test", *small, "--on-error", "skip", "--json")
    assert json.loads(done.stdout)["sizes"] == [7, 7]


def test_evaluation(call, tu, other, tmp_path, monkeypatch):
    small = ("-m", 32, "--n-resamples", 19)
    done = call("evaluate", tu, other, *small)
    assert "energy distance" in done.stdout
    assert "25 generated, 20 reference graphs" in done.stdout
    for suffix, start in (
        (".tex", r"\begin{tabular}"),
        (".md", "| score"),
        (".csv", "score,"),
    ):
        done = call("evaluate", tu, other, *small, "-q", "-o", tmp_path / f"r{suffix}")
        assert done.stdout == ""
        assert (tmp_path / f"r{suffix}").read_text().startswith(start)
    call("evaluate", tu, other, *small, "-o", tmp_path / "r.md", code=1, says="--force")
    (tmp_path / "rules.py").write_text("def small(graph):\n    return graph.n_nodes < 5\n")
    monkeypatch.chdir(tmp_path)
    done = call("evaluate", tu, other, *small, "--valid", "rules:small", "--json")
    assert 0 < json.loads(done.stdout)["scores"]["validity"]["value"] < 1
    call("evaluate", tu, other, "--valid", "rules:large", code=2, says="--valid must be MODULE:FUNCTION")
    call("evaluate", tu, other, "-k", 30, code=1, says="a smaller n_neighbors")
    call("evaluate", tu, other, "-o", tmp_path / "r.pdf", code=2, says=".tex")


@pytest.mark.parametrize("kind", ["graphs", "vectors"])
def test_page_of_an_evaluation(call, kind, tmp_path):
    random = np.random.default_rng(0)
    small = ("-m", 16, "--n-resamples", 19, "-q", "--report", tmp_path / "page.html")
    if kind == "vectors":
        np.save(tmp_path / "a.npy", random.normal(size=(60, 3)))
        np.save(tmp_path / "b.npy", random.normal(3, 1, size=(60, 3)))
        samples = tmp_path / "a.npy", tmp_path / "b.npy"
    else:
        require("rdkit")
        for name in "ab":
            atoms = ["C", "N", "O"] if name == "a" else ["C", "S"]
            lines = ["".join(random.choice(atoms, size=6)) + f" <b>{name}{i}&" for i in range(60)]
            (tmp_path / f"{name}.smi").write_text("\n".join(lines) + "\n")
        samples = tmp_path / "a.smi", tmp_path / "b.smi"
    done = call("evaluate", *samples, *small, "--json")
    page, found = (tmp_path / "page.html").read_text(), json.loads(done.stdout)
    assert found["total_variation"] > 0.5
    assert f"Total variation: ≥ {found['total_variation']:.3f}" in page
    assert "&quot;random_state&quot;: 0" in page
    assert page.count("<svg") == (12 if kind == "graphs" else 0)
    assert "<b>" not in page
    assert ("&lt;b&gt;a" in page) == (kind == "graphs")
    call("evaluate", *samples, *small, code=1, says="--force")
