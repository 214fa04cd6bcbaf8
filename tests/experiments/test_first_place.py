from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
from experiments.study import Study

from experiments import ablation, first_place, gin
from grnf import Graph, GraphBatch, GRNFClassifier
from grnf.datasets import make_sbm


@pytest.fixture
def two_sets(monkeypatch):
    """Small synthetic graphs in the place of the benchmark sets; what was loaded is noted."""
    loaded = []

    def load_tu(name, data=None):
        loaded.append(name)
        graphs, y = make_sbm(40, random_state=0)
        return SimpleNamespace(graphs=GraphBatch.from_graphs(graphs), y=y)

    def load_folds(name, data=None, kind=None):
        loaded.append(kind)
        parts = np.random.default_rng(0).permutation(40).reshape(10, 4)
        rest = [np.delete(parts, i, axis=0).ravel() for i in range(10)]
        return [
            SimpleNamespace(train=rest[i][:30], validation=rest[i][30:], test=parts[i]) for i in range(10)
        ]

    for module in (first_place, ablation):
        monkeypatch.setattr(module, "load_tu", load_tu)
        monkeypatch.setattr(module, "load_folds", load_folds)
    return loaded


@pytest.mark.slow
def test_runs_resumes_and_tells(two_sets, tmp_path):
    said = []
    study = Study(tmp_path, quick=True, tell=said.append)
    results = first_place.run(study)
    assert list(results["table1"]) == ["ENZYMES", "IMDB-BINARY"]
    assert list(results["degree"]) == ["IMDB-BINARY"]
    assert results["best"]["ENZYMES"] == {"method": "Baseline", "mean": 65.2}
    assert two_sets.count("COLLABORATIVE_DEGREE") == 2
    assert len(said) == 7
    entry = results["table1"]["ENZYMES"]
    tests = [100 * fold["test"] for fold in entry["folds"]]
    assert entry["mean"] == pytest.approx(np.mean(tests))
    assert entry["mean"] > 60
    assert set(entry["seconds"]) == {"embed", "train", "test"}
    assert first_place.run(study) == results
    assert len(said) == 7  # all from the cache
    first, second, *cost = first_place.tables(results)
    if results["gin"]["folds"]:  # torch_geometric is there
        assert [row[0].split(":")[0] for row in cost[0].rows] == ["GRNFClassifier", "GIN"]
    assert all(len(row) == len(first.header) for row in first.rows)
    assert second.rows[1] == ["LTP", "74.5"]
    assert first_place.draw(results) is not None


def test_a_gin_learns_where_graphs_differ_in_size():
    if find_spec("torch_geometric") is None:
        pytest.skip("torch_geometric is not installed")
    graphs = [Graph(n, [(i, i + 1) for i in range(n - 1)]) for n in (3, 9)] * 30
    y, order = np.array(["small", "large"] * 30), np.random.default_rng(0).permutation(60)
    fold = SimpleNamespace(train=order[:40], validation=order[40:50], test=order[50:])
    found = gin.gin_fold(GraphBatch.from_graphs(graphs), y, fold, seed=0, max_epochs=15)
    assert found["test"] == 1.0
    assert found["epochs"] <= 15
    assert found == {
        **gin.gin_fold(GraphBatch.from_graphs(graphs), y, fold, 0, 15),
        "seconds": found["seconds"],
    }


def test_test_graphs_have_no_say_in_the_fit(two_sets):
    """Other labels on the test part change neither what is chosen nor what is predicted."""
    data = first_place.load_tu("ENZYMES")
    fold = first_place.load_folds("ENZYMES")[0]
    model = GRNFClassifier(n_components=16)
    before = first_place.evaluate(data, fold, model)
    turned = data.y.copy()
    turned[fold.test] = 1 - turned[fold.test]
    after = first_place.evaluate(SimpleNamespace(graphs=data.graphs, y=turned), fold, model)
    assert after["selected"] == before["selected"]
    assert after["test"] == pytest.approx(1 - before["test"])


@pytest.mark.slow
def test_ablation(two_sets, tmp_path):
    results = ablation.run(Study(tmp_path, quick=True))
    entries = results["sets"]["ENZYMES"]
    assert list(entries) == ["the recipe", "without plain", "without degrees"]
    (table,) = ablation.tables(results)
    assert [row[0] for row in table.rows] == list(entries)
    recipe = np.mean([fold["test"] for fold in entries["the recipe"]])
    without = np.mean([fold["test"] for fold in entries["without plain"]])
    assert f"({100 * (without - recipe):+.1f}" in table.rows[1][1]
    assert ablation.draw(results) is not None


def test_ablation_changes_one_thing_at_a_time():
    changed = ablation.variants()
    assert changed["the recipe"] == {}
    assert all(len(settings) == 1 for name, settings in changed.items() if name != "the recipe")
    assert "walks" not in changed["without walks"]["lifts"]
    assert list(changed["walks alone"]["lifts"]) == ["walks"]
