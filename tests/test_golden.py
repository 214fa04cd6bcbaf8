"""Files of version 1 of each format, which every later version opens with the same result.

`python tests/test_golden.py` writes them into tests/data/golden. Do so only for a new version of a format.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from grnf import GRNF, Graph, GRNFRegressor
from grnf.errors import GraphError
from grnf.maps import GraphMap
from grnf.search import GraphIndex
from grnf.stats import ChangeDetector
from optional import require

nx = require("networkx")

GOLDEN = Path(__file__).parent / "data" / "golden"


def graphs():
    """Rings of 4 to 15 nodes with a label on each node and a chord in every second one."""
    made = []
    for n in range(4, 16):
        edges = [(i, (i + 1) % n) for i in range(n)] + [(0, 2)] * (n % 2)
        made.append(
            Graph(n, edges, [[i % 3, i / n] for i in range(n)], [[1.0 + i] for i in range(len(edges))])
        )
    return made


def networks():
    return [nx.cycle_graph(n) for n in range(3, 43)]


def model():
    """A model with settings of its own, and the sizes of the graphs as target."""
    return GRNFRegressor(16, C=10.0, gamma=0.3, random_state=0).fit(graphs()[:10], np.arange(4.0, 14))


def certainty(fitted):
    """What a model predicts for all graphs: lower and upper ends, and p-values of applicability."""
    return np.column_stack([fitted.predict_interval(graphs(), 0.8), fitted.applicability(graphs())])


def write():
    """Write a small file of each format, and what it gives."""
    from grnf import map_graphs

    shutil.rmtree(GOLDEN, ignore_errors=True)
    GOLDEN.mkdir()
    grnf = GRNF(16, random_state=0).fit(graphs())
    grnf.save(GOLDEN / "transformer.json")
    np.save(GOLDEN / "vectors.npy", grnf.transform(graphs()))
    GraphIndex(GRNF(16, random_state=0), keep_graphs=True).add(graphs()).save(GOLDEN / "graphs.index")
    detector = ChangeDetector(GRNF(16, random_state=0), random_state=0).fit(networks())
    np.save(GOLDEN / "evidence.npy", detector.update(networks()[:5]).evidence)
    detector.save(GOLDEN / "monitor.npz")
    map_graphs(graphs(), transformer=GRNF(16, random_state=0), random_state=0).save(GOLDEN / "map.npz")
    model().save(GOLDEN / "model.grnf")
    np.save(GOLDEN / "certainty.npy", certainty(model()))
    lines = "\n".join(nx.to_graph6_bytes(graph, header=False).decode().strip() for graph in networks())
    (GOLDEN / "networks.g6").write_text(lines + "\n")
    command = [sys.executable, "-m", "grnf", "embed", "networks.g6", "-m", "4", "-q"]
    subprocess.run([*command, "-o", "z.npy"], check=True, cwd=GOLDEN)
    subprocess.run([*command, "-o", "shards", "--shard-size", "20"], check=True, cwd=GOLDEN)


def test_a_transformer_gives_the_same_vectors():
    found = GRNF.load(GOLDEN / "transformer.json").transform(graphs())
    np.testing.assert_allclose(found, np.load(GOLDEN / "vectors.npy"), atol=1e-6)


def test_an_index_finds_its_graphs(tmp_path):
    shutil.copytree(GOLDEN / "graphs.index", tmp_path / "graphs.index")
    index = GraphIndex.load(tmp_path / "graphs.index")
    assert [names[0] for names in index.search(graphs(), n_neighbors=1).ids] == [str(i) for i in range(12)]
    assert index.add(graphs()[:1], ids=["again"]).search(graphs()[:1], 2).ids == [["0", "again"]]


def test_a_detector_continues():
    detector = ChangeDetector.load(GOLDEN / "monitor.npz")
    again = ChangeDetector(GRNF(16, random_state=0), random_state=0).fit(networks())
    np.testing.assert_allclose(
        again.update(networks()[:5]).evidence, np.load(GOLDEN / "evidence.npy"), atol=1e-6
    )
    assert detector.update(networks()[5:6]).graphs.tolist() == [5]


def test_a_map_has_its_positions():
    assert GraphMap.load(GOLDEN / "map.npz").positions.shape == (12, 2)


def test_a_model_predicts_the_same():
    path = GOLDEN / "model.grnf"
    found, expected = certainty(GRNFRegressor.load(path)), np.load(GOLDEN / "certainty.npy")
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert path.stat().st_size < 100_000


@pytest.mark.parametrize("settings", ["z.npy.json", "shards/_manifest.json"])
def test_settings_of_vectors_embed_alike(settings):
    again = GRNF.load(GOLDEN / settings).transform(networks())
    np.testing.assert_allclose(again, np.load(GOLDEN / "z.npy"), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "load"),
    [("transformer.json", GRNF.load), ("graphs.index/index.json", lambda path: GraphIndex.load(path.parent))],
)
def test_a_newer_version_is_refused_with_both_versions(tmp_path, name, load):
    shutil.copytree(GOLDEN, tmp_path / "golden")
    path = tmp_path / "golden" / name
    state = json.loads(path.read_text())
    path.write_text(json.dumps(state | {"version": state["version"] + 1}))
    with pytest.raises(
        GraphError, match=rf"version {state['version'] + 1} .*reads version {state['version']}"
    ):
        load(path)


if __name__ == "__main__":
    write()
