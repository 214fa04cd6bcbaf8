"""Scores of generated graphs: definitions, intervals, tables, bad input."""

import itertools
import json
from functools import partial

import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.stats import norm

from grnf import Graph, GraphBatch, stats
from grnf.datasets import make_sbm
from grnf.errors import GraphError
from grnf.stats.evaluation import (
    count_duplicates,
    frechet_distance,
    in_space,
    in_their_span,
    neighbor_scores,
    sample_distances,
)
from grnf.stats.separation import separate
from grnf.symmetry import certificates
from hard_graphs import rook, shrikhande

evaluate = partial(stats.evaluate, random_state=0)
GRAPHS, Y = make_sbm(80, random_state=0)
ONE, TWO = ([g for g, label in zip(GRAPHS, Y, strict=True) if label == side] for side in (0, 1))


@pytest.fixture(scope="module")
def found():
    return evaluate(
        GRAPHS[:40], GRAPHS[40:], n_components=32, n_resamples=99, valid=lambda g: g.n_nodes == 12
    )


def test_same_law(found):
    assert found.pvalue > 0.05
    assert found["energy"].low <= 0.05
    assert found["validity"].value == 1
    assert found["uniqueness"].value == 1
    for name in ("precision", "recall", "density", "coverage"):
        score = found[name]
        assert score.low <= score.value <= score.high
        assert score.baseline is not None
    assert found["precision"].value > 0.7


def test_another_law(found):
    other = evaluate(ONE, TWO, n_components=32, n_resamples=99)
    assert other.pvalue == 0.01
    for name in ("energy", "mmd2", "frechet"):
        assert other[name].value > found[name].value
        assert other[name].low > 0
    assert other["coverage"].value < found["coverage"].value
    assert other["total_variation"].low == other.total_variation > 0.3
    assert other.jensen_shannon > 0.3
    assert other.separation.views.keys() == {"plain", "roles", "size", "patterns", "WL", "joint", "kernel"}


@pytest.mark.parametrize(("sizes", "shift"), [((240, 240), 0.0), ((240, 240), 1.5), ((120, 400), 1.5)])
def test_bounds_on_known_distances(sizes, shift):
    """Normal distributions: both bounds are near the truth and exceed it in at most 5 % of samples."""
    t = np.linspace(-9, 9, 4001)
    P, Q = norm.pdf(t, shift), norm.pdf(t)
    bits = P * np.log2(2 * P / (P + Q)) + Q * np.log2(2 * Q / (P + Q))
    truth = np.array([np.trapezoid(abs(P - Q), t) / 2, np.sqrt(max(np.trapezoid(bits, t) / 2, 0))])
    random, found = np.random.default_rng(0), []
    for seed in range(25):
        X = random.normal(size=(sum(sizes), 2))
        X[: sizes[0], 0] += shift
        result = separate(sizes, lambda _, X=X: {"vectors": X}, seed)
        found.append([result.total_variation, result.jensen_shannon])
    assert ((np.array(found) > truth + 1e-9).sum(axis=0) <= 3).all()
    assert (np.median(found, axis=0) >= (0.7 if sizes[0] == sizes[1] else 0.5) * truth - 1e-9).all()


def test_classifier_is_judged_on_graphs_that_it_has_not_seen():
    """Views are fitted on the first part alone, and vectors of the last part train nothing."""
    random = np.random.default_rng(0)
    X, fitted = random.normal(size=(240, 300)), []

    def views(rows):
        fitted.append(rows)
        return {"vectors": X}

    result = separate((120, 120), views, 0)  # more columns than graphs: training errors are 0
    assert result.total_variation == result.jensen_shannon == 0
    assert [len(rows) for rows in fitted] == [80]
    assert result.n_pairs == 80
    assert not {*result.typical[0]} & {*fitted[0].tolist()}
    assert not {i + 120 for i in result.typical[1]} & {*fitted[0].tolist()}


