"""The command line of the experiments, publishing, and the cache."""

import importlib
import json

import numpy as np
import pytest
from experiments.__main__ import main
from experiments.study import Study

from experiments import EXPERIMENTS, runner, theorem2


def test_without_a_name_experiments_are_listed(capsys):
    assert main([]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(EXPERIMENTS)


@pytest.mark.parametrize("arguments", [["magic"], ["tsne", "--quick", "--publish"]])
def test_wrong_usage_exits_with_2(arguments, tmp_path, capsys):
    with pytest.raises(SystemExit) as caught:
        main([*arguments, "-o", str(tmp_path)])
    assert caught.value.code == 2
    assert capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [(KeyboardInterrupt(), 130, "to resume"), (ValueError("bad"), 1, "bad")],
)
def test_errors_end_in_one_line(raised, code, said, tmp_path, monkeypatch, capsys):
    def fail(*_):
        raise raised

    monkeypatch.setattr(theorem2, "_compute", fail)
    assert main(["theorem2", "--quick", "-o", str(tmp_path)]) == code
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_publishing_stores_results_and_fills_the_documentation(tmp_path, monkeypatch):
    stored = runner.RESULTS / "third_order.json"
    text = stored.read_text()
    body = runner.placed("third_order", json.loads(text)["results"])["third-order"]
    docs = tmp_path / "docs"
    (docs / "figures").mkdir(parents=True)
    page_ = docs / "page.md"
    page_.write_text("<!-- third-order: begin -->\nold\n<!-- third-order: end -->\n")
    monkeypatch.syspath_prepend(runner.DOCS)
    monkeypatch.setattr(importlib.import_module("pages"), "pages", lambda: [page_])
    monkeypatch.setattr(runner, "RESULTS", tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "third_order.json").write_text(text)
    runner.publish("third_order", tmp_path / "out")
    assert (tmp_path / "third_order.json").read_text() == text
    assert page_.read_text() == f"<!-- third-order: begin -->\n{body}\n<!-- third-order: end -->\n"


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
