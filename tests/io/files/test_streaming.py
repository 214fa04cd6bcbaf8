"""Files longer than memory: what is held does not grow with the file, for every format of many graphs."""

import contextlib
import gzip
import json
import tracemalloc
import zipfile

import numpy as np
import pytest

from grnf import GraphError
from grnf.io import FORMATS, BadGraph, RawGraph, read_blocks, read_graphs, read_tu, write_graphs
from grnf.io.files import tu_files
from grnf.io.files.file import File
from optional import require
from raw_graphs import assert_same

pd = require("pandas")

MEGABYTE = 1_000_000
N = 400  # nodes of each graph


def ring(index, directed=False):
    edges = np.column_stack([np.arange(N), (np.arange(N) + 1) % N])
    columns = {"x": np.arange(N) * 0.5}, {"weight": np.ones(N)}
    return RawGraph(N, edges, *columns, directed, f"graph {index}", 1)


def tu_texts(count, shuffled=False):
    nodes = np.arange(count * N)
    graph = nodes // N
    after = graph * N + (nodes + 1) % N
    arcs = np.vstack([np.column_stack([nodes, after]), np.column_stack([after, nodes])]) + 1
    order = np.random.default_rng(0).permutation(len(arcs)) if shuffled else np.argsort(arcs[:, 0] // N)
    return {
        "A": "".join(f"{u}, {v}\n" for u, v in arcs[order].tolist()),
        "graph_indicator": "".join(f"{g + 1}\n" for g in graph.tolist()),
        "graph_labels": "".join(f"{g % 7}\n" for g in range(count)),
        "node_attributes": "".join(f"{node % N}.25, 1.5\n" for node in nodes.tolist()),
        "edge_labels": "3\n" * len(arcs),
    }


def zipped(path, files, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, text in files.items():
            archive.writestr(f"DS_{name}.txt", text)
    return path


def edge_table(count, shuffled=False):
    graphs = np.repeat(np.arange(count), N)
    source = np.tile(np.arange(N), count)
    frame = pd.DataFrame({"graph_id": graphs, "source": source, "target": (source + 1) % N, "w": 0.5})
    return frame.sample(frac=1, random_state=0) if shuffled else frame


def write(name, path, count, shuffled):
    """Write a file of many graphs; return its size, unpacked."""
    if name == "tu":
        zipped(path, tu_texts(count, shuffled), zipfile.ZIP_STORED)
    elif name in ("smiles", "smi"):
        path.write_text("smiles\n" * (name == "smiles") + ("C" * 12 + "O\n") * count)
    elif name == "sdf":
        Chem = require("rdkit.Chem")
        path.write_text((Chem.MolToMolBlock(Chem.MolFromSmiles("C" * 50 + "O")) + "$$$$\n") * count)
    elif name == "edge-table":
        edge_table(count, shuffled).to_csv(path, index=False)
    elif name == "graph6-npy":
        np.save(path, np.array(["g" + "?" * 130] * count))
    elif name == "matrices":
        stack = np.zeros((count, N, N), np.uint8)
        stack[:, np.arange(N), (np.arange(N) + 1) % N] = 2
        with path.open("wb") as file:
            np.save(file, stack)
    else:
        graphs = (ring(index, name == "digraph6") for index in range(count))
        write_graphs(path, graphs, format=name, lossy=True)
    if name == "npz":
        with zipfile.ZipFile(path) as archive:
            return sum(member.file_size for member in archive.infolist())
    return path.stat().st_size


COUNTS = {
    "tu": 1300,
    "npz": 600,
    "graph6-npy": 8000,
    "smi": 9000,
    "smiles": 9000,
    "sdf": 200,
    "parquet": 9000,
}
BLOCKS = ("parquet", "npz", "smi", "smiles")  # up to 1,024 graphs, and the next ones, are held
MANY = [name for name, entry in FORMATS.items() if entry.streaming and not entry.one_graph]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*MANY, "tu shuffled", "edge-table shuffled"])
def test_memory_does_not_grow_with_the_file(tmp_path, name):
    name, _, shuffled = name.partition(" ")
    count = COUNTS.get(name, 40)
    path = tmp_path / f"graphs{FORMATS[name].suffixes[0]}"
    size = write(name, path, count, bool(shuffled))
    next(iter(read_graphs(path, format=name)))  # what is imported and cached once
    tracemalloc.start()
    try:
        graphs = read_graphs(path, format=name)
        for _ in range(count // 4):
            next(graphs)
        _, early = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        assert sum(1 for _ in graphs) == count - count // 4
        _, late = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert late < 1.2 * early + 0.3 * MEGABYTE
    assert max(early, late) < (64 * MEGABYTE if name in BLOCKS else max(0.4 * size, 3 * MEGABYTE))


def test_graphml_declares_a_column_once(tmp_path):
    write_graphs(tmp_path / "a.graphml", map(ring, range(3)))
    assert (tmp_path / "a.graphml").read_text().count("<key ") == 3  # y, x and weight


@pytest.mark.parametrize("at_once", [1, 1000, 2**16])
def test_arcs_in_any_order(tmp_path, monkeypatch, at_once):
    """Parts, runs and merging change nothing: the same graphs come from a shuffled list of arcs."""
    monkeypatch.setattr(tu_files, "PART", at_once)
    wanted = list(read_graphs(zipped(tmp_path / "a.zip", tu_texts(12))))
    monkeypatch.setattr(tu_files, "RUN", 777)
    monkeypatch.setattr(tu_files, "CHUNK", 999)
    path = zipped(tmp_path / "b.zip", tu_texts(12, shuffled=True))
    found = list(read_graphs(path))
    for one, other in zip(found, wanted, strict=True):
        assert_same(one, other)
    batch = read_tu(path).graphs
    assert np.array_equal(np.concatenate([graph.edges for graph in found]), batch.edges)


def test_one_arc_without_its_reverse_makes_all_graphs_directed(tmp_path, monkeypatch):
    monkeypatch.setattr(tu_files, "PART", 1)
    files = {"graph_indicator": "1\n1\n2\n2\n", "A": "1, 2\n2, 1\n3, 4\n"}
    graphs = list(read_graphs(zipped(tmp_path / "a.zip", files)))
    assert [(graph.directed, graph.edges.tolist()) for graph in graphs] == [
        (True, [[0, 1], [1, 0]]),
        (True, [[0, 1]]),
    ]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_edge_tables_in_any_order(tmp_path, suffix):
    def save(frame, name):
        path = tmp_path / f"{name}{suffix}"
        frame.to_parquet(path, index=False) if suffix == ".parquet" else frame.to_csv(path, index=False)
        return path

    edges = edge_table(6, shuffled=True)
    nodes = pd.DataFrame({"graph_id": edges["graph_id"], "node": edges["source"], "x": edges["source"] * 2})
    for options in ({}, {"nodes": save(nodes.sample(frac=1, random_state=1), "nodes")}):
        found = list(read_graphs(save(edges, "edges"), **options))
        order = edges if not options else pd.read_csv(options["nodes"]) if suffix == ".csv" else nodes
        if not options:
            assert [int(g.graph_id) for g in found] == list(dict.fromkeys(order["graph_id"]))
        by_id = {int(graph.graph_id): graph for graph in found}
        assert sorted(by_id) == list(range(6))
        for graph in found:
            assert graph.n_nodes == len(graph.edges) == N
            assert (graph.edge_columns["w"] == 0.5).all()
            if options:
                x = graph.node_columns["x"]
                ends = x[graph.edges]
                assert set(map(tuple, (ends // 2).tolist())) == {(i, (i + 1) % N) for i in range(N)}


NODE_LINK = {"nodes": [{"id": 0}, {"id": 1}], "edges": [{"source": 0, "target": 1}]}


@pytest.mark.parametrize(
    "document",
    [
        {"graphs": [NODE_LINK, NODE_LINK]},
        {"name": "set", "graphs": [NODE_LINK, NODE_LINK], "version": [1, {"a": "]"}]},
        [NODE_LINK, NODE_LINK],
    ],
)
def test_documents_of_several_graphs(tmp_path, document):
    (tmp_path / "a.json").write_text(json.dumps(document))
    assert [graph.n_nodes for graph in read_graphs(tmp_path / "a.json")] == [2, 2]


def read_both(path, **options):
    """Return what on_error="yield" gives, after on_error="raise" did raise."""
    with pytest.raises(GraphError):
        list(read_graphs(path, **options))
    found = list(read_graphs(path, on_error="yield", **options))
    assert [graph.index for graph in found if isinstance(graph, BadGraph)] == [
        index for index, graph in enumerate(found) if isinstance(graph, BadGraph)
    ]
    return found


def kinds(found):
    return "".join("b" if isinstance(graph, BadGraph) else "g" for graph in found)


GOOD = json.dumps(NODE_LINK)
GML = "graph [ node [ id 0 ] ]\n"
XML = '<graph><node id="a"/></graph>'
FAULTS = [
    ("a.json", f"[{GOOD}, {{'single': 1}}, {GOOD}]", "gb", "graph 1: invalid JSON"),
    ("a.json", f'[{GOOD}, {{"nodes": 1}}, 7, {GOOD}]', "gbbg", "'nodes' and 'edges' .* must be lists"),
    ("a.json", f"[{GOOD}, {GOOD[:-9]}", "gb", "truncated.*No graph after number 0"),
    ("a.json", f'{{"graphs": [{GOOD}, {{]}}, {GOOD}]}}', "gb", "graph 1: invalid JSON"),
    ("a.json", "nonsense", "b", "No graph can be read"),
    ("a.gml", f"{GML}graph [ node [ id 0 ] node [ id 0 ] ]\n{GML}", "gbg", "node id 0 is duplicated"),
    ("a.gml", f"{GML}graph [ node [ id {{ ] ]\n{GML}", "gbg", "cannot tokenize"),
    ("a.gml", f"{GML}graph [ node [ id 0 ]", "b", "do not close"),
    ("a.graphml", f"<graphml>{XML}<graph><node/></graph>{XML}</graphml>", "gbg", "has no id"),
    ("a.graphml", f"<graphml>{XML}<graph><edge source='x'/></graph>{XML}</graphml>", "gbg", "no node 'x'"),
    ("a.graphml", f"<graphml>{XML}<graph><node id='a'/>", "b", "invalid XML"),
    ("a.edgelist", "a b\nc\n", "b", "line 2: .*got 1 fields"),
    ("a.g6", "Bw\n" + "~" * 3000 + "\nBw\n", "gbg", "line 2: the line is longer than 2000"),
    ("a.jsonl", f"{GOOD}\n{' ' * 3000}{GOOD}\n{GOOD}\n", "gbg", "line 2: the line is longer than 2000"),
    ("a.smi", f"C\n{'C' * 3000}\nC\n", "gbg", "line 2: the line is longer than 2000"),
    ("a.smi", "C\n\x1f\nC\n", "gbg", "line 2: the SMILES is missing"),  # blank as text only
    ("a.csv", f"smiles\nC\n{'C' * 3000}\nC\n", "gbg", "line 3: the line is longer than 2000"),
    ("a.csv", 'smiles,y\nC,1\nC,"1"2\nC,3\n', "gbg", "line 3: "),
]


@pytest.mark.parametrize(("name", "text", "wanted", "reason"), FAULTS, ids=range(len(FAULTS)))
def test_a_fault_is_one_bad_graph(tmp_path, monkeypatch, name, text, wanted, reason):
    import re

    from grnf.io.files import graph6, node_link, tables

    for module in (graph6, node_link):
        monkeypatch.setattr(module, "LONGEST_RECORD", 2000)
    monkeypatch.setattr(tables, "LONGEST_LINE", 2000)
    (tmp_path / name).write_text(text)
    found = read_both(tmp_path / name)
    assert kinds(found) == wanted
    bad = next(graph for graph in found if isinstance(graph, BadGraph))
    assert re.search(reason, bad.reason)
    assert name in bad.reason


EDGES = "graph_id,source,target,w\na,1,2,1\nb,1,2,1\nc,1,2,1\n"


@pytest.mark.parametrize(
    ("old", "new", "wanted", "reason"),
    [
        ("b,1,2,1\n", "b,1,2\n", "gbg", "line 3: 3 fields for the 4 columns"),
        ("b,1,2,1\n", "b,1,2,1\nb,,2,1\n", "gbg", "line 4: no node in column 'source'"),
        ("b,1,2,1\n", "b,1,2,1\n,2,3,1\n", "gbg", "line 4: no id of a graph"),
        ("b,1,2,1\n", "b,1,2,inf\n", "gbg", "is infinite"),
        ("b,1,2,1\n", 'b,"1"1,2,1\nb,1,2,1\n', "bgg", "line 3: "),  # nothing of it is known: graph a
        ("a,1,2,1\n", ",1\na,1,2,1\n", "bgg", "line 2: 2 fields"),
    ],
)
def test_faults_in_edge_tables(tmp_path, old, new, wanted, reason):
    (tmp_path / "e.csv").write_text(EDGES.replace(old, new))
    found = read_both(tmp_path / "e.csv")
    assert [graph.graph_id for graph in found] == ["a", "b", "c"]
    assert kinds(found) == wanted
    assert any(reason in graph.reason for graph in found if isinstance(graph, BadGraph))


def test_a_graph_that_the_node_table_lacks(tmp_path):
    (tmp_path / "e.csv").write_text(EDGES)
    (tmp_path / "n.csv").write_text("graph_id,node\nc,1\nc,2\na,2\na,1\n")
    found = read_both(tmp_path / "e.csv", nodes=tmp_path / "n.csv")
    assert [graph.graph_id for graph in found] == ["c", "a", "b"]
    assert kinds(found) == "ggb"


TU_SET = {
    "graph_indicator": "1\n1\n2\n2\n3\n",
    "A": "1, 2\n2, 1\n3, 4\n4, 3\n5, 5\n",
    "graph_labels": "1\n2\n3\n",
    "node_labels": "0\n1\n0\n1\n0\n",
    "edge_labels": "0\n0\n0\n0\n0\n",
}


@pytest.mark.parametrize(
    ("file", "text", "wanted", "reason"),
    [
        ("A", "1, 2\n2, 1\n3, 4\n9, 3\n5, 5\n", "gbg", "A.txt, line 4: no such node"),
        ("A", "1, 2\n2, 1\n3, 4\n4, 5\n5, 5\n", "gbg", "A.txt, line 4: an edge between two graphs"),
        ("A", "1, 2\n2, 1\n3, 4\nx, 3\n5, 5\n", "gbg", "A.txt, line 4: must be 2 whole numbers, got"),
        ("A", "1, 2\n2, 1\n3, 4\n4, 3, 3\n5, 5\n", "gbg", "A.txt, line 4: must be 2 whole numbers, got"),
        (
            "node_labels",
            "0\n1\n0\n\N{SNOWMAN}\n0\n",
            "gbg",
            "node_labels.txt, line 4: must be 1 whole",
        ),
        ("edge_labels", "0\n0\n0\nx\n0\n", "gbg", "line 4: must be 1 whole numbers"),
        ("graph_labels", "1\nx\n3\n", "gbg", "graph_labels.txt, line 2: must be 1 whole numbers"),
        ("graph_labels", "1\n99999999999999999999\n3\n", "gbg", "graph_labels.txt, line 2"),
        ("node_labels", "0\n", "b", "must have one line per node (5), got 1"),
        ("edge_labels", "0\n", "b", "must have one line per edge (5), got 1"),
        ("edge_labels", "0\n" * 6, "b", "must have one line per edge (5), got 6"),
        ("graph_indicator", "1\n1\n2\nx\n3\n", "b", "graph_indicator.txt, line 4: must be 1 whole"),
    ],
)
@pytest.mark.parametrize("at_once", [1, 2**16])
def test_faults_in_tu_datasets(tmp_path, monkeypatch, file, text, wanted, reason, at_once):
    monkeypatch.setattr(tu_files, "PART", at_once)
    monkeypatch.setattr(tu_files, "RUN", at_once)
    found = read_both(zipped(tmp_path / "a.zip", {**TU_SET, file: text}))
    assert kinds(found) == wanted
    (bad,) = [graph for graph in found if isinstance(graph, BadGraph)]
    assert reason in bad.reason
    if wanted == "gbg":
        assert (bad.graph_id, bad.index) == ("2", 1)
        assert not any(graph.directed for graph in (found[0], found[2]))
        assert [found[0].y, found[2].y] == [1, 3]


@pytest.mark.parametrize("name", ["a.csv.gz", "a.smi.gz", "a.jsonl.gz"])
def test_all_rows_before_a_cut_are_read(tmp_path, name):
    require("rdkit")
    path = tmp_path / name
    numbers = np.random.default_rng(0).integers(10**9, size=3000).tolist()
    text = "".join(f"CCO,{each}\n" for each in numbers)
    text = f"smiles,n\n{text}" if name == "a.csv.gz" else text.replace(",", " ")
    if name == "a.jsonl.gz":
        text = "".join(GOOD.replace("[", f'[{{"id": {each}}}, ', 1) + "\n" for each in numbers)
    path.write_bytes(gzip.compress(text.encode())[:-5000])
    number = 0
    with contextlib.suppress(GraphError):
        for number, _ in File(path).lines(1000):  # noqa: B007
            pass
    assert 128 < number < 3000
    found = list(read_graphs(path, on_error="yield"))
    assert kinds(found) == "g" * (number - (name == "a.csv.gz")) + "b"
    assert kinds([graph for block in read_blocks(path, on_error="yield") for graph in block]) == kinds(found)
