"""Fitted models as files: a zip of JSON and .npy arrays, which is checked when it is opened. No pickle.

    model.json      format, version, parameters, the views and the estimators, and SHA-256 of each array
    0.npy, 1.npy    the arrays

Objects are stored as the name of their class and their attributes. Only the classes of `CLASSES` are made
again. Members are not compressed, so that a file cannot hold more than its size.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer, StandardScaler

from grnf._utils.arrays import offsets
from grnf._utils.files import atomic_write, write_array
from grnf._utils.rules import Instance, Int, OneOf, checked
from grnf._utils.saved import BOOL, DAMAGE, OBJECT, TEXT, damaged, parse_json, validate
from grnf._version import __version__
from grnf.collection import NAN_ON_ERROR, Collection
from grnf.errors import GraphError, invalid
from grnf.estimators.fingerprint import Axes, JointFeatures
from grnf.estimators.histograms import LabelSets
from grnf.estimators.kernel_model import Distances, KernelClassifier, KernelRegressor, _Ridge, _SupportVectors
from grnf.estimators.transformer import GRNF, UNUSABLE
from grnf.estimators.uncertainty import Calibration, Neighborhood
from grnf.estimators.views import FeatureViews, steps_of
from grnf.io.encode import AttributeEncoder
from grnf.lifts.base import bare_batch
from grnf.typing import FloatArray, IntArray


class ForestArrays:
    """The nodes of all trees of a fitted forest of scikit-learn, one after the other.

    The next node in a tree is `left` if x[feature] <= threshold, otherwise `right`. Leaves have -1.
    `values` has the mean target of each node, or the shares of `classes_`.
    """

    def __init__(self, forest: Any) -> None:
        trees = [tree.tree_ for tree in forest.estimators_]
        self.first = offsets([tree.node_count for tree in trees])
        self.left, self.right, self.feature, self.threshold = (
            np.concatenate([getattr(tree, name) for tree in trees])
            for name in ("children_left", "children_right", "feature", "threshold")
        )
        self.values = np.concatenate([tree.value[:, 0, :] for tree in trees])
        self.n_features = forest.n_features_in_
        if hasattr(forest, "classes_"):
            self.classes_ = forest.classes_

    def check(self) -> None:
        """Refuse arrays of a file that do not fit together. Every step of a tree must lead further."""
        count, inner = len(self.left), self.left >= 0
        sizes = {len(values) for values in (self.right, self.feature, self.threshold, self.values)}
        kinds = {array.dtype.kind for array in (self.first, self.left, self.right, self.feature)}
        good = sizes == {count} and kinds == {"i"} and self.values.ndim == 2 and self.first.ndim == 1
        nodes = np.diff(self.first)
        if not good or self.first[0] != 0 or self.first[-1] != count or (nodes < 1).any():
            raise ValueError("the trees do not fit together")
        place, size = np.arange(count) - np.repeat(self.first[:-1], nodes), np.repeat(nodes, nodes)
        for child in (self.left, self.right):
            if (inner & ((child <= place) | (child >= size))).any():
                raise ValueError("a branch of a tree leads nowhere")
        if (inner & ((self.feature < 0) | (self.feature >= self.n_features))).any():
            raise ValueError("a tree uses an unknown feature")
        if hasattr(self, "classes_") and self.values.shape[1] != len(self.classes_):
            raise ValueError("the trees do not fit to the classes")

    def _mean(self, X: FloatArray) -> FloatArray:
        """Return the mean over trees of the values in the leaves of each row."""
        X = np.asarray(X, dtype=np.float32)
        if X.shape[1] != self.n_features:
            raise invalid("X", f"have {self.n_features} columns", str(X.shape[1]))
        total, rows = np.zeros((len(X), self.values.shape[1])), np.arange(len(X))
        for start in self.first[:-1]:
            node: IntArray = np.full(len(X), start)
            while (inner := self.left[node] >= 0).any():
                goes_left = X[rows, self.feature[node]] <= self.threshold[node]
                node = np.where(inner, start + np.where(goes_left, self.left[node], self.right[node]), node)
            total += self.values[node]
        return total / (len(self.first) - 1)

    def predict(self, X: FloatArray) -> Any:
        """Return the class or the number of each row."""
        found = self._mean(X)
        return self.classes_[found.argmax(axis=1)] if hasattr(self, "classes_") else found[:, 0]

    def __getattr__(self, name: str) -> Any:
        if name == "predict_proba" and "classes_" in self.__dict__:
            return self._mean
        raise AttributeError(name)


FORMAT, VERSION, HEAD = "grnf-model", 1, "model.json"
LARGEST_HEAD, MOST_ARRAYS, LONGEST_HEADER = 64_000_000, 10_000, 10_000
MODELS: dict[str, Any] = {}
"""Classes of models by name; `classifier` adds them."""
CLASSES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        KernelClassifier, KernelRegressor, Distances, _Ridge, _SupportVectors, Calibration, Neighborhood,
        ForestArrays, KNeighborsClassifier, LogisticRegression, Ridge, RidgeCV, StandardScaler,
        LabelBinarizer, Pipeline,
    )
} | {"SetsKernel": LabelSets}  # fmt: skip
"""Classes of which objects are made again from their attributes, by their names in files."""
LABEL = Instance("text or a number", str, int, float)
LEFT_OUT = ("cv_results_", "cv", "scoring", "scorer_")
"""Attributes of estimators that predictions do not need."""
PARAMS = (
    "n_components",
    "estimator",
    "C",
    "gamma",
    "n_jobs",
    "handle_unknown",
    "handle_missing",
    "on_error",
    "stereo",
)
"""Parameters of a model that are stored. Lifts and distributions are those of its views."""
STATE = ("estimator_", "neighborhood_", "calibration_")
PRIVATE = ("_widths", "_names", "_exact", "best_params_", "best_score_", "best_index_", "notes_")
SCHEMA = {
    "format": OneOf(FORMAT), "version": Int(VERSION, VERSION), "arrays": [TEXT],
    "models": [{
        "class": OneOf("GRNFClassifier", "GRNFRegressor"), "params": OBJECT, "seed": Int(0), "views": TEXT,
        "default": BOOL, "own": OBJECT, "state": OBJECT,
    }],
}  # fmt: skip


Members = dict[str, npt.NDArray[Any]]
"""The arrays of a file by their checksums. Equal ones, as of several models, are stored once."""


def _npy(array: npt.NDArray[Any]) -> memoryview:
    """Return the bytes of a .npy file."""
    file = io.BytesIO()
    write_array(file, array)
    return file.getbuffer()


def save_models(models: Sequence[Any], path: str | os.PathLike[str]) -> None:
    """Write fitted models to one file, all or nothing."""
    arrays: Members = {}
    content = {
        "format": FORMAT,
        "version": VERSION,
        "grnf": __version__,
        "models": [_model_state(model, arrays) for model in models],
        "arrays": list(arrays),
    }
    with atomic_write(path, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for number, array in enumerate(arrays.values()):
            archive.writestr(_member(f"{number}.npy"), _npy(array))
        archive.writestr(_member(HEAD), json.dumps(content))


def _member(name: str) -> zipfile.ZipInfo:
    """Return a member without the time of day, so that the same model is the same bytes."""
    member = zipfile.ZipInfo(name)
    member.external_attr = 0o600 << 16
    return member


def _model_state(model: Any, arrays: Members) -> dict[str, Any]:
    several = model._calibrated()[1]
    params = model.get_params(deep=False)
    if not isinstance(model.estimator, str):
        params["estimator"] = "auto"
    own = {name: getattr(model, name) for name in PRIVATE if hasattr(model, name)}
    views = copy(model.views_)
    views.encoder_ = model.encoder_  # its own one is of encoded graphs
    return {
        "class": type(model).__name__,
        "params": {name: _plain(params[name], arrays) for name in PARAMS},
        "seed": model.seed_,
        "views": views.to_json(),
        "default": isinstance(model.lifts, str) and model.lifts == "auto",
        "own": {name: _plain(value, arrays) for name, value in own.items()},
        "state": {
            "estimator_": _plain(model.estimator_, arrays),
            "neighborhood_": _plain(model.neighborhood_, arrays),
            "calibration_": _plain(several if len(several) > 1 else several[0], arrays),
        },
    }


def _plain(value: Any, arrays: Members) -> Any:
    """Return a value as JSON. Its arrays are added to those of the file."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "UO":  # classes next to missing entries are objects
            names = [_plain(name, arrays) for name in value.tolist()]
            return {"names": names, "mixed": value.dtype == object}
        digest = hashlib.sha256(_npy(value)).hexdigest()
        arrays.setdefault(digest, value)
        return {"array": list(arrays).index(digest)}
    if isinstance(value, sp.csr_array):
        parts = {name: _plain(getattr(value, name), arrays) for name in ("indptr", "indices")}
        return {"ones": parts, "width": value.shape[1]}
    if isinstance(value, list | tuple):
        entries = [_plain(entry, arrays) for entry in value]
        return {"tuple": entries} if isinstance(value, tuple) else entries
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: _plain(entry, arrays) for key, entry in value.items()}}
    if isinstance(value, GridSearchCV):
        return _plain(value.best_estimator_, arrays)
    if isinstance(value, RandomForestClassifier | RandomForestRegressor):
        return _plain(ForestArrays(value), arrays)
    if isinstance(value, JointFeatures):
        state = json.loads(value.to_json())
        state["fitted"]["axes"] = [_plain(axes.compact(), arrays) for axes in value._axes]
        return {"joint": state}
    for name, kind in CLASSES.items():
        if type(value) is kind:
            state = {key: entry for key, entry in vars(value).items() if key not in LEFT_OUT}
            return {"object": {key: _plain(entry, arrays) for key, entry in state.items()}, "class": name}
    raise ValueError(
        f"a model with a {type(value).__name__} cannot be saved without pickle. Use estimator='auto', 'svm', "
        "'linear' or 'forest', or store the model with joblib"
    )


