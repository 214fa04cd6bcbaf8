"""Files as chemists, biologists and network people have them: each works, or is one error with its cure."""

import gzip
import io
import json

import numpy as np
import pytest
import scipy.io

from grnf import GraphError
from grnf.io import read_graphs
from grnf.io.files.ranges import ranges_of, read_range
from optional import require, require_format

HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
KEY = '<key id="d" for="node" yfiles.type="nodegraphics"/>'
NODES = '<node id="a"><data key="d">1</data></node><node id="b"/><edge source="a" target="b"/>'
ROWS = {"nodes": [{"id": "a"}, {"id": "b"}], "links": [{"source": "a", "target": "b", "value": 3}]}
MATRIX = "%%MatrixMarket matrix coordinate {} {}\n% comment\n3 3 2\n2 1{}\n3 2{}\n"
BLOCK = (
    "{}\n\n\n  2  1  0  0  0  0  0  0  0  0999 V2000\n    0.0000    0.0000    0.0000 C   0  0\n"
    "    1.0000    0.0000    0.0000 O   0  0\n  1  2  1  0\nM  END\n> <Name of it>\nfoo\nbar\n\n$$$$\n"
)


def graph(nodes, edges):
    return {"nodes": nodes, "edges": edges}


def array_file(write, *arguments, **arrays):
    file = io.BytesIO()
    write(file, *arguments, **arrays)
    return file.getvalue()


