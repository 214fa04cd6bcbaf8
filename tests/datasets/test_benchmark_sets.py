"""Benchmark sets by name: facts of the real ones, and where files are looked for."""

import hashlib
import http.server
import json
import threading
import zipfile
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest

import tu_sets
from grnf.datasets import benchmarks, load_brec, load_folds, load_tu
from grnf.errors import GraphError
from grnf.graphs import Graph, GraphBatch

FACTS = {  # graphs, mean nodes, mean undirected edges, classes, node columns
    "NCI1": (4110, 29.87, 32.30, 2, 37),
    "PROTEINS": (1113, 39.06, 72.82, 2, 3),
    "PROTEINS_full": (1113, 39.06, 72.82, 2, 32),
    "ENZYMES": (600, 32.63, 62.14, 6, 21),
    "IMDB-BINARY": (1000, 19.77, 96.53, 2, 0),
    "IMDB-MULTI": (1500, 13.00, 65.94, 3, 0),
    "COLLAB": (5000, 74.49, 2457.78, 3, 0),
    "MUTAG": (188, 17.93, 19.79, 2, 7),
    "PTC_MR": (344, 14.29, 14.69, 2, 18),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name == "COLLAB")) for name in benchmarks.TU_CHECKSUMS],
)
def test_facts_and_checksums_of_real_sets(shared, name):
    found = load_tu(name, data=shared / "data", download=False)
    assert benchmarks.checksum(found.graphs, found.y) == benchmarks.TU_CHECKSUMS[name]
    assert len(found.node_columns) == found.graphs.node_width
    n_graphs, nodes, edges, classes, width = FACTS[name]
    assert len(found) == len(found.graphs) == len(found.y) == n_graphs
    assert found.graphs.sizes.mean() == pytest.approx(nodes, abs=0.005)
    assert len(found.graphs.edges) / n_graphs == pytest.approx(edges, abs=0.005)
    assert len(np.unique(found.y)) == classes
    assert found.graphs.node_width == width
    assert not found.graphs.directed.any()
    if name == "ENZYMES":
        kinds = [column.split("=")[0].rstrip("0123456789") for column in found.node_columns]
        assert kinds == ["attribute"] * 18 + ["label"] * 3
    if name == "COLLAB":  # the published mean counts the 2,837 self-loops
        assert (found.graphs.edges[:, 0] == found.graphs.edges[:, 1]).sum() == 2837
        assert np.unique(found.y, return_counts=True)[1].tolist() == [2600, 775, 1625]


def fold_checksum(content):
    compact = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(compact.encode()).hexdigest()


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in benchmarks.FOLDS.items() for name in names]
)
def test_real_folds(shared, kind, name):
    found = load_folds(name, data=shared / "data", kind=kind, download=False)
    n_graphs = benchmarks.SIZES[name]
    assert len(found) == 10
    assert sorted(np.concatenate([fold.test for fold in found])) == list(range(n_graphs))
    for fold in found:
        assert len(fold.train) > 7 * len(fold.validation) > 0
    file = f"{'PROTEINS_full' if name == 'PROTEINS' else name}_splits.json"
    content = json.loads((shared / "data" / "splits" / kind / file).read_text())
    assert fold_checksum(content) == benchmarks.FOLDS[kind][name]


def test_the_kind_of_table_1_is_the_default(tmp_path, monkeypatch):
    tu_sets.install(tmp_path, "ENZYMES", "COLLAB", n_graphs=30, put=monkeypatch.setitem)

    def tests(name, **kind):
        return [fold.test.tolist() for fold in load_folds(name, data=tmp_path, **kind)]

    assert tests("ENZYMES") == tests("ENZYMES", kind="CHEMICAL")
    assert (
        tests("COLLAB")
        == tests("COLLAB", kind="COLLABORATIVE_1")
        != tests("COLLAB", kind="COLLABORATIVE_DEGREE")
    )


