"""`grnf index`, `search`, `dedup` and `compare`, as a user runs them."""

import io
import json

import numpy as np
import pytest

from cli.small_sets import rows
from grnf.io import read_graphs
from optional import require


@pytest.fixture
def made(call, tu, tmp_path):
    done = call(
        "index", tu, "-o", tmp_path / "tu.index", "--keep-graphs", "--space", "d_P", "-m", 64, "--json"
    )
    assert json.loads(done.stdout)["graphs"] == 25
    return tmp_path / "tu.index"


def test_index_and_search(call, made, tu, tmp_path):
    done = call("search", made, tu, "-k", 3, "--confidence", 0.9, "-o", tmp_path / "hits.csv")
    assert "25 queries, 75 hits" in done.stdout
    found = rows(tmp_path / "hits.csv")
    assert list(found[0]) == ["query", "rank", "id", "distance", "standard_error", "low", "high"]
    assert [float(row["distance"]) < 1e-6 for row in found if row["rank"] == "1"] == [True] * 25
    assert all(float(row["low"]) <= float(row["distance"]) <= float(row["high"]) for row in found)
    done = call("search", made, tu, "-k", 2, "--others", "--json")
    assert all(row["id"] != row["query"] for row in json.loads(done.stdout))
    done = call("search", made, tu, "--radius", 0, "-o", tmp_path / "hits.json", "--json")
    assert json.loads(done.stdout)["queries"] == 25
    assert len(json.loads((tmp_path / "hits.json").read_text())) >= 25
    pq = require("pyarrow.parquet")
    call("search", made, tu, "-o", tmp_path / "hits.parquet", "-k", 2)
    table = pq.read_table(tmp_path / "hits.parquet")
    assert (table.num_rows, table.column_names) == (50, ["query", "rank", "id", "distance", "standard_error"])


def test_certified(call, made, tu):
    done = call("search", made, tu, "-k", 30, "--certified", 0.9)
    lines = rows(done)
    assert len(lines) == 25 * 25
    assert {line["status"] for line in lines} == {"certain"}


def test_append_and_delete(call, made, tu, tmp_path):
    names = [graph.graph_id or str(row) for row, graph in enumerate(read_graphs(tu))]
    (tmp_path / "gone.txt").write_text("\n".join(names[:5]) + "\n")
    done = call("index", "-o", made, "--delete", tmp_path / "gone.txt")
    assert "20 graphs" in done.stdout
    assert "5 removed" in done.stdout
    call("index", tu, "-o", made, "--append", code=1, says="is in the index already")
    call("index", tu, "-o", made, code=1, says="--append")
    call("index", "-o", made, "--delete", tmp_path / "gone.txt", says="5 ids are not in the index")


def test_vectors(call, tmp_path):
    generator = np.random.default_rng(0)
    np.save(tmp_path / "z.npy", generator.normal(size=(50, 8)))
    call("index", tmp_path / "z.npy", "-o", tmp_path / "z.index", "--space", "whitened")
    done = call("search", tmp_path / "z.index", tmp_path / "z.npy", "-k", 1)
    lines = rows(done)
    assert [line["id"] for line in lines] == [str(row) for row in range(50)]
    done = call("search", tmp_path / "z.index", tmp_path / "z.npy", "--confidence", 0.9, code=1)
    assert "intervals are about d_P" in done.stderr


TRIANGLE, PATH, TURNED = "Bw", "Bg", "BW"
"""graph6: a triangle, a path of three nodes and the same path with another node in the middle."""


def test_dedup(call, tmp_path):
    (tmp_path / "a.g6").write_text(f"{TRIANGLE}\n{PATH}\n{TURNED}\n")
    done = call("dedup", tmp_path / "a.g6", "-o", tmp_path / "groups.csv", "-m", 32, "--json")
    assert json.loads(done.stdout)["groups of duplicates"] == 1
    assert [(row["group"], row["id"]) for row in rows(tmp_path / "groups.csv")] == [("1", "1"), ("1", "2")]
    done = call("dedup", tmp_path / "a.g6", "--near", 10, "-m", 32)
    found = rows(done)
    assert [row["verdict"] for row in found] == ["isomorphic", "different", "different"]
    (tmp_path / "b.g6").write_text(f"{TURNED}\n")
    done = call("dedup", tmp_path / "a.g6", tmp_path / "b.g6", "-m", 32)
    assert [row["id"] for row in rows(done)] == ["1", "2"]
    assert "2 pairs of duplicates" in done.stderr


