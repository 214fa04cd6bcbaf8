"""The cache: what was computed with the same settings is not computed again."""

import json

import numpy as np
import pytest

from grnf.experiments.study import Study


def test_cached_results_are_computed_once(tmp_path):
    calls = []

    def compute():
        calls.append(1)
        return {"value": len(calls)}

    study = Study(tmp_path)
    what = {"experiment": "x", "seed": 0}
    assert study.cached(what, compute) == {"value": 1}
    assert Study(tmp_path).cached(what, compute) == {"value": 1}
    assert Study(tmp_path).cached({**what, "seed": 1}, compute) == {"value": 2}
    assert Study(tmp_path, fresh=True).cached(what, compute) == {"value": 3}
    assert Study(tmp_path).cached(what, compute) == {"value": 3}


def test_the_time_of_cached_parts_counts(tmp_path):
    study = Study(tmp_path)
    study.cached({"experiment": "x"}, lambda: 1)
    (path,) = (tmp_path / "cache").glob("*.json")
    entry = json.loads(path.read_text())
    path.write_text(json.dumps({**entry, "seconds": 100.0}))
    again = Study(tmp_path)
    again.cached({"experiment": "x"}, lambda: 2)
    assert again.saved == 100.0
    outer = Study(tmp_path)
    outer.cached({"experiment": "outer"}, lambda: outer.cached({"experiment": "x"}, lambda: 2))
    (path,) = (tmp_path / "cache").glob("outer-*.json")
    assert json.loads(path.read_text())["seconds"] == pytest.approx(100.0, abs=5)


def test_nothing_is_kept_of_a_part_that_failed(tmp_path):
    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Study(tmp_path).cached({"experiment": "x"}, fail)
    with pytest.raises(KeyboardInterrupt):
        Study(tmp_path).cached_array({"experiment": "x"}, fail)
    assert list((tmp_path / "cache").iterdir()) == []


def test_arrays(tmp_path):
    array = np.arange(6.0).reshape(2, 3)
    assert Study(tmp_path).cached_array({"experiment": "x"}, lambda: array) is array
    np.testing.assert_array_equal(Study(tmp_path).cached_array({"experiment": "x"}, lambda: 1 / 0), array)
