"""Altered saved files: each loader reads them, or raises one error that names the file."""

import json

import numpy as np
import pytest

from grnf import GRNF
from grnf.datasets import make_sbm
from grnf.errors import GraphError
from grnf.io.vectors import read_vectors
from grnf.scale import embed
from grnf.search import GraphIndex, segments
from grnf.stats import ChangeDetector
from optional import require

GRAPHS = make_sbm(40, random_state=0)[0]
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
    try:
        load()
    except (GraphError, ValueError, OSError) as error:
        assert path.name in str(error), repr(error)
        assert "\n" not in str(error)


def test_monitor_states(tmp_path):
    detector = ChangeDetector(GRNF(8, random_state=0), random_state=0).fit(GRAPHS[:30])
    detector.update(GRAPHS[30:])
    path = tmp_path / "state.npz"
    detector.save(path)
    with np.load(path) as file:
        arrays = dict(file)
    head = json.loads(arrays.pop("head").tobytes())
    head.pop("transformer")
    for content in altered({**head, "transformer": None}):
        text = np.frombuffer(json.dumps(content).encode(), np.uint8)
        np.savez(path, head=text, **arrays)
        check(lambda: ChangeDetector.load(path, transformer=detector.transformer_).update(GRAPHS[:3]), path)
    text = np.frombuffer(json.dumps({**head, "transformer": None}).encode(), np.uint8)
    for name, array in arrays.items():
        for other in (array[:-1], array[None], array.astype("U8"), array * np.nan, np.zeros(0)):
            np.savez(path, head=text, **{**arrays, name: other})
            check(lambda: ChangeDetector.load(path, transformer=detector.transformer_).update(GRAPHS[:3]), path)


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


@pytest.mark.parametrize("kind", ["GRNF"])
def test_transformers(tmp_path, kind):
    path = tmp_path / "transformer.json"
    GRNF(8, random_state=0).fit(GRAPHS).save(path)
    state = json.loads(path.read_text())
    for content in altered(state):
        path.write_text(json.dumps(content))
        check(lambda: GRNF.load(path), path)