def test_compare(call, tmp_path):
    require("matplotlib")
    (tmp_path / "a.g6").write_text(f"{TRIANGLE}\n{PATH}\n")
    (tmp_path / "b.g6").write_text(f"{TURNED}\n")
    files = tmp_path / "a.g6", tmp_path / "b.g6"
    call("compare", *files, code=1, says="found 2. Select one with --first-id ID (first ids: 0, 1)")
    done = call("compare", *files, "--first-id", 1, "--json", "--picture", tmp_path / "d.png")
    answer = json.loads(done.stdout)
    assert (answer["lower_bound"], answer["upper_bound"], answer["exact"]) == (0, 0, True)
    assert (tmp_path / "d.png").read_bytes()[:4] == b"\x89PNG"
    costs = tmp_path / "costs.json"
    costs.write_text('{"edge_deletion": 2.5}')
    done = call("compare", *files, "--first-id", 0, "-o", tmp_path / "d.csv", "--costs", costs)
    assert done.stdout.startswith("edit distance 2.5 (exact): 1 edge removed. d = "), done.stderr
    assert [row["text"] for row in rows(tmp_path / "d.csv")] == ["edge 1-2 removed"]
    done = call("compare", tmp_path / "a.g6", 0, 1)
    same = call("compare", *[tmp_path / "a.g6"] * 2, "--first-id", 0, "--second-id", 1)
    assert (done.returncode, done.stdout) == (0, same.stdout), done.stderr
    require("rdkit")
    done = call("compare", "CC(=O)C", "CC(=N)C", "--picture", tmp_path / "m.svg")
    assert done.stdout.splitlines()[1:] == ["node 2: symbol O -> N"]
    assert b"<svg" in (tmp_path / "m.svg").read_bytes()
    done = call("compare", "CC(=O)C", "absent.gml", code=1)
    assert "absent.gml: there is no such file, and it is not a valid SMILES" in done.stderr
    costs.write_text("{")
    call("compare", "CC", "CO", "--costs", costs, code=1, says=f"{costs}: invalid JSON")
    call("compare", *files, "1", "--first-id", 0, code=2)
    call("compare", *files, "--first-id", 7, code=1, says="no graph with the id '7'")


def test_what_is_no_index_is_said(call, tu):
    call("search", tu, tu, code=1, says="not an index")


def test_joint_space(call, tmp_path):
    require("rdkit")
    path = tmp_path / "m.smi"
    path.write_text("".join(f"{'C' * n}O m{n}\n" for n in range(1, 12)))
    done = call("index", path, "-m", 16, "-o", tmp_path / "i")
    assert "JointFeatures" in done.stdout
    done = call("search", tmp_path / "i", path, "-k", 1, "--json")
    assert [row["id"] for row in json.loads(done.stdout)] == [f"m{n}" for n in range(1, 12)]
    done = call("index", path, "--orders", "1,2", "-o", tmp_path / "j", code=2)
    assert "--orders and --like need --space d_P" in done.stderr
    call("search", tmp_path / "i", path, "--certified", 0.9, code=1, says="--space d_P")


MOLECULES = """smiles,id,phase
C[C@H](N)O,a,1
C[C@@H](N)O,b,2
[Na+].CC(=O)[O-],c,3
CC(=O)O,d,4
N[C@@H](O)C,e,5
[2H]CC(=O)O,f,6
"""
SAME, MIRRORED, DEUTERATED = ("identical", "be"), ("stereoisomer", "ab"), ("isotopologue", "df")


@pytest.mark.parametrize(
    ("options", "groups", "redundant"),
    [
        ([], [SAME, MIRRORED, DEUTERATED], 1),
        (["--stereo"], [SAME], 1),
        (["--standardize"], [SAME, MIRRORED, ("standardized", "cd"), ("isotopologue", "cf")], 2),
        (["--standardize", "--stereo"], [SAME, ("standardized", "cd")], 2),
    ],
)
def test_kinds_of_duplicate_molecules(call, tmp_path, options, groups, redundant):
    require("rdkit")
    (tmp_path / "m.csv").write_text(MOLECULES)
    molecules = {row["id"]: row for row in rows(MOLECULES)}
    done = call("dedup", tmp_path / "m.csv", "--keep", "phase", *options, "-o", tmp_path / "d.csv", "--json")
    assert json.loads(done.stdout)["redundant graphs"] == redundant, done.stderr
    assert sorted(rows(tmp_path / "d.csv"), key=lambda row: (row["kind"], row["id"])) == sorted(
        (
            {"group": str(number), "kind": kind, **molecules[name]}
            for number, (kind, names) in enumerate(groups, start=1)
            for name in names
        ),
        key=lambda row: (row["kind"], row["id"]),
    )
    done = call("dedup", *[tmp_path / "m.csv"] * 2, *options, "--json")
    kinds = {frozenset((row["id"], row["other"])): row["kind"] for row in json.loads(done.stdout)}
    assert all(kinds[frozenset(names)] == kind for kind, names in groups)


