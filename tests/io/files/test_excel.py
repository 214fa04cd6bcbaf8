"""Excel workbooks: tables of SMILES, of edges, matrices; what cells hold; what is no workbook."""

import os
import threading
import zipfile
from html import escape

import numpy as np
import pytest

from grnf import GraphError
from grnf.io import BadGraph, read_blocks, read_graphs
from grnf.io.files.file import File
from grnf.io.files.ranges import ranges_of, read_range
from grnf.io.files.reading import guess_format
from grnf.io.files.tables import table_of
from optional import require
from workbooks import packed, workbook

require("python_calamine")

ABSENT = None


def cell(value, place, texts):
    if value is ABSENT:
        return ""
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, str) and value.startswith("#"):
        return f'<c r="{place}" t="e"><v>{value}</v></c>'
    if isinstance(value, str) and value.startswith("="):
        return f'<c r="{place}" t="str"><f>A1</f><v>{escape(value[1:])}</v></c>'
    if isinstance(value, str) and len(value) % 2:
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    if isinstance(value, str):
        texts.append(value)
        return f'<c r="{place}" t="s"><v>{len(texts) - 1}</v></c>'
    return f'<c r="{place}" s="4"><v>{value!r}</v></c>'


def written(path, rows, first=1):
    texts, lines = [], []
    for number, row in enumerate(rows, first):
        names = [f"{chr(65 + column)}{number}" for column in range(len(row))]
        cells = "".join(cell(value, name, texts) for value, name in zip(row, names, strict=True))
        lines.append(f'<row r="{number}">{cells}</row>')
    path.write_bytes(workbook("".join(lines), "".join(f"<si><t>{escape(text)}</t></si>" for text in texts)))
    return path


ROWS = [
    ["SMILES", "name", "y", "active", "note"],
    ["CCO", "ethanol", 1.5, True, 'a "b", c\nd'],
    ["C", "methane", ABSENT, False, "#N/A"],
    [],
    ["wrong", "x&y<z>", 3, ABSENT, "=ümlaut"],
]
TEXT = """SMILES,name,y,active,note
CCO,ethanol,1.5,True,"a ""b"", c
d"
C,methane,,False,

wrong,x&y<z>,3,,ümlaut
"""


@pytest.mark.parametrize("first", [1, 4])
@pytest.mark.parametrize("suffix", [".xlsx", ".xlsm"])
def test_the_first_sheet_is_text(tmp_path, first, suffix):
    with File(written(tmp_path / f"a{suffix}", ROWS, first)).open() as file:
        assert file.read().decode() == TEXT


def test_molecules(tmp_path):
    require("rdkit")
    path = written(tmp_path / "a.xlsx", ROWS)
    assert guess_format(path) == "smiles"
    found = list(read_graphs(path, y="y", graph_id="name", on_error="yield"))
    assert [graph.graph_id for graph in found] == ["ethanol", "methane", "x&y<z>"]
    assert [isinstance(graph, BadGraph) for graph in found] == [False, False, True]
    assert "a.xlsx, line " in found[2].reason
    assert found[0].y == 1.5
    blocks = [graph for block in read_blocks(path, on_error="yield") for graph in block]
    assert len(blocks) == 3


def test_rows_longer_than_the_header(tmp_path):
    path = written(tmp_path / "a.xlsx", [["source;", "target"], ["a", "b", "a remark"], ["b", "c"]])
    with File(path).open() as file:
        assert file.read().decode() == "source;,target,\na,b,a remark\nb,c,\n"
    assert table_of(File(path)).columns == ["source;", "target", "column 3"]


def test_edges_nodes_and_matrices(tmp_path):
    rows = [["graph_id", "source", "target", "w"], ["a", 1, 2, 0.5], ["a", 2, 3, 1.5], ["b", 1, 1, 2]]
    path = written(tmp_path / "e.xlsx", rows)
    assert guess_format(path) == "edge-table"
    written(tmp_path / "e.nodes.xlsx", [["graph_id", "node"], *(["a", n] for n in (1, 2, 3, 4)), ["b", 1]])
    first, second = read_graphs(path)
    assert (first.n_nodes, first.edge_columns["w"].tolist(), second.n_nodes) == (4, [0.5, 1.5], 1)
    A = [["", "V1", "V2", "V3"], ["V1", 0, 0.5, 0], ["V2", 0.5, 0, 2], ["V3", 0, 2, 0]]
    path = written(tmp_path / "m.xlsx", A)
    assert guess_format(path) == "matrices"
    (graph,) = read_graphs(path)
    assert graph.node_columns["name"].tolist() == ["V1", "V2", "V3"]
    assert graph.edge_columns["weight"].tolist() == [0.5, 2]


