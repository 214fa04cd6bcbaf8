"""The paper's experiments at quick size: the statistics they must show, and their report."""

import base64
import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from experiments.__main__ import main
from experiments.report import Section, page
from experiments.runner import module_of, reproduce
from experiments.sets import load_benchmark
from experiments.study import Study, Table

import brec_files
from experiments import EXPERIMENTS, PAPER, accuracy, brec, published, synthetic, table1, theorem2, tsne
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
    assert list(results["sets"]) == list(tsne.MAPS)
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


def test_the_first_features_of_a_longer_vector(with_data):
    """What lets `accuracy` embed once for all M."""
    benchmark = load_benchmark("ENZYMES", with_data)
    short, long = benchmark.vectors(8, [5])[0], benchmark.vectors(32, [5])[0]
    np.testing.assert_allclose(long[:, :8] * math.sqrt(32), short * math.sqrt(8), rtol=1e-5, atol=1e-6)
    assert accuracy.DIMENSIONS[-1] == 1024


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