def test_write_without_duplicates(call, tmp_path):
    require("rdkit")
    lines = MOLECULES.replace("e,5", '"e\nE",5').splitlines(keepends=True)
    (tmp_path / "m.csv").write_text("".join([*lines, "C(,bad,7\n", "CC(O)=O,g,8\n"]))
    wanted = "".join(lines[:5] + lines[7:])  # without "e\nE", "bad" and "g"
    done = call("dedup", tmp_path / "m.csv", "--write", tmp_path / "c.csv", "--on-error", "skip")
    assert (tmp_path / "c.csv").read_text() == wanted
    (tmp_path / "m.smi").write_text("SMILES name\nCCO a\n\nOCC b\nC c\n")
    call("dedup", tmp_path / "m.smi", "--write", tmp_path / "c.smi")
    assert (tmp_path / "c.smi").read_text().split() == ["SMILES", "name", "CCO", "a", "C", "c"]
    (tmp_path / "a.g6").write_text(f"{TRIANGLE}\n{PATH}\n{TURNED}\n")
    call("dedup", tmp_path / "a.g6", "--write", tmp_path / "c.g6")
    assert (tmp_path / "c.g6").read_text() == f"{TRIANGLE}\n{PATH}\n"
    from rdkit import Chem

    with Chem.SDWriter(str(tmp_path / "m.sdf")) as writer:
        for smiles in ("CCO", "OCC", "C"):
            writer.write(Chem.MolFromSmiles(smiles))
    call("dedup", tmp_path / "m.sdf", "--write", tmp_path / "c.sdf")
    assert [Chem.MolToSmiles(mol) for mol in Chem.SDMolSupplier(str(tmp_path / "c.sdf"))] == ["CCO", "C"]
    pa, pq = require("pyarrow"), require("pyarrow.parquet")
    pq.write_table(pa.table({"smiles": ["CCO", "OCC", "C"], "n": [1, 2, 3]}), tmp_path / "m.parquet")
    call("dedup", tmp_path / "m.parquet", "--write", tmp_path / "c.parquet")
    assert pq.read_table(tmp_path / "c.parquet").to_pydict() == {"smiles": ["CCO", "C"], "n": [1, 3]}
    done = call("dedup", tmp_path / "m.smi", "--write", tmp_path / "c.csv", "--force", code=1)
    assert "must end in .smi" in done.stderr


def test_standard_input_keeps_columns(call, monkeypatch):
    require("rdkit")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(MOLECULES.encode())))
    done = call("dedup", "-", "--format", "smiles", "--keep", "phase")
    assert [row["phase"] for row in rows(done)] == list("251246")


def test_hits_have_smiles_columns_and_drawings(call, tmp_path, tu, made):
    require("rdkit")
    (tmp_path / "m.csv").write_text(MOLECULES.replace("a,1", '"<script>a",<i>1'))
    (tmp_path / "q.smi").write_text("C[C@H](N)O <b>q\nCCO r\n")
    call("index", tmp_path / "m.csv", "--keep", "phase", "-o", tmp_path / "i")
    (tmp_path / "more.smi").write_text("CCCCO more\n")
    call("index", tmp_path / "more.smi", "--append", "-o", tmp_path / "i")
    done = call("search", tmp_path / "i", tmp_path / "q.smi", "-k", 7, "--json")
    known = {row["id"]: row for row in rows(tmp_path / "m.csv")}
    known["more"] = {"smiles": "CCCCO", "phase": None}
    for row in json.loads(done.stdout):
        assert (row["id_smiles"], row["id_phase"]) == (known[row["id"]]["smiles"], known[row["id"]]["phase"])
        assert row["smiles"] == {"<b>q": "C[C@H](N)O", "r": "CCO"}[row["query"]]
    done = call("search", tmp_path / "i", tmp_path / "q.smi", "-k", 7, "-o", tmp_path / "hits.html")
    page = (tmp_path / "hits.html").read_text()
    assert page.count("<img ") == 2 + 14
    assert "<h2>&lt;b&gt;q</h2>" in page
    assert "<td>&lt;script&gt;a</td>" in page
    assert not any(word in page for word in ("<script", "<b>", "<i>", "http:", "https:"))
    call("search", made, tu, "-k", 2, "-o", tmp_path / "tu.html")
    assert (tmp_path / "tu.html").read_text().count("<img ") == 25 * 3


def test_standardize_needs_molecules(call, tu):
    call("dedup", tu, "--standardize", code=2, says="--standardize, or a model or index with it, needs")


def test_an_index_remembers_how_molecules_were_read(call, tmp_path):
    require("rdkit")
    (tmp_path / "m.smi").write_text("".join(f"[Na+].{'C' * n}C(=O)[O-] m{n}\n" for n in range(1, 9)))
    call("index", tmp_path / "m.smi", "--standardize", "-o", tmp_path / "i")
    done = call("search", tmp_path / "i", tmp_path / "m.smi", "-k", 1, "--json")
    assert all(row["distance"] < 1e-5 for row in json.loads(done.stdout))
    done = call("search", tmp_path / "i", tmp_path / "m.smi", "--stereo", code=2)
    assert "--stereo was not used to make" in done.stderr
