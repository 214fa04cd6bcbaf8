"""Saved models, and how sure their predictions are."""

import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier

from grnf import GraphError, GRNFClassifier, GRNFRegressor
from grnf.datasets import make_delaunay, make_sbm
from grnf.estimators import model_file
from grnf.estimators.model_file import ForestArrays, load_models, save_models
from grnf.io import RawGraph
from grnf.law import ShiftedPoisson
from grnf.lifts import Degree

GRAPHS, Y = make_sbm(120, random_state=0)
DENSITY = np.array([graph.n_edges / graph.n_nodes**2 for graph in GRAPHS])
RAWS = [
    RawGraph(g.n_nodes, g.edges, {"kind": np.array(list("abc"))[np.arange(g.n_nodes) % 3]}, graph_id=f"g{n}")
    for n, g in enumerate(GRAPHS)
]


@pytest.fixture(scope="module")
def regressor():
    return GRNFRegressor(32, random_state=0).fit(RAWS[:90], DENSITY[:90])


@pytest.fixture(scope="module")
def classifier():
    names = np.array(["one", "two"])[Y]
    return GRNFClassifier(32, random_state=0).fit(RAWS[:90], names[:90])


def rewritten(source, target, change):
    """Copy a model file, with members changed by a function of a dict."""
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return target


@pytest.mark.slow
def test_the_same_predictions_in_another_process(regressor, classifier, tmp_path):
    regressor.save(tmp_path / "r.grnf")
    classifier.save(tmp_path / "c.grnf")
    code = (
        "import sys, json, numpy as np\n"
        "from grnf import GRNFClassifier, GRNFRegressor\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "from test_model_file import RAWS\n"
        "r = GRNFRegressor.load(f'{sys.argv[1]}/r.grnf')\n"
        "c = GRNFClassifier.load(f'{sys.argv[1]}/c.grnf')\n"
        "np.savez(f'{sys.argv[1]}/out.npz', r=r.predict_interval(RAWS[90:]), c=c.predict_proba(RAWS[90:]),"
        " s=c.predict_set(RAWS[90:]), a=r.applicability(RAWS[90:]))\n"
    )
    other = {"NUMBA_CPU_NAME": "generic", "NUMBA_OPT": "0", "OPENBLAS_CORETYPE": "Prescott"}
    other["NUMBA_CACHE_DIR"] = str(tmp_path)
    extensions = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    other["NPY_DISABLE_CPU_FEATURES"] = " ".join(extensions)
    command = [sys.executable, "-c", code, str(tmp_path), os.path.dirname(__file__)]
    done = subprocess.run(command, env={**os.environ, **other}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "out.npz") as found:
        np.testing.assert_allclose(found["r"], regressor.predict_interval(RAWS[90:]), atol=1e-5)
        np.testing.assert_allclose(found["c"], classifier.predict_proba(RAWS[90:]), atol=1e-5)
        np.testing.assert_array_equal(found["s"], classifier.predict_set(RAWS[90:]))
        np.testing.assert_allclose(found["a"], regressor.applicability(RAWS[90:]))


@pytest.mark.parametrize(
    ("graphs", "settings"),
    [
        (make_delaunay(60, random_state=0)[0], {}),
        (GRAPHS[:60], {"lifts": [Degree()]}),
        (GRAPHS[:60], {"estimator": "linear"}),
        (GRAPHS[:60], {"estimator": "forest", "lifts": None}),
        (GRAPHS[:60], {"estimator": KNeighborsClassifier(algorithm="brute"), "lifts": None}),
    ],
)
def test_other_models_are_saved(graphs, settings, tmp_path):
    y = np.arange(60) % 3
    model = GRNFClassifier(16, random_state=0, **settings).fit(graphs, y)
    model.save(tmp_path / "m.grnf")
    loaded = GRNFClassifier.load(tmp_path / "m.grnf")
    np.testing.assert_allclose(loaded.predict_proba(graphs), model.predict_proba(graphs), atol=1e-6)
    assert loaded.predict(graphs).tolist() == model.predict(graphs).tolist()
    GRNFClassifier(16, random_state=0, **settings).fit(graphs, y).save(tmp_path / "twin.grnf")
    assert (tmp_path / "twin.grnf").read_bytes() == (tmp_path / "m.grnf").read_bytes()
    loaded.save(tmp_path / "again.grnf")
    again = GRNFClassifier.load(tmp_path / "again.grnf")
    assert str(again.get_params()) == str(loaded.get_params())
    np.testing.assert_array_equal(again.predict_set(graphs), model.predict_set(graphs))


