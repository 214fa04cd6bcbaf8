"""Adjacency matrices from files: numpy, MATLAB, Matrix Market, tables of numbers; one or many."""

import gzip
import io
import os
import zipfile

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from grnf import GraphError
from grnf.io import BadGraph, read_graphs, to_raw, write_graphs
from grnf.io.files import matrices
from grnf.io.files.file import File
from grnf.io.files.matrices import load_matlab
from grnf.io.files.reading import guess_format
from optional import require
from raw_graphs import assert_same

pd = require("pandas")

NAMES = [f"V{i}" for i in range(6)]


def networks(count=5, n=6, seed=0):
    random = np.random.default_rng(seed)
    A = np.where(random.random((count, n, n)) < 0.5, random.normal(size=(count, n, n)), 0)
    A = A + A.transpose(0, 2, 1)
    A[-1, 0, 1] = 7.0  # the last one is directed
    return A


def saved(path, write, *arguments, **more):
    write(path, *arguments, **more)
    return path


def check(path, expected, names=None, targets=None):
    """Read a file; its graphs are these matrices."""
    assert guess_format(path) == "matrices"
    found = list(read_graphs(path))
    assert [graph.graph_id for graph in found] == (names or [None] * len(expected))
    assert [graph.y for graph in found] == (targets or [None] * len(expected))
    for graph, matrix in zip(found, expected, strict=True):
        wanted = to_raw(matrix)
        assert graph.directed == wanted.directed
        assert sorted(map(tuple, graph.edges.tolist())) == sorted(map(tuple, wanted.edges.tolist()))
        assert sorted(graph.edge_columns["weight"]) == pytest.approx(sorted(wanted.edge_columns["weight"]))


def test_stacks_and_single_matrices_of_numpy(tmp_path):
    A = networks()
    check(saved(tmp_path / "a.npy", np.save, A), A)
    check(saved(tmp_path / "f.npy", np.save, np.asfortranarray(A)), A)
    check(saved(tmp_path / "last.npy", np.save, A.transpose(1, 2, 0)), A)
    check(saved(tmp_path / "one.npy", np.save, A[0].astype(np.float32).astype(float)), A[:1])
    check(saved(tmp_path / "six.npy", np.save, networks(6)), networks(6))  # (6, 6, 6): graphs come first
    check(saved(tmp_path / "a.npz", np.savez_compressed, connectivity=A, ages=np.arange(9)), A)
    subjects = np.array(["a", None], dtype=object)  # is not loaded, being pickled
    check(saved(tmp_path / "o.npz", np.savez, subjects=subjects, A=A), A)
    with zipfile.ZipFile(tmp_path / "o.npz", "a") as archive:
        archive.writestr("README.txt", "how it was made")
    check(tmp_path / "o.npz", A)
    check(saved(tmp_path / "m.npz", np.savez, mean=A.mean(axis=0), A=A), A)
    check(saved(tmp_path / "y.npz", np.savez, A=A, y=np.arange(5) % 2), A, targets=[0, 1, 0, 1, 0])
    check(saved(tmp_path / "n.npz", np.savez, two=A[1], one=A[0]), A[[1, 0]], names=["two", "one"])
    check(saved(tmp_path / "s.npz", sp.save_npz, sp.csr_array(A[4])), A[4:])


def test_matlab(tmp_path):
    A = networks()
    labels = np.array(["a", "b", "a", "b", "c"], dtype=object)
    path = saved(tmp_path / "a.mat", scipy.io.savemat, {"A": A.transpose(1, 2, 0), "labels": labels})
    check(path, A, targets=labels.tolist())
    cells = np.empty(2, object)
    cells[:] = [A[0], A[1][:4, :4]]
    check(
        saved(tmp_path / "c.mat", scipy.io.savemat, {"C": cells, "y": [1.5, 2.5]}), cells, targets=[1.5, 2.5]
    )
    check(saved(tmp_path / "s.mat", scipy.io.savemat, {"S": sp.csc_matrix(A[4])}), A[4:], names=["S"])
    check(saved(tmp_path / "six.mat", scipy.io.savemat, {"A": networks(6).transpose(1, 2, 0)}), networks(6))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", ["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"])
