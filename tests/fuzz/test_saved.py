"""Altered saved files: each loader reads them, or raises one error that names the file."""

import json
from functools import partial

import numpy as np
import pytest

from grnf import GRNF, GRNFClassifier
from grnf.datasets import make_sbm
from grnf.errors import GraphError
from grnf.estimators import FeatureViews
from grnf.io.vectors import read_vectors
from grnf.law import ShiftedPoisson
from grnf.maps import GraphMap, map_graphs
from grnf.scale import embed
from grnf.search import GraphIndex, segments
from grnf.stats import ChangeDetector
from optional import require

GRAPHS = make_sbm(40, random_state=0)[0]
POISSON = ShiftedPoisson(0.5)
VALUES = (None, True, -1, 0, 2**70, 1e308, "x", "../../x", [], {}, [None], {"a": 1})


def altered(value):
    """Yield copies of a JSON value, in each of which one field has another value or is absent."""
    if isinstance(value, dict):
        for key, own in value.items():
            yield {name: other for name, other in value.items() if name != key}
            yield from ({**value, key: other} for other in (*VALUES, *altered(own)))
    elif isinstance(value, list):
        for position, own in enumerate(value[:2]):
            for other in (*VALUES, *altered(own)):
                yield [*value[:position], other, *value[position + 1 :]]


def check(load, path):
    """Load a file: that works, or the error names it."""
    message = None
    try:
        load()
    except (ValueError, OSError) as error:
        message = str(error)
    assert message is None or (path.name in message and "\n" not in message), message


def split(path):
    """Return the head and the other arrays of an .npz file."""
    with np.load(path) as file:
        arrays = dict(file)
    return json.loads(arrays.pop("head").tobytes()), arrays


def join(path, head, arrays):
    """Write such a file."""
    np.savez(path, head=np.frombuffer(json.dumps(head).encode(), np.uint8), **arrays)


def test_monitor_states(tmp_path):
    detector = ChangeDetector(GRNF(8, random_state=0), random_state=0).fit(GRAPHS[:30])
    detector.update(GRAPHS[30:34])
    path = tmp_path / "state.npz"
    detector.save(path)
    head, arrays = split(path)
    head["transformer"] = None
    for content in altered(head):
        join(path, content, arrays)
        check(lambda: ChangeDetector.load(path, transformer=detector.transformer_).update(GRAPHS[:3]), path)
    for name, array in arrays.items():
        for other in (array[:-1], array[None], array.astype("U8"), array * np.nan, np.zeros(0)):
            join(path, head, {**arrays, name: other})
            check(
                lambda: ChangeDetector.load(path, transformer=detector.transformer_).update(GRAPHS[:3]), path
            )


def test_index_heads(tmp_path):
    path = tmp_path / "x.index"
    GraphIndex(GRNF(8, random_state=0), keep_graphs=True).add(GRAPHS[:10]).save(path)
    head = json.loads((path / "index.json").read_text())
    head.pop("checksum")
    for content in altered(head):
        own = segments._checksum(content)
        (path / "index.json").write_text(json.dumps({**content, "checksum": own}))
        check(lambda: GraphIndex.load(path).search(GRAPHS[:1], n_neighbors=2), path)


def test_manifests(tmp_path):
    require("pyarrow")
    from grnf.io import write_graphs

    write_graphs(tmp_path / "in.g6", GRAPHS[:10])
    folder = tmp_path / "vectors"
    embed(tmp_path / "in.g6", folder, GRNF(8, random_state=0), shard_size=5)
    path = folder / "_manifest.json"
    manifest = json.loads(path.read_text())
    for content in altered({**manifest, "run": {}, "transformer": {}}):
        path.write_text(json.dumps(content))
        check(lambda: read_vectors(folder), folder)