@pytest.mark.parametrize("estimator", ["auto", "linear"])
def test_several_targets(estimator, tmp_path):
    numbers = np.column_stack([DENSITY, 10 * DENSITY, -DENSITY])[:60]
    numbers[::3, 1], numbers[1::2, 2] = np.nan, np.nan
    model = GRNFRegressor(16, estimator=estimator, random_state=0).fit(RAWS[:60], numbers)
    model.save(tmp_path / "r.grnf")
    loaded = GRNFRegressor.load(tmp_path / "r.grnf")
    intervals = loaded.predict_interval(RAWS[60:], 0.8)
    assert intervals.shape == (60, 3, 2)
    np.testing.assert_allclose(intervals, model.predict_interval(RAWS[60:], 0.8), atol=1e-6)
    np.testing.assert_allclose(intervals.mean(axis=2), model.predict(RAWS[60:]), atol=1e-6)
    truth = np.outer(DENSITY[60:], [1, 10, -1])
    covered = (intervals[..., 0] <= truth) & (truth <= intervals[..., 1])
    assert (covered.mean(axis=0) > 0.6).all()
    assert [len(one.calibration_[0].scores) for one in loaded.single_targets()] == [60, 40, 30]
    np.testing.assert_allclose(loaded.single_targets()[2].predict_interval(RAWS[60:], 0.8), intervals[:, 2])
    with pytest.raises(GraphError, match="several targets"):
        loaded.explain(RAWS[0])

    names = np.array([["one", "two"][y] if n % 3 else None for n, y in enumerate(Y[:60])], dtype=object)
    classes = np.column_stack([names, np.arange(60) % 3]).astype(object)
    model = GRNFClassifier(16, estimator=estimator, random_state=0).fit(RAWS[:60], classes)
    model.save(tmp_path / "c.grnf")
    loaded = GRNFClassifier.load(tmp_path / "c.grnf")
    assert [known.tolist() for known in loaded.classes_] == [["one", "two"], [0, 1, 2]]
    assert loaded.predict(RAWS[60:]).tolist() == model.predict(RAWS[60:]).tolist()
    first, second = loaded.predict_set(RAWS[60:], 0.8)
    assert (first.shape, second.shape) == ((60, 2), (60, 3))
    for found, own in zip((first, second), model.predict_set(RAWS[60:], 0.8), strict=True):
        np.testing.assert_array_equal(found, own)
    assert np.mean(first[np.arange(60), Y[60:]]) > 0.6
    np.testing.assert_allclose(loaded.applicability(RAWS[60:]), model.applicability(RAWS[60:]))


class Always(ShiftedPoisson):
    """A distribution of a user."""


def test_models_that_cannot_be_saved(tmp_path):
    for settings, message in (
        ({"estimator": "boosted"}, "HistGradientBoostingClassifier cannot be saved without pickle"),
        ({"orders": Always(1.0).restricted_to({1, 2})}, "Always cannot be saved"),
    ):
        model = GRNFClassifier(8, lifts=None, random_state=0, **settings).fit(GRAPHS[:20], Y[:20])
        with pytest.raises(ValueError, match=message):
            model.save(tmp_path / "m.grnf")
        assert not list(tmp_path.iterdir())
        assert model.predict_set(GRAPHS[:3]).shape == (3, 2)


@pytest.mark.parametrize("name", ["left", "right", "feature", "first", "values"])
def test_trees_that_do_not_fit_together(name):
    forest = ForestArrays(RandomForestClassifier(3, random_state=0).fit(DENSITY[:, np.newaxis], Y))
    forest.check()
    array = getattr(forest, name)
    array = np.where(array == array.max(), array + 1000, array)
    setattr(forest, name, array[: len(array) - (name == "values")])
    with pytest.raises(ValueError, match="tree"):
        forest.check()
    forest.left = np.zeros_like(forest.left)  # an endless walk
    with pytest.raises(ValueError, match="tree"):
        forest.check()


def test_damaged_files(regressor, classifier, tmp_path, monkeypatch):
    path, other = tmp_path / "m.grnf", tmp_path / "x.grnf"
    regressor.save(path)
    whole = path.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        other.write_bytes(whole[:size])
        with pytest.raises(GraphError, match=r"x.grnf: .* damaged or was changed"):
            GRNFRegressor.load(other)
    with pytest.raises(FileNotFoundError):
        GRNFRegressor.load(tmp_path / "absent.grnf")
    classifier.save(other)
    with pytest.raises(GraphError, match="must have one GRNFRegressor, got GRNFClassifier"):
        GRNFRegressor.load(other)
    save_models([regressor, classifier], other)
    assert [type(model) for model in load_models(other)] == [GRNFRegressor, GRNFClassifier]
    monkeypatch.setattr(model_file, "VERSION", 2)
    monkeypatch.setattr(model_file, "__version__", "9.9")
    regressor.save(other)
    monkeypatch.undo()
    with pytest.raises(GraphError, match=r"version 1, which grnf .* reads, got version 2, written by grnf 9"):
        GRNFRegressor.load(other)


