"""The paper's experiments at quick size: the statistics they must show, and their report."""

import base64
import math
import re
from html.parser import HTMLParser
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
from experiments.__main__ import main
from experiments.network import NetworkSettings, train_networks
from experiments.report import Section, page
from experiments.runner import module_of, reproduce
from experiments.study import Study, Table

from experiments import (
    EXPERIMENTS,
    PAPER,
    ablation,
    brec,
    first_place,
    gin,
    network,
    published,
    synthetic,
    table1,
    theorem2,
    tsne,
)
from grnf import Graph, GraphBatch, GRNFClassifier
from grnf.datasets import make_sbm
from grnf.datasets.benchmarks import Fold
from optional import require

VOID = {"meta", "img", "br"}


class Checker(HTMLParser):
    """Checks that tags are closed in order, and collects what is loaded."""

    def __init__(self):
        super().__init__()
        self.open, self.sources, self.links = [], [], []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.sources += [values["src"]] if "src" in values else []
        self.links += [values["href"]] if "href" in values else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check_report(text):
    """Return the pictures of a report that loads nothing."""
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    assert all(link.startswith(("#", "maps/")) for link in checker.links)
    assert all(source.startswith("data:image/png;base64,") for source in checker.sources)
    assert not re.search(r"https?://|@import|url\(", text)
    return [base64.b64decode(source.split(",")[1]) for source in checker.sources]


def test_page():
    section = Section(
        "x", "Title <1>", "About & all.", b"\x89PNG picture", [Table("t", ["a"], [["<b>"]])], 3.2
    )
    text = page([section, section], {"seed": 0, "quick": True}, {"grnf": "0.1"}, {"A <set>": "maps/a.html"})
    assert check_report(text) == [b"\x89PNG picture"] * 2
    assert "Title &lt;1&gt;" in text
    assert "&lt;b&gt;" in text
    assert "quick run" in text
    assert '<a href="maps/a.html">A &lt;set&gt;</a>' in text
    assert "Time of all: 6 s" in text


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_its_parts(name):
    module = module_of(name)
    assert module.TITLE
    assert module.ABOUT.endswith(".")
    assert callable(module.run)
    assert callable(module.tables)


def check_tsne(results):
    assert list(results["sets"]) == [
        name for name in tsne.MAPS if name != "AIDS"
    ]  # which a quick run leaves out
    for entry in results["sets"].values():
        assert np.shape(entry["points"]) == (results["n_graphs"], 2)
        assert 0.5 < entry["nearest_of_own_class"] <= 1


def check_theorem2(results):
    curves = {name: np.array(values) for name, values in results["curves"].items()}
    assert all(len(values) == len(results["dimensions"]) for values in curves.values())
    spread = 3 / math.sqrt(results["repetitions"])
    assert (curves["empirical_delta_star"] <= curves["delta_star"] + spread).all()
    assert (curves["empirical_delta_M"] <= curves["delta_M"] + spread).all()
    assert (curves["coverage_bernstein"] >= 0.95 - spread).all()
    assert (curves["delta_star"] <= curves["theorem2"]).all()
    assert results["eps"] == pytest.approx(0.25 * results["squared_distance"])
    needed = results["needed"]
    assert needed["delta_clt"] < needed["delta_star"] < needed["delta_M"] < needed["hoeffding"]


def test_theorem2_estimates_are_those_of_independent_terms():
    terms = np.random.default_rng(0).exponential(size=10_000)
    M, eps = 400, 0.1
    found = theorem2._empirical(terms, M, 2000, eps, seed=0, block=0)
    z = eps * math.sqrt(M) / terms.std()
    assert found["empirical_delta_star"] == pytest.approx(math.erfc(z / math.sqrt(2)), abs=0.02)
    assert found["empirical_delta_M"] == pytest.approx(math.erfc(z / 2), abs=0.03)
    assert found["coverage_clt"] == pytest.approx(0.95, abs=0.02)


def check_synthetic(results):
    for methods in results["sets"].values():
        assert list(methods) == list(synthetic.METHODS)
        for entry in methods.values():
            assert len(entry["mean"]) == len(entry["std"]) == len(results["dimensions"])
    delaunay = results["sets"]["Delaunay"]
    assert delaunay["svm"]["star"] > delaunay["svm"]["mean"][0] + 20
    assert delaunay["knn"]["star"] > 65
    assert synthetic.DIMENSIONS[0] == 2
    assert 900 < synthetic.DIMENSIONS[-1] <= 1000


