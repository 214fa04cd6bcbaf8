"""Changes in streams and in lists: level, delay, state, and input that is refused."""

import json
import zipfile
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from grnf import GRNF, Graph, GraphError, stats
from grnf.datasets import make_sbm
from grnf.stats import ChangeDetector, strategies
from grnf.stats.change_detection import Alarm

change_points = partial(stats.change_points, random_state=0)


def detector_of(*arguments, **settings):
    return ChangeDetector(*arguments, **{"random_state": 0, **settings})


def normal(seed, n, shift=0.0, d=6):
    return np.random.default_rng(seed).normal(size=(n, d)) + shift


@pytest.mark.slow
@pytest.mark.parametrize(
    ("promise", "n_fitted", "draw"),
    [
        ({"alpha": 0.25}, 30, lambda generator: generator.standard_t(2, size=(130, 4))),
        ({"alpha": 0.25}, 30, lambda generator: generator.integers(2, size=(130, 3)).astype(float)),
        ({"mean_time": 200}, 60, lambda generator: generator.normal(size=(160, 3))),
    ],
    ids=["heavy tails", "ties", "mean time"],
)
def test_the_probability_of_a_false_alarm(promise, n_fitted, draw):
    """At most alpha, or t / (2 mean_time) within t graphs: 0.25 each."""
    alarms = 0
    for seed in range(60):
        Z = draw(np.random.default_rng(seed))
        detector = detector_of(**promise, n_neighbors=3, random_state=seed).fit(Z[:n_fitted])
        update = detector.update(Z[n_fitted:])
        alarms += update.alarm is not None
        assert np.isnan(update.pvalues).all() == ("mean_time" in promise)
    assert binomtest(alarms, 60, 0.25, alternative="greater").pvalue > 0.01


@pytest.mark.parametrize("promise", [{"alpha": 0.05}, {"mean_time": 5000}])
def test_a_change_is_found_soon_and_placed(promise):
    detector = detector_of(**promise).fit(normal(0, 400))
    assert detector.update(normal(1, 100)).alarm is None
    names = [f"g{i}" for i in range(60)]
    update = detector.update(normal(2, 60, shift=1.5), ids=names)
    alarm = update.alarm
    assert 100 <= alarm.graph < 112
    assert alarm.interval[0] <= 100 <= alarm.interval[1]
    assert abs(alarm.change - 100) <= 2
    assert alarm.id == names[alarm.graph - 100]
    assert alarm.evidence >= alarm.threshold == detector.threshold_
    graphs = alarm.contributions
    assert {graph.graph for graph in graphs} <= set(range(alarm.change, alarm.graph + 1))
    assert [graph.factor for graph in graphs] == sorted([graph.factor for graph in graphs])[::-1]
    assert all(graph.id == names[graph.graph - 100] for graph in graphs if graph.graph >= 100)
    assert detector.alarm_ is alarm
    assert detector.update(normal(3, 10, shift=1.5)).alarm is None  # it was raised already
    assert detector.reset().alarm_ is None
    assert detector.update(normal(4, 50)).alarm is None
    assert Alarm.from_dict(json.loads(json.dumps(alarm.to_dict()))) == alarm


def test_a_change_of_spread_is_found():
    detector = detector_of().fit(normal(0, 400))
    detector.update(normal(1, 50))
    assert detector.update(2.5 * normal(2, 60)).alarm is not None
    assert detector.reset().update(0.3 * normal(3, 150)).alarm is not None


def test_pieces_make_no_difference(monkeypatch):
    monkeypatch.setattr(strategies, "EPOCH", 640)
    Z = np.concatenate([normal(0, 60), normal(1, 900), normal(2, 700, shift=0.4)])
    whole, parts = detector_of().fit(Z[:60]), detector_of().fit(Z[:60])
    update = whole.update(Z[60:])
    found = [parts.update(piece) for piece in np.split(Z[60:], [1, 2, 600, 650, 1000, 1299])]
    assert np.concatenate([piece.evidence for piece in found]) == pytest.approx(update.evidence, abs=1e-6)
    (alarm,) = [piece.alarm for piece in found if piece.alarm is not None]
    assert alarm == replace(update.alarm, evidence=alarm.evidence, contributions=alarm.contributions)