def test_what_could_have_been_shown():
    """Half of the samples with the distance that is reported as detectable have a bound above 0."""
    least = separate((240, 240), lambda _: {"vectors": np.zeros((480, 1))}, 0).detectable["total_variation"]
    random, shown = np.random.default_rng(0), 0
    for seed in range(30):
        X = (random.random((480, 1)) < np.repeat([(1 + least) / 2, (1 - least) / 2], 240)[:, None]) * 1.0
        shown += separate((240, 240), lambda _, X=X: {"vectors": X}, seed).total_variation > 0
    assert 8 <= shown <= 22


@pytest.mark.parametrize(("m", "n", "p"), [(10, 12, 300), (40, 30, 8), (2, 3, 5)])
def test_frechet_is_its_definition_also_in_the_span_of_few_rows(m, n, p):
    random = np.random.default_rng(1)
    scales = 0.5 ** np.arange(p)
    X, Y = random.normal(size=(m, p)) * scales, random.normal(1, 2, size=(n, p)) * scales
    S, R = np.cov(X.T), np.cov(Y.T)
    if m > p:
        wanted = ((X.mean(0) - Y.mean(0)) ** 2).sum() + np.trace(S + R - 2 * np.real(sqrtm(S @ R)))
        assert frechet_distance(X, Y) == pytest.approx(wanted)
    found = in_their_span(X, Y)
    assert found[0].shape[1] < min(m + n, p + 1)
    assert frechet_distance(*found) == pytest.approx(frechet_distance(X, Y), rel=1e-6)
    assert frechet_distance(*in_their_span(X[:1].repeat(4, 0), X[:1].repeat(3, 0))) < 1e-30


def test_neighbours_are_their_definitions():
    random = np.random.default_rng(0)
    X, Y, k = random.normal(size=(20, 3)), random.normal(0.5, 1, size=(25, 3)), 3
    D = np.linalg.norm(X[:, None] - Y, axis=2)
    near = np.sort(np.linalg.norm(Y[:, None] - Y, axis=2), axis=1)[:, k]
    own = np.sort(np.linalg.norm(X[:, None] - X, axis=2), axis=1)[:, k]
    scores = neighbor_scores(X, Y, k, 100, 0)
    assert scores["precision"].value == (D <= near).any(axis=1).mean()
    assert scores["recall"].value == (D <= own[:, None]).any(axis=0).mean()
    assert scores["density"].value == pytest.approx((D <= near).sum(axis=1).mean() / k)
    assert scores["coverage"].value == (D <= near).any(axis=0).mean()


def test_distances_have_no_bias_and_their_bars_hold():
    random, zero, covered = np.random.default_rng(0), [], 0
    for seed in range(60):
        X, Y, Z = random.normal(size=(25, 2)), random.normal(size=(25, 2)), random.normal(2, 1, size=(25, 2))
        zero.append([sample_distances(X, Y, 10, seed)[name].value for name in ("energy", "mmd2")])
        bars = sample_distances(X, Z, 100, seed)["energy"]
        covered += bars.low <= 2.95 <= bars.high
    mean, error = np.mean(zero, axis=0), np.std(zero, axis=0) / np.sqrt(60)
    assert (np.abs(mean) < 4 * error).all()
    assert covered >= 50


def test_space_of_the_reference():
    random = np.random.default_rng(0)
    Y = {"a": random.normal(size=(200, 3)) * [1, 10, 100]}
    _, rows = in_space(Y, Y)
    assert rows.std(axis=0) == pytest.approx([1 / 1.01**0.5, 0.5**0.5, (1e-4 / 1.01e-2) ** 0.5], rel=0.2)
    plain, _ = in_space(Y, Y, "plain")
    assert np.allclose(plain, Y["a"] - Y["a"].mean(axis=0))


