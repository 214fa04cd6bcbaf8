"""The further experiments at quick size: they run, store what they measure, and resume from the cache."""

import numpy as np
import pytest
from experiments.runner import reproduce

from optional import require


def again(name, study):
    """The results of a second run, during which nothing new is cached."""
    cache = study.output / "cache"
    before = {path.name: path.stat().st_mtime_ns for path in cache.iterdir()}
    results = reproduce(name, study)["results"]
    assert {path.name: path.stat().st_mtime_ns for path in cache.iterdir()} == before
    return results


@pytest.fixture
def real(study, shared):
    study.data = shared / "data"
    return study


@pytest.mark.slow
@pytest.mark.parametrize("name", ["precision", "reweighted"])
def test_runs_and_resumes(name, checked, study):
    results = checked(name, study)
    assert again(name, study) == results


@pytest.mark.slow
def test_peers(checked, real):
    (entry,) = checked("peers", real).values()
    assert list(entry["methods"]) == [
        "GRNF",
        "WL-OA",
        "histogram + forest",
        "topology + forest",
        "plain GRNF",
    ]
    for found in entry["methods"].values():
        assert len(found["scores"]) == 2
        assert np.mean(found["scores"]) > 70  # 66 in 100 are of the larger class
    assert again("peers", real) == {"MUTAG": entry}


@pytest.mark.slow
def test_first_version(checked, with_data):
    require("torch")
    results = checked("first_version", with_data)
    (entry,) = results["sets"].values()
    assert len(entry["folds"]) == 2
    assert entry["mean"] > 100 / 6  # six classes
    assert results["ours"]["ENZYMES"]["mean"] > 40
    assert again("first_version", with_data) == results


@pytest.mark.slow
def test_two_sample(checked, study):
    require("networkx")
    results = checked("two_sample", study)
    kinds = {(record["key"][0], record["key"][1]) for record in results}
    assert {("SBM", "level"), ("SBM", "other class"), ("rewired", "rank"), ("SBM", "speed")} <= kinds
    rank = next(record["correlation"] for record in results if record["key"][1] == "rank")
    assert rank["GRNF"] > 0.8
    assert again("two_sample", study) == results


@pytest.mark.slow
def test_third_order(checked, real):
    (entry,) = checked("third_order", real).values()
    assert entry["gain_error"] >= 0
    assert entry["orders 1, 2, 3"]["milliseconds_per_graph"] > 0


@pytest.mark.slow
def test_streams(checked, study):
    require("networkx")
    results = checked("streams", study)
    (entry,) = results.values()
    assert set(entry["false_alarms"]) == {"0.01", "0.05", "0.1", "0.2"}
    assert all(row["delay"] > 0 and row["best"] > 0 for row in entry["delays"].values())
    assert again("streams", study) == results


@pytest.mark.slow
def test_outliers(checked, real):
    (entry,) = checked("outliers", real).values()
    for row in entry.values():
        assert len(row["auc"]) == 6
        assert all(0 <= area <= 1 for area in row["auc"].values())


@pytest.mark.slow
def test_recipe_cost(checked, real):
    require("rdkit")
    results = checked("recipe_cost", real)
    assert results["graphs"] == 300
    assert results["processor_seconds_fit"] > 0