@pytest.mark.parametrize(
    "transformer",
    [
        GRNF(8, random_state=0),
        GRNF(
            8, orders=ShiftedPoisson(0.5), proposal=ShiftedPoisson(0.5).restricted_to([1, 2]), random_state=0
        ),
        FeatureViews(n_components=8, random_state=0),
    ],
    ids=["GRNF", "laws", "views"],
)
def test_transformers(tmp_path, transformer):
    path = tmp_path / "transformer.json"
    transformer.fit(GRAPHS).save(path)
    state = json.loads(path.read_text())
    for content in altered(state):
        path.write_text(json.dumps(content))
        check(lambda: type(transformer).load(path), path)


@pytest.mark.parametrize("load", [ChangeDetector.load, GraphMap.load, read_vectors])
def test_a_directory_of_arrays_before_the_file(tmp_path, load):
    """The position in an .npz file at which its table of contents begins is negative."""
    path = tmp_path / "z.npz"
    np.savez(path, head=np.zeros(3))
    content = bytearray(path.read_bytes())
    content[-10:-6] = b"\xff\xff\xff\x7f"  # the size of the table
    path.write_bytes(content)
    with pytest.raises(GraphError, match=r"z\.npz"):
        load(path)


def cut(path, old, new):
    """Change bytes of a file in place."""
    content = path.read_bytes()
    assert old in content
    assert len(old) == len(new)
    path.write_bytes(content.replace(old, new))


def test_damaged_vectors(tmp_path):
    """As `make fuzz` found them: headers that are not Python, positions before the file, broken pages."""
    require("pyarrow")
    from grnf.io import write_graphs

    write_graphs(tmp_path / "in.g6", GRAPHS[:10])
    GraphIndex(GRNF(8, random_state=0)).add(GRAPHS[:10]).save(tmp_path / "x.index")
    for suffix in ("npy", "npz", "parquet"):
        embed(tmp_path / "in.g6", tmp_path / f"z.{suffix}", GRNF(8, random_state=0))
    for new in (b"'descr\0:", b"(descr':", b"'descr(:"):
        for path in (tmp_path / "z.npy", tmp_path / "z.npz", tmp_path / "x.index/segment-1/rows.npy"):
            valid = path.read_bytes()
            cut(path, b"'descr':", new)
            load = (
                partial(GraphIndex.load, path.parents[1])
                if path.name == "rows.npy"
                else partial(read_vectors, path)
            )
            with pytest.raises(GraphError, match=path.name):
                load()
            path.write_bytes(valid)
    path = tmp_path / "z.npy"
    cut(path, b"(10, 8), }" + b" " * 21, b"(10, 8%s), }" % (b"0" * 21))
    with pytest.raises(GraphError, match=r"z\.npy"):
        read_vectors(path)
    path = tmp_path / "z.parquet"
    valid = path.read_bytes()
    for start in range(4, len(valid) - 8, 41):
        path.write_bytes(valid[:start] + b"\xff" * 4 + valid[start + 4 :])
        check(lambda: read_vectors(path), path)


@pytest.mark.filterwarnings("ignore:overflow")
def test_maps(tmp_path):
    path = tmp_path / "layout.npz"
    map_graphs(GRAPHS, transformer=GRNF(8, random_state=0), layout="pca").save(path)
    head, arrays = split(path)
    for content in altered({**head, "ids": head["ids"], "columns": head["columns"][:1]}):
        join(path, content, arrays)
        check(lambda: GraphMap.load(path).html(), path)
    for name, array in arrays.items():
        for other in (array[:-1], array[None], array.astype("U8"), array * np.nan, np.zeros(0)):
            join(path, head, {**arrays, name: other})
            check(lambda: GraphMap.load(path).html(), path)


def test_a_model_whose_directory_lies_about_its_place(tmp_path):
    """zipfile seeks before the file, and its error names no file (`make fuzz`, load-linear, seed 176)."""
    path = tmp_path / "model.grnf"
    GRNFClassifier(8, estimator="linear", random_state=0).fit(GRAPHS, np.arange(len(GRAPHS)) % 2).save(path)
    data = bytearray(path.read_bytes())
    place = int.from_bytes(data[-6:-2], "little")
    data[-6:-2] = (place + len(data)).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"model\.grnf: .*not a model that can be used"):
        GRNFClassifier.load(path)