def test_numbers_and_texts_of_matlab(tmp_path, kind, packed):
    A = np.abs(networks(3)).round().astype(kind)
    cells = np.empty(3, object)
    cells[:] = ["one", "two", "three"]
    others = {"t": "text", "rows": np.array(["ab", "c"]), "cells": cells, "z": 1j * A[0], "s": {"a": 1}}
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"A": A, "S": sp.csc_matrix(A[0].astype(float)), **others}, do_compression=packed)
    found = load_matlab(path.read_bytes())
    assert np.array_equal(found["A"], A)
    assert np.array_equal(found["S"].toarray(), A[0])
    assert (found["t"].tolist(), found["rows"].tolist()) == (["text"], ["ab", "c"])
    assert (found["cells"].tolist(), found["z"], found["s.a"]) == (cells.tolist(), None, [[1]])


SYMMETRIES = ("general", "symmetric", "skew-symmetric")
KINDS = [
    (form, field, of)
    for form in (sp.coo_array, np.asarray)
    for field in ("real", "integer")
    for of in SYMMETRIES
]
KINDS += [(sp.coo_array, "pattern", "general"), (sp.coo_array, "pattern", "symmetric")]


@pytest.mark.parametrize(("form", "field", "symmetry"), KINDS)
def test_matrix_market(tmp_path, form, field, symmetry):
    A = np.round(10 * networks()[0])
    A = {"general": np.triu(A), "symmetric": A, "skew-symmetric": np.triu(A, 1) - np.triu(A, 1).T}[symmetry]
    A = (A != 0).astype(float) if field == "pattern" else A
    path = tmp_path / "a.mtx"
    scipy.io.mmwrite(path, form(A), "how it was made", field=field, symmetry=symmetry)
    (graph,), wanted = read_graphs(path), to_raw(A)
    assert weight_of_edges(graph) == weight_of_edges(wanted)
    assert graph.directed == wanted.directed


def weight_of_edges(graph):
    weights = graph.edge_columns.get("weight", np.ones(len(graph.edges)))
    return dict(zip(map(tuple, graph.edges.tolist()), weights, strict=True))


def valid_files(folder):
    """A small file of each kind."""
    A, cells = networks(2), np.empty(2, object)
    cells[:] = [A[0], A[1]]
    everything = {"A": A.transpose(1, 2, 0), "S": sp.csc_matrix(A[0]), "y": np.arange(2), "t": "text"}
    np.save(folder / "a.npy", A)
    np.savez(folder / "a.npz", A=A, y=np.arange(2))
    for form in ("csr", "csc", "coo", "bsr", "dia"):
        sp.save_npz(folder / f"{form}.npz", sp.coo_array(A[0]).asformat(form), compressed=False)
    scipy.io.savemat(folder / "a.mat", everything)
    scipy.io.savemat(folder / "packed.mat", everything, do_compression=True)
    scipy.io.savemat(folder / "cells.mat", {"C": cells})
    scipy.io.mmwrite(folder / "a.mtx", sp.coo_array(A[0]))
    pd.DataFrame(A[0], columns=NAMES).to_csv(folder / "a.csv")
    return sorted(folder.iterdir())


@pytest.mark.slow
def test_damaged_files_are_graphs_or_errors_of_ours(tmp_path):
    """Nothing else, and above all not the end of the process."""
    random, seen = np.random.default_rng(0), {True: 0, False: 0}
    for path in valid_files(tmp_path):
        data = np.fromfile(path, np.uint8)
        for _ in range(150):
            wrong = data.copy()
            places = random.integers(len(wrong), size=random.integers(1, 6))
            wrong[places] = random.integers(256, size=len(places))
            wrong[: len(wrong) if random.random() < 0.8 else random.integers(len(wrong))].tofile(path)
            try:
                file = File(path, format="matrices", isolated=True)
                seen[all(graph.n_nodes < 1000 for graph in read_graphs(file))] += 1
            except GraphError:
                seen[False] += 1
    assert min(seen.values()) > 200