def test_a_pipe(tmp_path):
    path = written(tmp_path / "e.xlsx", [["graph_id", "source", "target"], ["a", 1, 2], ["b", 1, 2]])
    os.mkfifo(tmp_path / "pipe.xlsx")
    writer = threading.Thread(target=(tmp_path / "pipe.xlsx").write_bytes, args=(path.read_bytes(),))
    writer.start()
    assert [graph.graph_id for graph in read_graphs(tmp_path / "pipe.xlsx")] == ["a", "b"]
    writer.join()


def test_ranges_of_a_written(tmp_path):
    require("rdkit")
    rows = [["smiles", "y"], *([f"C{'C' * (i % 7)}O", i] for i in range(200))]
    path = written(tmp_path / "a.xlsx", rows)
    ranges = ranges_of(path, 60)
    assert [each.count for each in ranges] == [60, 60, 60, 20]
    found = [graph.y for each in ranges for block in read_range(each, y="y") for graph in block]
    assert found == list(range(200))


def rewritten(path, member, change):
    """Change one file of an archive."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    changed = change(files.pop(member))
    path.write_bytes(packed(files if changed is None else {**files, member: changed}))


SHEET = "xl/worksheets/sheet1.xml"
FAR = b'<c r="XFD2"><v>1</v></c></row><row r="1048576"><c r="A1048576"><v>1</v></c></row></sheetData>'
BAD = {
    "no sheet": (SHEET, lambda _: None, "damaged workbook"),
    "no book": ("xl/workbook.xml", lambda _: None, "damaged workbook"),
    "no sheets": ("xl/workbook.xml", lambda _: b"<workbook/>", "damaged workbook"),
    "no such text": (SHEET, lambda data: data.replace(b"<v>0</v>", b"<v>99</v>"), "damaged workbook"),
    "many rows": (SHEET, lambda data: data.replace(b'<row r="2"', b'<row r="9999999"'), "9999999 rows"),
    "far cells": (SHEET, lambda data: data.replace(b"</row></sheetData>", FAR), "16384 columns"),
    "a bomb": (SHEET, lambda data: data + b" " * 2**25, "bomb"),
}


@pytest.mark.parametrize("kind", BAD)
def test_damaged_workbooks(tmp_path, kind):
    member, change, message = BAD[kind]
    path = written(tmp_path / "a.xlsx", ROWS)
    rewritten(path, member, change)
    with pytest.raises(GraphError, match=message) as error, File(path).open() as file:
        file.read()
    assert "a.xlsx" in str(error.value)


def test_what_is_no_written(tmp_path):
    path = tmp_path / "a.xlsx"
    old = b"\xd0\xcf\x11\xe0" * 9
    for data, message in ((b"smiles\nC\n", "not an Excel"), (old, "old workbook"), (b"", "empty")):
        path.write_bytes(data)
        with pytest.raises(GraphError, match=message):
            list(read_graphs(path))
    renamed = written(tmp_path / "b.xlsx", ROWS).rename(tmp_path / "b.csv")
    with pytest.raises(GraphError, match=r"not a text file\. The name of an Excel workbook ends in \.xlsx"):
        list(read_graphs(renamed))


def test_damage_of_any_kind_is_an_error_of_ours(tmp_path):
    random, seen = np.random.default_rng(0), {True: 0, False: 0}
    path = tmp_path / "a.xlsx"
    members = ("xl/workbook.xml", "xl/_rels/workbook.xml.rels", "xl/sharedStrings.xml", SHEET)

    def damaged(data):
        wrong = bytearray(data)
        for place in random.integers(len(wrong), size=random.integers(1, 4)):
            wrong[place] = random.choice(np.frombuffer(b'<>/"=0129AZrcvts \xff', np.uint8))
        return bytes(wrong[: len(wrong) if random.random() < 0.9 else random.integers(len(wrong))])

    for _ in range(150):
        written(path, [["graph_id", "source", "target"], [0, 1, 2], ["a", "even", "odd"]])
        if random.random() < 0.3:
            path.write_bytes(damaged(path.read_bytes()))
        else:
            rewritten(path, random.choice(members), damaged)
        try:
            seen[all(graph.n_nodes < 9 for graph in read_graphs(path, format="edge-table"))] += 1
        except GraphError:
            seen[False] += 1
    assert min(seen.values()) > 15