def test_synthetic_splits_in_halves_and_learns():
    generator = np.random.default_rng(0)
    y = np.arange(200) % 2
    Z = generator.standard_normal((200, 20)) + 2.0 * y[:, np.newaxis]
    (few, many) = synthetic._repetition(Z, y, [1, 20], seed=0, repetition=0)
    assert many[0] > 0.95
    assert many[1] > 0.95
    assert many[0] > few[0] > 0.6


def check_table1(results):
    assert list(results["sets"]) == ["ENZYMES", "IMDB-BINARY"]
    for entry in results["sets"].values():
        assert len(entry["folds"]) == 2
        tests = [100 * np.mean(fold["runs"]) for fold in entry["folds"]]
        assert entry["mean"] == pytest.approx(np.mean(tests))
        assert entry["std"] == pytest.approx(np.std(tests))
        assert all(fold["l2"] in table1.L2 for fold in entry["folds"])
        without = entry["without_edge_terms"]
        assert len(without["folds"]) == 2
        assert without["folds"] != entry["folds"]
    assert results["sets"]["IMDB-BINARY"]["mean"] > 55
    (table,) = table1.tables(results)
    assert [row[0] for row in table.rows][3:-1] == list(published.COMPETITORS)


def check_accuracy(results):
    assert results["best_published"]["ENZYMES"] == {"method": "Baseline", "mean": 65.2}
    assert results["best_published"]["IMDB-BINARY"] == {"method": "GraphSAGE", "mean": 69.9}
    assert all(len(entry["mean"]) == 2 for entry in results["sets"].values())


def check_brec(results):
    told = {row: [entry["told"] for entry in found.values()] for row, found in results["rows"].items()}
    assert told["order 2"] == [0] * 7
    assert told["order 3"] == [1] * 7  # triangles, but not strongly regular graphs
    assert told["order 1, Individualize"] == told["order 2, closed walks"] == [2] * 7
    assert all(entry["false_alarms"] == 0 for found in results["rows"].values() for entry in found.values())
    for row in ("order 3", "order 1, Individualize"):  # with the ridge: equal outputs make S = 0
        assert [entry["protocol"]["told"][1] for entry in results["rows"][row].values()] == told[row]
        assert [entry["protocol"]["unreliable"] for entry in results["rows"][row].values()] == [[0, 0]] * 7
    small = results["small"]["up to 4 nodes"]
    assert small["graphs"] == 19
    assert small["equal"]["order 1, Individualize"] == 0


CHECKS = {
    "tsne": check_tsne,
    "theorem2": check_theorem2,
    "synthetic": check_synthetic,
    "table1": check_table1,
    "accuracy": check_accuracy,
    "brec": check_brec,
}


@pytest.mark.slow
def test_all_at_quick_size_with_its_report(with_data, stored, monkeypatch, capsys):
    require("matplotlib")
    require("torch")
    require("networkx")
    import brec_files

    brec_files.install(with_data.data, put=monkeypatch.setitem)
    output = with_data.output
    assert main(["all", "--quick", "--data", str(with_data.data), "-o", str(output)]) == 0
    report, said = (output / "report.html").read_text(), capsys.readouterr()
    pictures = check_report(report)
    assert len(pictures) == len(PAPER)
    for name in ("SBM", "Delaunay", "ENZYMES", "IMDB-BINARY"):
        assert f'href="maps/{name}-0-quick.html"' in report
        assert (output / "maps" / f"{name}-0-quick.html").read_text().startswith("<!doctype html>")
    for name in PAPER:
        results = stored(name, with_data)
        if name in CHECKS:
            CHECKS[name](results)
        assert f"{name}: " in said.err
        assert (output / f"{name}.png").read_bytes() in pictures
    assert "report.html" in said.out


def test_brecs_protocol_on_numbers_that_are_known():
    """T^2 of differences with mean 1 and variance v is 1 / v in one dimension; equal ones make S = 0."""
    generator = np.random.default_rng(0)
    noise = generator.normal(size=(1000, 1))
    differences = 1 + 0.1 * (noise - noise.mean()) / noise.std(ddof=1)
    assert brec._statistic(np.hstack([differences, 0 * differences]), 0.0) == pytest.approx(100)
    assert brec._statistic(np.ones((32, 2)), 0.0) == 0
    assert brec._statistic(np.ones((32, 2)), 1e-7) == pytest.approx(2e7)