def test_copies_are_counted():
    path, ring = Graph(4, [(0, 1), (1, 2), (2, 3)]), Graph(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    generated = [path, path.permuted([2, 0, 3, 1]), ring, *ONE[:9]]
    result = evaluate(generated, [ring.permuted([1, 0, 2, 3]), *TWO[:9]], n_components=16, n_resamples=19)
    assert result["uniqueness"].value == pytest.approx(11 / 12)
    assert result["novelty"].value == pytest.approx(11 / 12)
    assert result.undecided == 0


def test_only_graphs_that_look_alike_are_searched_in_full(monkeypatch):
    searched = []

    def noted(batch, **options):
        searched.append((len(batch), options))
        return certificates(batch, **options)

    monkeypatch.setattr("grnf.stats.evaluation.certificates", noted)
    alike = [rook(), shrikhande(), shrikhande().permuted(np.arange(16)[::-1])]
    others = [Graph(n, [(0, 1)]) for n in range(3, 9)]
    generated = GraphBatch.from_graphs([*others, *alike])
    assert count_duplicates(generated, GraphBatch.from_graphs(others[:2])) == (8, 7, 0)
    assert [options for _, options in searched[:2]] == [{"depth": 0}, {"depth": 0}]
    assert [n for n, options in searched[2:] if not options] == [2, 0]  # the leaves of the last two differ


def test_tables(found):
    text = str(found)
    assert text.splitlines()[0].split()[:3] == ["score", "better", "value"]
    assert "two-sample test: p = " in text
    assert found.to_table("markdown").startswith("| score |")
    assert r"Fr\'echet distance & lower &" in found.to_table("latex")
    lines = found.to_table("csv").splitlines()
    assert lines[0] == "score,better,value,low,high,reference_halves"
    assert len(lines) == 13
    assert lines[1].startswith("total variation distance,lower,")
    with pytest.raises(ValueError, match="format must be 'text'"):
        found.to_table("pdf")
    assert "classifier: not distinguished with 80 graphs, which could have shown" in text
    stored = json.loads(json.dumps(found.to_dict()))
    assert stored["total_variation"] == stored["separation"]["total_variation"] == found.total_variation == 0
    assert stored["protocol"]["n_neighbors"] == 5
    assert stored["protocol"]["sizes"] == [40, 40]
    assert "orders=(0.333" in stored["protocol"]["descriptor"]["views"]["plain"]


def test_vectors_have_no_copies():
    random = np.random.default_rng(0)
    result = evaluate(random.normal(size=(30, 4)), random.normal(size=(30, 4)), n_resamples=19)
    assert "novelty" not in result.scores
    assert result.pvalue > 0.05
    with pytest.raises(GraphError, match="valid is a function of graphs"):
        evaluate(random.normal(size=(30, 4)), random.normal(size=(30, 4)), valid=bool)


def test_constant_collections():
    path = Graph(3, [(0, 1), (1, 2)])
    turned = [path.permuted(order) for order in itertools.islice(itertools.permutations(range(3)), 6)]
    result = evaluate([path] * 8, [path] * 3 + turned, n_components=16)
    assert result.pvalue == 1
    assert result["energy"].value == 0
    assert result["frechet"].value == 0
    assert result["precision"].value == result["coverage"].value == 1
    assert result["uniqueness"].value == 1 / 8
    assert result["novelty"].value == 0
    other = evaluate([Graph(3, [(0, 1)])] * 8, [path] * 9, n_components=16)
    assert other.pvalue == 0.001
    assert other["energy"].value > 0
    assert other["precision"].value == other["coverage"].value == 0


def test_bad_input():
    with pytest.raises(GraphError, match="generated has 3 graphs, and n_neighbors=5 needs more"):
        evaluate(ONE[:3], TWO)
    with pytest.raises(GraphError, match="generated is empty"):
        evaluate([], TWO)
    with pytest.raises(
        GraphError, match="attributes of nodes differ: generated has nothing, reference has x"
    ):
        evaluate(ONE, [Graph(2, [(0, 1)], np.ones((2, 2)))] * 9)
    with pytest.raises(GraphError, match=r"reference\[2\]: the vector holds NaN"):
        evaluate(np.ones((9, 2)), np.where(np.arange(9)[:, None] == 2, np.nan, np.ones((9, 2))))
    with pytest.raises(ValueError, match="space must be"):
        evaluate(ONE, TWO, space="flat")