def test_a_crash_in_a_process_of_its_own_is_an_error(tmp_path):
    with pytest.raises(GraphError, match="crashed"):
        matrices._called(os._exit, 3, isolated=True)
    A = networks()
    path = saved(tmp_path / "a.mat", scipy.io.savemat, {"A": A.transpose(1, 2, 0)})
    assert len(list(read_graphs(File(path, isolated=True)))) == len(A)  # another one is started


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt", ".csv.gz"])
def test_tables_of_numbers(tmp_path, suffix):
    A = networks()
    for place in range(5):
        text = pd.DataFrame(A[place]).to_csv(sep="\t" if "tsv" in suffix else ",", header=False, index=False)
        text = text.replace(",", " ") if suffix == ".txt" else text
        data = f"# subject {place}\n{text}".encode() if place else text.encode()
        (tmp_path / f"sub-{place}{suffix}").write_bytes(gzip.compress(data) if "gz" in suffix else data)
    check(tmp_path / f"sub-4{suffix}", A[4:])
    found = list(read_graphs(tmp_path))
    assert [graph.graph_id for graph in found] == [f"sub-{place}" for place in range(5)]


@pytest.mark.parametrize(
    "how",
    [
        {"index": NAMES, "header": NAMES},
        {"index": NAMES, "header": NAMES, "index_label": "region"},
        {"index": False, "header": NAMES},
        {"index": NAMES, "header": False},
        {"index": range(6), "header": range(6)},
        {"index": False, "header": range(1, 7)},
    ],
)
def test_names_of_nodes(tmp_path, how):
    A = networks()[0]
    named = how["index"] == NAMES or how["header"] == NAMES
    frame = pd.DataFrame(A, index=how["index"] or None, columns=how["header"] or None)
    path = tmp_path / "a.csv"
    more = {"index_label": how["index_label"]} if "index_label" in how else {}
    frame.to_csv(path, index=how["index"] is not False, header=how["header"] is not False, **more)
    check(path, [A])
    (graph,) = read_graphs(path)
    assert graph.node_columns["name"].tolist() == NAMES if named else not graph.node_columns


def test_other_files_stay_what_they_are(tmp_path):
    (tmp_path / "e.txt").write_text("0 1 0.5\n1 2 0.5\n2 0 0.5\n")
    assert guess_format(tmp_path / "e.txt") == "edge-list"
    (tmp_path / "e.csv").write_text("source,target\n0,1\n1,0\n")
    assert guess_format(tmp_path / "e.csv") == "edge-table"
    np.save(tmp_path / "g.npy", np.array(["Bw", "C~"]))
    assert guess_format(tmp_path / "g.npy") == "graph6-npy"
    write_graphs(tmp_path / "w.npz", read_graphs(tmp_path / "g.npy"))
    assert guess_format(tmp_path / "w.npz") == "npz"
    for one, other in zip(read_graphs(tmp_path / "w.npz"), read_graphs(tmp_path / "g.npy"), strict=True):
        assert_same(one, other)


def test_fields_of_a_struct_are_arrays(tmp_path):
    """As in the files of the SuiteSparse Matrix Collection."""
    A = sp.csc_array([[0.0, 2.0], [2.0, 0.0]])
    scipy.io.savemat(tmp_path / "a.mat", {"Problem": {"A": A, "title": "pair", "aux": {"b": np.ones(2)}}})
    (graph,) = read_graphs(tmp_path / "a.mat")
    assert (graph.graph_id, graph.edge_columns["weight"].tolist()) == ("Problem.A", [2.0])


@pytest.mark.parametrize("name", ["a.npz", "a.mat"])
def test_networks_with_few_edges_pack_very_well(tmp_path, name):
    """They are refused if they take too much memory, however small their file is."""
    A = np.zeros((1500, 1500))
    A[[0, 1], [1, 0]] = 1
    np.savez_compressed(tmp_path / "a.npz", A=A)
    scipy.io.savemat(tmp_path / "a.mat", {"A": A}, do_compression=True)
    (graph,) = read_graphs(tmp_path / name)
    assert (graph.n_nodes, graph.edges.tolist()) == (1500, [[0, 1]])
    with pytest.raises(GraphError, match=f"{name}.* would take about"):
        list(read_graphs(tmp_path / name, max_memory="10MB"))