def npy(array, **more):
    file = io.BytesIO()
    np.save(file, array, **more)
    return file.getvalue()


def test_hostile_files(regressor, tmp_path):
    path, other = tmp_path / "m.grnf", tmp_path / "x.grnf"
    regressor.save(path)
    with zipfile.ZipFile(path) as archive:
        head = json.loads(archive.read("model.json"))
        count = len(head["arrays"])

    def refused(change, match="x.grnf"):
        rewritten(path, other, change)
        with pytest.raises(GraphError, match=match):
            GRNFRegressor.load(other).predict(RAWS[:2])

    def with_array(number, data):
        def change(members):
            members[f"{number}.npy"] = data
            own = json.loads(members["model.json"])
            own["arrays"][number] = hashlib.sha256(data).hexdigest()
            members["model.json"] = json.dumps(own).encode()

        return change

    refused(lambda members: members.update({"0.npy": npy(np.zeros(3))}), "checksum")
    huge = npy(np.zeros(4)).replace(b"(4,)", b"(4000000000000,)")
    for number in range(count):
        array = np.lib.format.read_array(io.BytesIO(zipfile.ZipFile(path).read(f"{number}.npy")))
        for changed in (array[:-1], array[None], array * np.nan, np.array([-1]), np.array([2**40])):
            rewritten(path, other, with_array(number, npy(changed)))
            message = None
            try:  # some changes do no harm
                loaded = GRNFRegressor.load(other)
                loaded.predict_interval(RAWS[:2])
                loaded.applicability(RAWS[:2])
            except GraphError as error:
                message = str(error)
            assert message is None or "x.grnf" in message
        refused(with_array(number, huge))
        refused(with_array(number, npy(np.array([{}]), allow_pickle=True)), "must have numbers")

    def text(old, new):
        def change(members):
            assert old in members["model.json"]
            members["model.json"] = members["model.json"].replace(old, new)

        return change

    refused(text(b'"KernelRegressor"', b'"Popen"'))
    refused(text(b'"class": "GRNFRegressor"', b'"class": "Popen"'), "must be")
    refused(text(b'"seed": 0', b'"seed": "x"'), "seed must be")
    refused(text(b'"on_error": "raise"', b'"on_error": "x"'), "x.grnf.*on_error must be")
    refused(text(b"grnf-views", b"other"), "x.grnf, .* is not saved feature views")
    with zipfile.ZipFile(other, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", b" " * 10_000_000)
    with pytest.raises(GraphError, match="larger than the file"):
        load_models(other)


def test_intervals_and_sets(regressor, classifier):
    low, high = regressor.predict_interval(RAWS[90:], 0.8).T
    wide = regressor.predict_interval(RAWS[90:], 0.95)
    assert np.mean((low <= DENSITY[90:]) & (DENSITY[90:] <= high)) >= 0.6
    np.testing.assert_allclose((low + high) / 2, regressor.predict(RAWS[90:]))
    assert (wide[:, 1] - wide[:, 0] > high - low).all()
    assert np.isinf(regressor.predict_interval(RAWS[90:], 0.999)).all()
    narrow, sets = classifier.predict_set(RAWS[90:], 0.6), classifier.predict_set(RAWS[90:], 0.95)
    assert (sets >= narrow).all()
    assert sets.sum() > narrow.sum()
    assert classifier.predict_set(RAWS[90:], 0.999).all()
    for wrong in (0, 1, 2, "x"):
        with pytest.raises(ValueError, match="confidence must be"):
            regressor.predict_interval(RAWS[:1], wrong)


def test_applicability_ranks_graphs_by_their_distance(regressor):
    odd = RawGraph(40, np.empty((0, 2), int), {"kind": np.array(["z"] * 40)})
    p = regressor.applicability([*RAWS[:30], odd])
    assert p[-1] == pytest.approx(1 / 91)
    assert 0.3 < np.median(p) <= 1
    model = GRNFRegressor(8, on_error="nan", random_state=0).fit(RAWS[:30], DENSITY[:30])
    assert np.isnan(model.applicability([RAWS[0], "no graph"])).tolist() == [False, True]
    assert np.isnan(model.predict_interval([RAWS[0], "no graph"])).any(axis=1).tolist() == [False, True]