def test_checksum_ignores_the_order_of_nodes_and_sees_everything_else():
    generator = np.random.default_rng(0)
    graph = Graph(5, [(0, 1), (1, 2), (3, 4)], generator.random((5, 2)), generator.random((3, 1)))
    other = Graph(5, [(0, 1), (1, 2), (2, 3)], graph.node_attr, graph.edge_attr)

    def value(*graphs, y=(0, 1)):
        return benchmarks.checksum(GraphBatch.from_graphs(graphs), np.array(y))

    first = value(graph, graph)
    assert value(graph.permuted([4, 2, 0, 1, 3]), graph) == first
    assert value(graph, graph, y=(1, 1)) != first
    assert value(graph, other) != first
    assert value(graph, Graph(5, graph.edges, graph.node_attr + 1, graph.edge_attr)) != first
    assert value(graph, Graph(5, graph.edges, graph.node_attr, graph.edge_attr + 1)) != first


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A small set that is known by the name of MUTAG, in a folder of its own."""
    path = tmp_path / "site" / "MUTAG.zip"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("MUTAG/MUTAG_A.txt", "1, 2\n2, 1\n3, 4\n4, 3\n")
        archive.writestr("MUTAG/MUTAG_graph_indicator.txt", "1\n1\n2\n2\n2\n")
        archive.writestr("MUTAG/MUTAG_graph_labels.txt", "1\n-1\n")
    dataset = load_tu(path)
    monkeypatch.setitem(benchmarks.TU_CHECKSUMS, "MUTAG", benchmarks.checksum(dataset.graphs, dataset.y))
    return path


@contextmanager
def served(folder, redirect=None):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def send_head(self):
            if redirect is None or self.headers["Host"].startswith("localhost"):
                return super().send_head()
            self.send_response(302)
            self.send_header("Location", f"http://localhost:{self.server.server_port}{self.path}")
            self.end_headers()
            return None

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_download_checks_and_keeps(tiny, tmp_path, monkeypatch):
    with served(tiny.parent) as address:
        monkeypatch.setitem(benchmarks.ADDRESSES, "tu", address)
        found = load_tu("MUTAG", data=tmp_path / "cache")
        assert found.y.tolist() == [1, -1]
        assert (tmp_path / "cache" / "tu" / "MUTAG.zip").is_file()
    again = load_tu("MUTAG", data=tmp_path / "cache")  # no server any more
    assert len(again) == 2
    monkeypatch.setenv("GRNF_DATA", str(tmp_path / "cache"))
    assert len(load_tu("MUTAG")) == 2


@pytest.mark.parametrize(
    ("change", "redirect", "message"),
    [
        ({"TU_CHECKSUMS": "0" * 64}, None, "does not hold the graphs of the benchmark MUTAG"),
        ({"LARGEST_DOWNLOAD": 100}, None, "larger than 100 bytes"),
        ({"path": "/elsewhere"}, None, r"cannot be reached .*404"),
        ({}, True, "leads to http://localhost"),
    ],
)
def test_what_is_downloaded_is_checked(tiny, tmp_path, monkeypatch, change, redirect, message):
    with served(tiny.parent, redirect) as address:
        monkeypatch.setitem(benchmarks.ADDRESSES, "tu", address + change.get("path", ""))
        monkeypatch.setattr(benchmarks, "LARGEST_DOWNLOAD", change.get("LARGEST_DOWNLOAD", 10**6))
        if "TU_CHECKSUMS" in change:
            monkeypatch.setitem(benchmarks.TU_CHECKSUMS, "MUTAG", change["TU_CHECKSUMS"])
        with pytest.raises(GraphError, match=message):
            load_tu("MUTAG", data=tmp_path / "cache")
    assert list((tmp_path / "cache" / "tu").iterdir()) == []
    with pytest.raises(GraphError, match="Put the file at"):  # no server any more
        load_tu("MUTAG", data=tmp_path / "cache")


def test_only_https(tmp_path):
    for address in ("http://example.org/x", "file:///etc/passwd", "ftp://example.org/x"):
        with pytest.raises(GraphError, match="only https"):
            benchmarks._downloaded(address, tmp_path / "x", print)


def test_folds_are_downloaded_and_checked(tmp_path, monkeypatch):
    content = [
        {"test": [0, 1], "model_selection": [{"train": [2], "validation": [3]}]},
        {"test": [2, 3], "model_selection": [{"train": [0], "validation": [1]}]},
    ]
    folder = tmp_path / "site" / "CHEMICAL"
    folder.mkdir(parents=True)
    (folder / "ENZYMES_splits.json").write_text(json.dumps(content))
    monkeypatch.setitem(benchmarks.FOLDS["CHEMICAL"], "ENZYMES", fold_checksum(content))
    monkeypatch.setitem(benchmarks.SIZES, "ENZYMES", 4)
    with served(folder.parent) as address:
        monkeypatch.setitem(benchmarks.ADDRESSES, "splits", address)
        found = load_folds("ENZYMES", data=tmp_path / "cache")
        assert [fold.test.tolist() for fold in found] == [[0, 1], [2, 3]]
        (folder / "ENZYMES_splits.json").write_text("[]")
        with pytest.raises(GraphError, match="does not hold the CHEMICAL folds"):
            load_folds("ENZYMES", data=tmp_path / "other")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not a JSON file"),
        ('[{"test": [0]}]', "must be a list"),
        ('[{"test": [0], "model_selection": [{"train": [0], "validation": [2]}]}]', "fold 1 does not split"),
        ('[{"test": [0], "model_selection": [{"train": [1], "validation": [2, 3]}]}]', "not disjoint"),
    ],
)
def test_damaged_folds_are_named(tmp_path, monkeypatch, text, message):
    monkeypatch.setitem(benchmarks.SIZES, "ENZYMES", 4)
    (tmp_path / "CHEMICAL").mkdir()
    (tmp_path / "CHEMICAL" / "ENZYMES_splits.json").write_text(text)
    with pytest.raises(GraphError, match=message):
        load_folds("ENZYMES", data=tmp_path)


def test_any_tu_dataset_by_name_or_path(tmp_path):
    path = tu_sets.write_set(tmp_path / "tu", "ENZYMES", 20)
    other = path.rename(path.with_name("OTHER.zip"))
    for name, data in (("OTHER", tmp_path), (other, None), (str(other), None)):
        found = load_tu(name, data=data, download=False)
        assert (found.name, len(found)) == ("OTHER", 20)


def test_unknown_names_and_missing_files(tmp_path):
    with pytest.raises(GraphError, match="is not the name of a TU dataset"):
        load_tu("FLOWERS AND TREES")
    with pytest.raises(GraphError, match=r"FLOWERS.zip is not in"):
        load_tu("FLOWERS", data=tmp_path, download=False)
    with pytest.raises(GraphError, match="there are no folds for"):
        load_folds("MUTAG")
    with pytest.raises(GraphError, match="kind must be CHEMICAL for NCI1"):
        load_folds("NCI1", kind="COLLABORATIVE_1")
    with pytest.raises(GraphError, match=r"MUTAG.zip is not in"):
        load_tu("MUTAG", data=tmp_path, download=False)
    with pytest.raises(GraphError, match="is not in"):
        load_folds("ENZYMES", data=tmp_path, download=False)


def test_default_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("GRNF_DATA", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert benchmarks.data_folder() == tmp_path / "grnf"
    monkeypatch.setenv("GRNF_DATA", str(tmp_path / "sets"))
    assert benchmarks.data_folder() == tmp_path / "sets"
    assert benchmarks.data_folder(tmp_path) == tmp_path


def test_brec(shared):
    found = load_brec(data=shared / "data")
    assert [len(pairs) for pairs in found.values()] == [60, 50, 50, 100, 20, 20, 100]
    assert all(one.n_nodes == other.n_nodes for pairs in found.values() for one, other in pairs)
    assert max(graph.n_nodes for pair in found["cfi"] for graph in pair) == 198


def test_another_file_is_not_brec(tmp_path):
    (tmp_path / "basic.npy").write_bytes(b"no graphs")
    with pytest.raises(GraphError, match=r"basic\.npy is not a file of BREC"):
        load_brec(data=tmp_path)