MARKET = "%%MatrixMarket matrix coordinate real general\n"
BAD = {
    "not square": ("a.npy", lambda p: np.save(p, np.ones((3, 4))), r"must have shape .*, got \(3, 4\)"),
    "of 4 axes": ("a.npy", lambda p: np.save(p, np.ones((2, 3, 3, 3))), "must have shape"),
    "complex": ("a.npz", lambda p: np.savez(p, A=np.ones((3, 3), complex)), "none of the arrays"),
    "two stacks": (
        "a.npz",
        lambda p: np.savez(p, A=networks(), B=networks()),
        "all stacks of matrices. Select",
    ),
    "no matrix": ("a.npz", lambda p: np.savez(p, x=np.ones(3)), "none of the arrays"),
    "pickled": ("a.npz", lambda p: np.savez(p, A=np.array([[{}]])), "none of the arrays"),
    "pickled x": (
        "a.npz",
        lambda p: np.savez(p, edge_index=[[0], [1]], x=np.array([{}])),
        "must hold numbers",
    ),
    "no entries": (
        "a.mtx",
        lambda p: p.write_text(MARKET + "9 9 99999999999\n1 1 1\n"),
        "99999999999 entries",
    ),
    "too large": ("a.mtx", lambda p: p.write_text(MARKET + f"{10**9} {10**9} 0\n"), "would take about"),
    "short row": ("a.csv", lambda p: p.write_text("0,1,2\n1,0\n2,1,0\n"), "line 2: .* got 2 fields after 3"),
    "few rows": ("a.csv", lambda p: p.write_text("0,1,2\n1,0,3\n"), "2 rows of 3 numbers"),
    "a word": ("a.csv", lambda p: p.write_text("0,1,2\n1,x,3\n2,3,0\n"), "line 2: 'x' is not a number"),
    "a gap": ("a.csv", lambda p: p.write_text("0,1,nan\n1,0,3\n2,3,0\n"), r"entry \[0, 2\].*Use 0"),
    "nothing": ("a.csv", lambda p: p.write_text("\n"), "no numbers"),
    "truncated": ("a.npy", lambda p: p.write_bytes(_bytes(networks())[:500]), "truncated"),
    "no MATLAB": ("a.mat", lambda p: p.write_bytes(b"MATLAB 5.0 MAT-file" + b"x" * 300), "truncated"),
    "no market": (
        "a.mtx",
        lambda p: p.write_bytes(b"%%MatrixMarket nonsense\n1\n"),
        "Invalid MatrixMarket header",
    ),
}


def _bytes(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_matrix(tmp_path, kind):
    name, make, message = BAD[kind]
    make(tmp_path / name)
    with pytest.raises(GraphError, match=message) as error:
        list(read_graphs(tmp_path / name, format="matrices"))
    assert name in str(error.value)


def test_one_bad_matrix_of_a_stack(tmp_path):
    A = networks()
    A[1, 2, 3] = np.nan
    found = list(read_graphs(saved(tmp_path / "a.npy", np.save, A), on_error="yield"))
    assert [isinstance(graph, BadGraph) for graph in found] == [False, True, False, False, False]
    assert "a.npy, matrix 1: entry [2, 3]" in found[1].reason


def test_arrays_by_name(tmp_path):
    A = networks()
    path = saved(
        tmp_path / "a.npz", np.savez, raw=A, thresholded=A * (A > 0.5), age=np.arange(5.0), few=np.ones(2)
    )
    found = list(read_graphs(path, array="thresholded", y="age"))
    assert [graph.y for graph in found] == [0, 1, 2, 3, 4]
    assert len(found[0].edges) < len(next(read_graphs(path, array="raw")).edges)
    for wrong, message in (
        ({"array": "x"}, "no array 'x'. Available"),
        ({"array": "raw", "y": "z"}, "no array 'z' for y"),
        ({"array": "raw", "y": "few"}, "'few' has 2 values for 5 graphs"),
    ):
        with pytest.raises(GraphError, match=message):
            list(read_graphs(path, **wrong))
    with pytest.raises(GraphError, match="holds one array"):
        list(read_graphs(saved(tmp_path / "b.npy", np.save, A), array="A"))