@pytest.mark.parametrize("before", [0, 3, 130, 1500])
def test_a_saved_state_goes_on(before, tmp_path, monkeypatch):
    monkeypatch.setattr(strategies, "EPOCH", 640)
    Z = np.concatenate([normal(0, 60), normal(1, before), normal(2, 60, shift=0.5)])
    detector = detector_of(alpha=0.1, n_neighbors=4).fit(Z[:60])
    if before:
        detector.update(Z[60 : 60 + before])
    detector.notes_ = {"place": 7}
    detector.save(tmp_path / "state.npz")
    again = ChangeDetector.load(tmp_path / "state.npz")
    assert (again.n_seen_, again.notes_, again.threshold_) == (before, {"place": 7}, detector.threshold_)
    one, two = detector.update(Z[60 + before :]), again.update(Z[60 + before :])
    assert two.evidence == pytest.approx(one.evidence, abs=1e-6)
    assert two.pvalues == pytest.approx(one.pvalues, rel=1e-5)
    assert (again.alarm_ is None) == (detector.alarm_ is None)
    again.save(tmp_path / "state.npz")
    assert ChangeDetector.load(tmp_path / "state.npz").alarm_ == again.alarm_
    assert list(tmp_path.iterdir()) == [tmp_path / "state.npz"]


def test_graphs_and_their_state(tmp_path):
    graphs, y = make_sbm(160, n_nodes=8, random_state=0)
    usual = [graph for graph, label in zip(graphs, y, strict=True) if label == 0]
    detector = detector_of(GRNF(32, random_state=0), on_error="skip").fit(usual[:50])
    update = detector.update([usual[50], "no graph", usual[51]])
    assert (update.graphs.tolist(), update.errors[0][0], detector.n_seen_) == ([0, 2], 1, 3)
    assert detector.update(["no graph"]).evidence.shape == (0,)
    detector.save(tmp_path / "state.npz")
    again = ChangeDetector.load(tmp_path / "state.npz")
    stars = [Graph(8, [(0, leaf) for leaf in range(1, 8)])] * 40
    one, two = detector.update(iter(stars)), again.update(stars)
    assert 4 < one.alarm.graph == two.alarm.graph
    assert one.evidence == pytest.approx(two.evidence, abs=1e-6)
    with pytest.raises(GraphError, match="the stream, graph 44: "):
        detector.set_params(on_error="raise").update(["no graph"])


def test_a_constant_reference():
    """No graph differs: no alarm, whatever breaks the ties; one that does is strange at once."""
    detector = detector_of().fit(np.ones((40, 5)))
    assert detector.update(np.ones((100, 5))).alarm is None
    assert detector.update(np.ones((60, 5)) + np.arange(5)).alarm is not None


@pytest.mark.parametrize(
    ("reference", "settings", "what"),
    [
        (np.zeros((0, 3)), {}, "empty"),
        (np.ones((1, 3)), {}, "got a reference of 1 graphs"),
        (normal(0, 9), {}, "Give 10 or more graphs, or a smaller n_neighbors"),
        (np.where(np.arange(20)[:, None] == 7, np.inf, 1.0), {}, "the reference, graph 7: .* NaN"),
        ([], {}, "empty"),
        *(
            (normal(0, 30), wrong, f"ChangeDetector: {next(iter(wrong))} must be")
            for wrong in ({"alpha": 0}, {"alpha": 1}, {"mean_time": -1}, {"n_axes": 0}, {"on_error": "nan"})
        ),
    ],
)
def test_references_and_parameters_that_are_refused(reference, settings, what):
    with pytest.raises(ValueError, match=what):
        detector_of(**settings).fit(reference)