WORKS = {  # name: content, options, nodes and edges of each graph
    "bom.csv": (
        '\ufeffSMILES;Name;y\r\nCCO;Ethanol;5,3\r\nC;"a, b";6\r\n',
        {"decimal": ","},
        [(3, 2), (1, 0)],
    ),
    "sep.csv": ("\ufeffsep=;\r\nsmiles;y\r\nCCO;1\r\nCC;2\r\n", {}, [(3, 2), (2, 1)]),
    "quoted.csv": ('smiles,note\nCCO,"one\ntwo"\nCC,"x ""y"""\n', {"keep": ["note"]}, [(3, 2), (2, 1)]),
    "trailing.csv": ("smiles,y,,\nCCO,1,,\nCC,2,,\n", {}, [(3, 2), (2, 1)]),
    "blank.csv": ("\n\nsmiles,y\n\nCCO,1\n\nCC,2\n\n", {}, [(3, 2), (2, 1)]),
    "comment.csv": ("# exported 2023, from LIMS\nsmiles,y\nCCO,1\nCC,2\n", {}, [(3, 2), (2, 1)]),
    "ids.csv": ("#1,CCO\n#2,CC(=O)O\n", {}, [(3, 2), (4, 3)]),
    "mac.csv": ("smiles,y\rCCO,1\rCC,2\r", {}, [(3, 2), (2, 1)]),
    "mac.edges": ("a b\rb c\r", {}, [(3, 2)]),
    "twice.csv": ("smiles,note,note\nCCO,a,b\n", {"keep": ["note.1"]}, [(3, 2)]),
    "pipe.csv": ("smiles|y\nCCO|1\nCC|2\n", {}, [(3, 2), (2, 1)]),
    "tabs.txt": ("Compound\tSMILES\nE1\tCCO\nE2\tCC\n", {}, [(3, 2), (2, 1)]),
    "lines.txt": ("CCO ethanol\nCC(=O)O acid\nc1ccccc1 benzene\n", {}, [(3, 2), (4, 3), (6, 6)]),
    "only.txt": ("CCO\nCC(=O)O\nc1ccccc1\n", {}, [(3, 2), (4, 3), (6, 6)]),
    "reactions.txt": ("CCO CC=O\nCC=O CC(=O)O\n", {}, [(3, 2)]),
    "comment.smi": ("# mine\nsmiles name\nCCO m1\nCC m2\n", {}, [(3, 2), (2, 1)]),
    "tabs.smi": ("smiles\tid\nCCO\tm1\nCC\tm2\n", {}, [(3, 2), (2, 1)]),
    "table.smi": ("smiles,name\nCCO,m1\nCC,m2\n", {}, [(3, 2), (2, 1)]),
    "old.sdf": ((BLOCK * 2).format("m1", "m2").replace("\n", "\r\n"), {}, [(2, 1), (2, 1)]),
    "last.sdf": ((BLOCK * 2).format("m1", "m2")[:-5], {}, [(2, 1), (2, 1)]),
    "snap.txt": ("# Directed graph\n# FromNodeId\tToNodeId\n0\t1\n0\t2\n2\t1\n", {}, [(3, 3)]),
    "table.txt": ("source\ttarget\n1\t2\n", {}, [(2, 1)]),
    "numbers.txt": ("1\t2\n2\t3\n", {}, [(3, 2)]),
    "letters.txt": ("C\tO\nO\tC\n", {}, [(2, 2)]),
    "slashes.edges": ("// comment\n1 2\r\n2 3 \r\n", {}, [(3, 2)]),
    "inline.edges": ("1 2 # first\n2 3\n", {}, [(3, 2)]),
    "semicolons.edges": ("1;2;0,5\n2;3;0,7\n", {"decimal": ","}, [(3, 2)]),
    "header.edges": ("source target weight\na b 0.5\nb c 1\n", {}, [(3, 2)]),
    "string.txt": ("protein1 protein2 combined_score\nX.1 X.2 900\nX.2 X.3 700\n", {}, [(3, 2)]),
    "networkx.edgelist": ("a b {'weight': 3}\nb c {'weight': 2}\n", {}, [(3, 2)]),
    "empty.edgelist": ("a b {}\nb c {}\n", {}, [(3, 2)]),
    "string.tsv": ("protein1\tprotein2\tscore\nX.1\tX.2\t900\nX.2\tX.3\t700\n", {}, [(3, 2)]),
    "musae.csv": ("id_1,id_2\n0,1\n1,2\n", {}, [(3, 2)]),
    "index.csv": (",source,target\n0,a,b\n1,b,c\n", {}, [(3, 2)]),
    "decimal.csv": (";a;b\na;1;0,5\nb;0,5;1\n", {"decimal": ","}, [(2, 3)]),
    "bare.graphml": (f'<graphml>{KEY}<graph edgedefault="directed">{NODES}</graph></graphml>', {}, [(2, 1)]),
    "d3.json": (graph([{"name": "x"}, {"name": "y"}], [{"source": 1, "target": 0}]), {}, [(2, 1)]),
    "d3_run.json": (graph(ROWS["nodes"], [{"source": {"id": "a"}, "target": {"id": "b"}}]), {}, [(2, 1)]),
    "visjs.json": (graph([{"id": 1}, {"id": 2}], [{"from": 1, "to": 2}]), {}, [(2, 1)]),
    "links.json": ("\ufeff" + json.dumps(ROWS), {}, [(2, 1)]),
    "net.cyjs": (
        {
            "data": {"name": "net"},
            "elements": {
                "nodes": [{"data": {"id": "a", "w": 1}}, {"data": {"id": "b", "w": 2}}],
                "edges": [{"data": {"id": "e", "source": "a", "target": "b"}}],
            },
        },
        {},
        [(2, 1)],
    ),
    "flat.json": (
        [
            {"data": {"id": "a"}},
            {"group": "nodes", "data": {"id": "b"}},
            {"data": {"source": "a", "target": "b"}},
        ],
        {},
        [(2, 1)],
    ),
    "elements.json": (
        {"elements": [{"data": {"id": "a"}}, {"data": {"source": "a", "target": "a"}}]},
        {},
        [(1, 1)],
    ),
    "data.json": (graph([{"data": {"id": "a"}}], [{"data": {"source": "a", "target": "a"}}]), {}, [(1, 1)]),
    "several.json": ([{"data": {"name": "x"}, **ROWS}, ROWS], {}, [(2, 1), (2, 1)]),
    "pyg.npz": (
        array_file(np.savez, edge_index=np.array([[0, 1, 1], [1, 0, 2]]), x=np.ones((4, 2)), num_nodes=4),
        {},
        [(4, 3)],
    ),
    "symmetric.mtx": (MATRIX.format("real", "symmetric", " 1", " 2"), {}, [(3, 2)]),
    "pattern.mtx": (MATRIX.format("pattern", "symmetric", "", "").replace("\n", "\r\n"), {}, [(3, 2)]),
    "skew.mtx": (MATRIX.format("real", "skew-symmetric", " 1", " 2"), {}, [(3, 4)]),
    "packed.mtx.gz": (
        gzip.compress(MATRIX.format("integer", "symmetric", " 1", " 2").encode()),
        {},
        [(3, 2)],
    ),
    "packed.mat.gz": (gzip.compress(array_file(scipy.io.savemat, {"A": np.eye(3)[::-1]})), {}, [(3, 2)]),
}
REFUSED = {  # name: content, what the error tells
    "latin.csv": ("SMILES;Name\r\nCCO;\u00c4tha\r\n".encode("cp1252"), r"line 2: .*--encoding latin-1"),
    "nul.csv": (b"smiles,y\nC\0C,2\n", r"line 2: 'C\\x00C' is not a valid SMILES"),
    "two.tsv": ("0\t1\n1\t2\n2\t0\n", "neither SMILES nor source and target.*edge-list for lines"),
    "commas.csv": ("Source;Target;Weight\n1;2;0,5\n", r"line 2.*weight '0,5' is not a number.*--decimal ,"),
    "names.csv": ("a,b\nb,c\n", r"--no-header if .* edge-list for lines 'source,target'"),
    "commas.edges": ("1;2;0,5\n2;3;0,7\n", r"line 1: the weight '0,5' is not a number. .*--decimal ,"),
    "many.txt": ("% asym\n1 2 1 1082040961\n", r"line 2: .* got 4 fields. .*format='edge-table'"),
    "only.edges": ("source target weight\n", "no edge follows the header 'source target weight'"),
    "colors.edgelist": ("a b {'color': 'red'}\n", r"line 1: .* got \{'color': 'red'\}. Write other"),
    "missing.csv": (
        "source,target\na,b\n,c\n",
        r"missing\.csv, line 3: no node in column 'source'",
    ),
    "lines.json": (json.dumps(ROWS) + "\n" + json.dumps(ROWS), r"Use format='jsonl'"),
    "nan.json": ('[{"nodes": [{"id": 0, "x": NaN}], "edges": []}]', r"graph 0: .*Write null instead of NaN"),
    "new.mat": (b"MATLAB 7.3 MAT-file".ljust(512), r"version 7\.3.* Save it with -v7"),
    "old.mat": (array_file(scipy.io.savemat, {"A": np.eye(3)}, format="4"), r"version 5 to 7.* Save it"),
    "bare.mtx": ("3 3 2\n2 1 1\n3 2 1\n", "must begin with %%MatrixMarket"),
    "wide.mtx": ("%%MatrixMarket matrix coordinate real general\n3 4 1\n2 1 1\n", "must be square"),
    "undeclared.graphml": (
        f"{HEAD}<graph>{NODES}</graph></graphml>",
        "no <key> declares the key 'd'. Add <key",
    ),
    "dynamic.gexf": (
        '<gexf xmlns="http://www.gexf.net/1.2draft"><graph mode="dynamic"><nodes/><edges/></graph></gexf>',
        "a dynamic graph.* Export one moment",
    ),
    "page.graphml": ("<!DOCTYPE html><html>404 Not Found</html>", "no <graph> in this file"),
    "any.bz2": (b"BZh91AY&SY", "suffix '.bz2'. Unpack it first"),
    "any.csv": (b"BZh91AY&SY1234", "packed by bzip2. Unpack it first"),
    "any.g6": (b"\xfd7zXZ\0\0\0", "packed by xz. Unpack it first"),
    "any.zip": (
        array_file(lambda file: file.write(b"PK\5\6" + bytes(18))),
        "not a TU dataset.* Unpack other",
    ),
    "any.xls": (b"", "Save it as .xlsx or CSV"),
    "any.pkl": (b"", "Pickles are not read"),
    "zero.csv": (b"", r"the file is empty \(0 bytes\)"),
}