def test_published_numbers():
    """The best entries of the table, which are known from elsewhere too."""
    best = [max(row[i][0] for row in published.COMPETITORS.values() if row[i]) for i in range(6)]
    assert best == [80.0, 75.8, 65.2, 69.9, 47.2, 75.9]
    assert {len(row) for row in [*published.COMPETITORS.values(), published.PAPER_ROW]} == {6}


@pytest.mark.slow
def test_an_interrupted_table_goes_on_where_it_stopped(with_data, monkeypatch):
    require("torch")
    require("matplotlib")
    whole = reproduce("table1", Study(with_data.output / "whole", with_data.data, quick=True))["results"]
    calls = []
    train = table1.train_networks

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 4:  # the second run of the second fold
            raise KeyboardInterrupt
        return train(*arguments)

    monkeypatch.setattr(table1, "train_networks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reproduce("table1", with_data)
    assert not (with_data.output / "table1.json").exists()
    resumed = reproduce("table1", Study(with_data.output, with_data.data, quick=True))["results"]
    assert len(calls) == 4 + 14  # the first of eight folds is not trained again, the second is
    assert resumed == whole


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


@pytest.mark.parametrize("name", ["precision", "reweighted"])
def test_runs_and_resumes(name, checked, study):
    results = checked(name, study)
    assert again(name, study) == results


@pytest.mark.slow
def test_baselines(checked, real):
    (entry,) = checked("baselines", real).values()
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
    assert again("baselines", real) == {"MUTAG": entry}


def test_first_version(checked, with_data):
    require("torch")
    results = checked("first_version", with_data)
    (entry,) = results["sets"].values()
    assert len(entry["folds"]) == 2
    assert entry["mean"] > 100 / 6  # six classes
    assert results["ours"]["ENZYMES"]["mean"] > 40
    assert again("first_version", with_data) == results


def test_two_sample(checked, study):
    require("networkx")
    results = checked("two_sample", study)
    kinds = {(record["key"][0], record["key"][1]) for record in results}
    assert {("SBM", "level"), ("SBM", "other class"), ("rewired", "rank"), ("SBM", "speed")} <= kinds
    rank = next(record["correlation"] for record in results if record["key"][1] == "rank")
    assert rank["GRNF"] > 0.8
    assert again("two_sample", study) == results


@pytest.mark.slow
def test_generators(checked, study):
    require("networkx")
    results = checked("generators", study)
    truths = {(r["case"], r["weight"]): r["truth"] for r in results["validity"]}
    assert list(truths["SBM, 12 and 13 nodes", 1.0]) == [1, 1]
    assert truths["SBM, 5 nodes", 0.3][0] == pytest.approx(0.3 * truths["SBM, 5 nodes", 1.0][0])
    assert all(r["above"] == [0, 0] for r in results["validity"])
    assert [r["change"].split(",")[0] for r in results["growth"]] == ["rewired edges"] * 2 + [
        "weight of a mixture"
    ]
    assert again("generators", study) == results


def test_third_order(checked, real):
    (entry,) = checked("third_order", real).values()
    assert entry["gain_error"] >= 0
    assert entry["orders 1, 2, 3"]["milliseconds_per_graph"] > 0


def test_streams(checked, study):
    require("networkx")
    results = checked("streams", study)
    (entry,) = results.values()
    assert set(entry["false_alarms"]) == {"0.01", "0.05", "0.1", "0.2"}
    assert all(row["delay"] > 0 and row["best"] > 0 for row in entry["delays"].values())
    assert again("streams", study) == results


def test_outliers(checked, real):
    (entry,) = checked("outliers", real).values()
    for row in entry.values():
        assert len(row["auc"]) == 6
        assert all(0 <= area <= 1 for area in row["auc"].values())


def test_training_cost(checked, real):
    require("rdkit")
    results = checked("training_cost", real)
    assert results["graphs"] == 300
    assert results["processor_seconds_fit"] > 0


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


def test_runs_resumes_and_tells(two_sets, tmp_path):
    require("matplotlib")
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
    model = GRNFClassifier(n_components=16, random_state=0)
    before = first_place.evaluate(data, fold, model)
    turned = data.y.copy()
    turned[fold.test] = 1 - turned[fold.test]
    after = first_place.evaluate(SimpleNamespace(graphs=data.graphs, y=turned), fold, model)
    assert after["selected"] == before["selected"]
    assert after["test"] == pytest.approx(1 - before["test"])


def test_ablation(two_sets, tmp_path):
    require("matplotlib")
    results = ablation.run(Study(tmp_path, quick=True))
    entries = results["sets"]["ENZYMES"]
    assert list(entries) == ["the default", "without plain", "without degrees"]
    (table,) = ablation.tables(results)
    assert [row[0] for row in table.rows] == ["all seven views", "without attributes", "without degrees"]
    recipe = np.mean([fold["test"] for fold in entries["the default"]])
    without = np.mean([fold["test"] for fold in entries["without plain"]])
    assert f"({100 * (without - recipe):+.1f}" in table.rows[1][1]
    assert ablation.draw(results) is not None


def test_ablation_changes_one_thing_at_a_time():
    changed = ablation.variants()
    assert changed["the default"] == {}
    assert all(len(settings) == 1 for name, settings in changed.items() if name != "the default")
    assert "walks" not in changed["without walks"]["lifts"]
    assert list(changed["walks alone"]["lifts"]) == ["walks"]


QUICK = NetworkSettings(hidden=16, max_steps=200, patience=100, batch_size=32, learning_rate=0.01)


@pytest.fixture
def problem():
    """Two classes that a product of two columns tells apart, so that a hidden layer is needed."""
    require("torch")
    generator = np.random.default_rng(0)
    Z = generator.standard_normal((300, 6)).astype(np.float32)
    y = (Z[:, 0] * Z[:, 1] > 0).astype(np.int64)
    order = generator.permutation(300)
    return Z, y, Fold(order[:200], order[200:250], order[250:])


def test_learns_what_needs_a_hidden_layer(problem):
    Z, y, fold = problem
    (network,) = train_networks(Z[np.newaxis], y, fold, [1e-4], QUICK, seed=0)
    assert network.validation > 0.85
    assert network.test > 0.8


def test_learns_nothing_where_there_is_nothing(problem):
    Z, y, fold = problem
    noise = np.random.default_rng(1).permutation(y)
    runs = train_networks(np.stack([Z] * 8), noise, fold, [1e-4] * 8, QUICK, seed=0)
    assert np.mean([run.test for run in runs]) == pytest.approx(0.5, abs=0.12)


def test_test_labels_are_not_used_for_training(problem):
    Z, y, fold = problem
    wrong = y.copy()
    wrong[fold.test] = 1 - y[fold.test]
    (network,) = train_networks(Z[np.newaxis], y, fold, [1e-4], QUICK, seed=0)
    (other,) = train_networks(Z[np.newaxis], wrong, fold, [1e-4], QUICK, seed=0)
    assert other.validation == network.validation
    assert other.epoch == network.epoch
    assert other.test == pytest.approx(1 - network.test)


def test_heads_side_by_side_are_independent(problem):
    Z, y, fold = problem
    first = train_networks(np.stack([Z, Z]), y, fold, [1e-4, 1e-4], QUICK, seed=3)
    second = train_networks(np.stack([Z, Z[:, ::-1]]), y, fold, [1e-4, 1.0], QUICK, seed=3)
    assert first[0] == second[0]
    assert first[1] != second[1]


def test_strong_decay_leaves_nothing(problem):
    Z, y, fold = problem
    weak, strong = train_networks(np.stack([Z, Z]), y, fold, [1e-4, 10.0], QUICK, seed=0)
    assert weak.validation > strong.validation


def test_early_stopping_and_constant_columns(problem):
    Z, y, fold = problem
    Z = np.hstack([Z, np.ones((300, 1), dtype=np.float32)])
    patient = NetworkSettings(hidden=4, max_steps=100_000, patience=30, batch_size=200)
    (network,) = train_networks(
        Z[np.newaxis], y, fold, [0.1], patient, seed=0
    )  # ends long before 100,000 steps
    assert 1 <= network.epoch < 5000


def test_the_error_without_torch_says_what_to_install(problem, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(ImportError, match=r"grnf\[torch\]"):
        network._torch()