def test_streams_that_are_refused():
    detector = detector_of().fit(normal(0, 30))
    for stream, ids, what in (
        (np.zeros((0, 6)), None, "empty"),
        (normal(0, 3, d=5), None, "the stream: vectors have length 5, expected length 6"),
        (np.full((2, 6), np.nan), None, "the stream, graph 0: .* NaN"),
        ([Graph(2, [(0, 1)])], None, "Give vectors, or a transformer"),
        (normal(0, 3), ["a", "b"], "2 ids for 3"),
    ):
        with pytest.raises(GraphError, match=what):
            detector.update(stream, ids=ids)
    assert detector.n_seen_ == 0
    update = detector.set_params(on_error="skip").update(np.array([[np.nan] * 6, [0.0] * 6]))
    assert (update.graphs.tolist(), [row for row, _ in update.errors]) == ([1], [0])


def test_conventions():
    detector = detector_of(alpha=0.1)
    assert clone(detector).get_params() == detector.get_params()
    for call in (lambda: detector.update(normal(0, 2)), detector.reset, lambda: detector.save("x")):
        with pytest.raises(NotFittedError):
            call()


def test_states_that_are_refused(tmp_path):
    path = tmp_path / "state.npz"
    with pytest.raises(GraphError, match="does not exist"):
        ChangeDetector.load(path)
    path.write_bytes(b"nothing")
    with pytest.raises(GraphError, match="not the state of a detector"):
        ChangeDetector.load(path)
    np.savez(path, head=np.frombuffer(b'{"format": "grnf-monitor", "version": 99}', np.uint8))
    with pytest.raises(GraphError, match="version 99"):
        ChangeDetector.load(path)
    detector_of().fit(normal(0, 30)).save(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist() if name != "rows.npy"}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    with pytest.raises(GraphError, match="damaged"):
        ChangeDetector.load(path)


def rows(seed, *parts):
    generator = np.random.default_rng(seed)
    return np.concatenate([generator.normal(shift, spread, size=(n, 4)) for n, shift, spread in parts])


@pytest.mark.parametrize("ties", [False, True])
def test_the_level(ties):
    found = 0
    for seed in range(100):
        Z = rows(seed, (30, 0, 1))
        Z = np.round(Z) if ties else Z
        found += bool(change_points(Z, alpha=0.2, n_resamples=49, random_state=seed))
    assert binomtest(found, 100, 0.2, alternative="greater").pvalue > 0.01
    assert found >= 5


def test_several_changes():
    Z = rows(0, (60, 0, 1), (40, 1.5, 1), (50, -1, 1), (60, -1, 3))
    found = change_points(Z, n_resamples=199)
    assert [abs(point.index - true) <= 4 for point, true in zip(found, (60, 100, 150), strict=True)] == [
        True
    ] * 3
    for point in found:
        assert point.interval[0] <= point.index <= point.interval[1]
        assert point.segment[0] < point.index < point.segment[1]
        assert point.pvalue <= 0.05
        assert point.id == str(point.index)
    assert change_points(Z, n_resamples=199) == found


def test_graphs_with_names():
    cycle = Graph(6, [(i, (i + 1) % 6) for i in range(6)])
    path = Graph(6, [(i, i + 1) for i in range(5)])
    names = [f"g{i}" for i in range(30)]
    (point,) = change_points(
        iter([cycle] * 10 + [path] * 20), transformer=GRNF(16, random_state=0), ids=names
    )
    assert (point.index, point.id) == (10, "g10")


def test_lists_without_a_change_to_find():
    assert change_points(np.ones((50, 3))) == []
    assert change_points(np.ones((1, 3))) == []
    assert change_points(rows(0, (9, 0, 1))) == []


@pytest.mark.parametrize(
    ("X", "options", "what"),
    [
        (np.zeros((0, 3)), {}, "empty"),
        (np.array([[0.0], [np.nan], [1.0]]), {}, r"X\[1\]: .* NaN"),
        (np.ones((20, 3)), {"alpha": 2}, "alpha must be"),
        (np.ones((20, 3)), {"n_resamples": 9}, "n_resamples must be at least 19"),
        (np.ones((20, 3)), {"min_size": 0}, "min_size must be"),
    ],
)
def test_refusals(X, options, what):
    with pytest.raises(ValueError, match=what):
        change_points(X, **options)