def load_models(path: str | os.PathLike[str]) -> list[Any]:
    """Return the models of a file, checked."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {info.filename: info for info in archive.infolist()}
            if sum(info.file_size for info in members.values()) > os.path.getsize(path):
                raise ValueError("its members are larger than the file")
            if HEAD not in members or members[HEAD].file_size > LARGEST_HEAD:
                raise ValueError(f"{HEAD} is missing or too large")
            head = parse_json(archive.read(HEAD), path)
            if isinstance(head, dict) and head.get("format") == FORMAT and head.get("version") != VERSION:
                raise GraphError(
                    f"the format must have version {VERSION}, which grnf {__version__} reads, got version "
                    f"{head.get('version')!r:.20}, written by grnf {head.get('grnf')!s:.20}",
                    where=os.fspath(path),
                    cure="Use that version of grnf, or train the model again",
                )
            validate(head, SCHEMA, path)
            if len(head["arrays"]) > MOST_ARRAYS:
                raise ValueError("it lists too many arrays")
            arrays = [
                _array(archive.read(f"{number}.npy"), digest) for number, digest in enumerate(head["arrays"])
            ]
        return _shared([_model(state, arrays) for state in head["models"]], head["models"])
    except GraphError as error:
        where = os.fspath(path)
        raise (error if error.where == where else error.located(where=where)) from None
    except (*DAMAGE, *UNUSABLE, OSError, RecursionError, MemoryError) as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise damaged(f"not a model that can be used: {error}", path) from None


def _shared(models: list[Any], states: list[dict[str, Any]]) -> list[Any]:
    """Let models with equal views and neighborhoods have the same ones: features are computed once."""
    known: dict[str, Any] = {}
    for model, state in zip(models, states, strict=True):
        first = known.setdefault(state["views"], model)
        model.views_, model.encoder_ = first.views_, first.encoder_
        joint = json.dumps(state["state"]["neighborhood_"]["object"]["joint"])
        model.neighborhood_.joint = known.setdefault(joint, model.neighborhood_.joint)
    return models


def _array(data: bytes, digest: str) -> npt.NDArray[Any]:
    """Return an array of a .npy file with a given checksum. Nothing is allocated beyond its bytes."""
    if hashlib.sha256(data).hexdigest() != digest:
        raise ValueError("an array has another checksum than it should")
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"an array has the .npy version {version}")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file, max_header_size=LONGEST_HEADER)
    if dtype.kind not in "biuf" or dtype.hasobject or fortran or any(size < 0 for size in shape):
        raise ValueError(f"an array must have numbers, got {dtype}")
    array = np.frombuffer(data, dtype, offset=file.tell()).reshape(shape).copy()
    if dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError("an array has NaN or infinite numbers")
    return array


def _restored(value: Any, arrays: list[npt.NDArray[Any]]) -> Any:
    """Return what `_plain` made JSON of."""
    if isinstance(value, list):
        return [_restored(entry, arrays) for entry in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[Int(0, len(arrays) - 1).take(value["array"])]
    if "names" in value:
        if value.get("mixed"):
            return np.array([LABEL.take(name) for name in value["names"]], dtype=object)
        return np.array([TEXT.take(name) for name in value["names"]])
    if "ones" in value:
        parts = {name: _restored(value["ones"][name], arrays) for name in ("indptr", "indices")}
        return _ones(**parts, width=value["width"])
    if "tuple" in value:
        return tuple(_restored(value["tuple"], arrays))
    if "dict" in value:
        return {key: _restored(entry, arrays) for key, entry in value["dict"].items()}
    if "joint" in value:
        state = dict(value["joint"])
        axes = [Axes.of_compact(*parts).to_text() for parts in _restored(state["fitted"]["axes"], arrays)]
        state["fitted"] = {**state["fitted"], "axes": axes}
        return JointFeatures.from_json(json.dumps(state), "joint features")
    made = object.__new__(CLASSES[value["class"]])
    made.__dict__.update({key: _restored(entry, arrays) for key, entry in value["object"].items()})
    if isinstance(made, LabelSets):
        _check_sets(made)
    if isinstance(made, ForestArrays):
        made.check()
    return made


def _ones(indptr: Any, indices: Any, width: Any) -> sp.csr_array:
    """Return a sparse matrix of ones. Compiled code uses the positions, so they are checked."""
    width = Int(0, 2**40).take(width)
    good = indptr.ndim == indices.ndim == 1 and indptr.dtype.kind == indices.dtype.kind == "i"
    good = good and len(indptr) > 0 and indptr[0] == 0 and indptr[-1] == len(indices)
    if not good or (np.diff(indptr) < 0).any() or ((indices < 0) | (indices >= width)).any():
        raise ValueError("the positions of labels do not fit together")
    return sp.csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=(len(indptr) - 1, width))


def _check_sets(kernel: Any) -> None:
    vocabulary, sizes, columns = kernel.vocabulary, kernel.sizes, kernel.columns
    good = {own.shape for own in columns} == {(len(sizes), len(vocabulary))} and vocabulary.dtype == np.uint64
    if not good or (vocabulary[1:] <= vocabulary[:-1]).any() or sizes.shape[1:] != (len(columns),):
        raise ValueError("the sets of labels do not fit together")


def _model(state: dict[str, Any], arrays: list[npt.NDArray[Any]]) -> Any:
    params = {
        name: value for name, value in _restored({"dict": state["params"]}, arrays).items() if name in PARAMS
    }
    model: Any = MODELS[state["class"]](**params, random_state=state["seed"])
    own = _restored({"dict": state["own"]}, arrays)
    parts = {name: _restored(state["state"][name], arrays) for name in STATE}
    if not isinstance(parts["calibration_"], list):
        parts["calibration_"] = [parts["calibration_"]]
    model.__dict__.update({name: own[name] for name in PRIVATE if name in own} | parts)
    views = FeatureViews.from_json(state["views"])
    model.views_, model.encoder_, model.seed_, model.errors_ = views, views.encoder_, state["seed"], []
    policies = {"handle_unknown": "open", "handle_missing": "error"}
    views.encoder_ = AttributeEncoder.of_batch(bare_batch(model.encoder_), **policies)
    lifts = {}
    for name, view in views.views_.items():
        steps = steps_of(view)
        model.orders = next((step.orders for step in steps if isinstance(step, GRNF)), model.orders)
        lifts[name] = steps[:-1]
    model.lifts = "auto" if state["default"] else lifts
    model.cv_results_, model._dtype = {}, np.dtype(np.float32)
    if state["class"] == "GRNFClassifier":
        model.classes_ = model.estimator_.classes_
    _check(model)
    return model


def _check(model: Any) -> None:
    """Predict for a graph without nodes, which raises an error if the parts do not match."""
    for name in model._names:
        Int(0, 2**40).take(model._widths[name])
    near, calibrations = model.neighborhood_, model.calibration_
    if {type(near), *map(type, calibrations)} != {Neighborhood, Calibration}:
        raise ValueError("the calibration is missing")
    checked(model.on_error, "on_error", NAN_ON_ERROR)
    if len(near.ids) != len(near.vectors):
        raise ValueError("the ids of the training graphs do not match their vectors")
    features = model._usable(Collection(1, np.arange(1), batch=bare_batch(model.encoder_)))
    values = [model.predict(features), model.applicability(features)]
    if hasattr(model, "classes_"):
        sets = model.predict_set(features)
        values += sets if isinstance(sets, list) else [sets]
    elif any(len(own.errors) != len(near.vectors) or (own.errors < 0).all() for own in calibrations):
        raise ValueError("the calibration does not match the training graphs")
    else:
        values.append(model.predict_interval(features))
    if any(len(value) != 1 for value in values) or values[0].size != len(calibrations):
        raise ValueError("the parts of the model do not fit together")