def placed(folder, name, content):
    require_format(name[name.index(".") :].removesuffix(".gz"))
    if "smi" in str(content)[:60].lower() or name.endswith((".sdf", ".smi", "csv", "txt")):
        require("rdkit")
    path = folder / name
    text = json.dumps(content) if isinstance(content, (dict, list)) else content
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("name", WORKS)
def test_files_that_work(tmp_path, name):
    content, options, expected = WORKS[name]
    path = placed(tmp_path, name, content)
    found = list(read_graphs(path, **options))
    assert [(graph.n_nodes, len(graph.edges)) for graph in found] == expected
    if not options and name != "ids.csv":  # each part of a table without a header is a table
        parts = [block for part in ranges_of(path, 1) for block in read_range(part)]
        assert [graph.n_nodes for block in parts for graph in block] == [graph.n_nodes for graph in found]


@pytest.mark.parametrize("name", REFUSED)
def test_files_that_are_refused_with_the_cure(tmp_path, name):
    content, message = REFUSED[name]
    path = placed(tmp_path, name, content)
    with pytest.raises(GraphError, match=message) as caught:
        list(read_graphs(path))
    assert str(caught.value).count(name) == 1
    assert "\n" not in str(caught.value)


def test_values_of_messy_files(tmp_path):
    """Names are not attributes, numbers are numbers, and directions count."""

    def read(name):
        return list(read_graphs(placed(tmp_path, name, WORKS[name][0]), **WORKS[name][1]))

    for name in ("comment.smi", "tabs.smi"):
        assert [graph.graph_id for graph in read(name)] == ["m1", "m2"]
    assert [graph.y for graph in read("bom.csv")] == [5.3, 6]
    assert [graph.graph_columns["note"] for graph in read("quoted.csv")] == ["one\ntwo", 'x "y"']
    assert read("index.csv")[0].edge_columns == {}
    assert list(read("net.cyjs")[0].node_columns) == ["w"]
    assert read("net.cyjs")[0].edge_columns == {}
    assert read("net.cyjs")[0].graph_id == "net"
    assert read("pyg.npz")[0].node_columns["x"].shape == (4, 2)
    for name, weights in (("semicolons", [0.5, 0.7]), ("header", [0.5, 1.0]), ("networkx", [3.0, 2.0])):
        found = read(f"{name}.{'edgelist' if name == 'networkx' else 'edges'}")
        assert found[0].edge_columns["weight"].tolist() == weights


@pytest.mark.parametrize("kind", ["Directed", "Undirected", "undirected", "single"])
def test_directions_of_gephi(tmp_path, kind):
    path = tmp_path / "a.csv"
    path.write_text(f"Source,Target,Type,Id,Weight\n1,2,{kind},0,1.5\n2,3,{kind},1,2\n")
    (found,) = read_graphs(path)
    assert found.directed == (kind == "Directed")
    assert list(found.edge_columns) == (["Type", "Id", "Weight"] if kind == "single" else ["Weight"])
