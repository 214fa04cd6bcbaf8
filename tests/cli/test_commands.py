"""Each command as a user runs it: in a subprocess."""

import json
import subprocess
import sys

import numpy as np
import pytest

from grnf import GRNF
from grnf.io import read_tu


def run(*arguments, **options):
    command = [sys.executable, "-c", "from grnf.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


def test_help_loads_nothing_heavy():
    code = "import sys, grnf.cli.app; sys.exit(','.join(m for m in sys.argv[1:] if m in sys.modules) or 0)"
    heavy = ["numba", "sklearn", "scipy", "numpy", "torch", "matplotlib", "pandas", "networkx"]
    result = subprocess.run([sys.executable, "-c", code, *heavy], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    result = run("--help")
    assert result.returncode == 0
    assert "dimension" in result.stdout


def test_import_loads_no_heavy_guest():
    code = (
        "import sys, sklearn.base; before = set(sys.modules); "  # it loads pandas and pyarrow itself
        "import grnf, grnf.io; grnf.GRNF; new = set(sys.modules) - before; "
        "sys.exit(','.join(m for m in sys.argv[1:] if m in new) or 0)"
    )
    guests = ["torch", "torch_geometric", "rdkit", "pyarrow", "dask", "matplotlib", "networkx", "igraph"]
    result = subprocess.run([sys.executable, "-c", code, *guests], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_version():
    assert run("--version").stdout.startswith("grnf 0.")


def test_dimension():
    result = run("dimension", "--eps", 0.1, "--delta", 0.05)
    assert result.returncode == 0
    assert "2,952" in result.stdout
    assert "32,000" in result.stdout


@pytest.mark.parametrize(
    ("given", "asked", "value"),
    [
        (["--eps", 0.1, "--delta", 0.05], "n_components", 32_000),
        (["-m", 32_000, "--delta", 0.05], "eps", 0.1),
        (["-m", 32_000, "--eps", 0.1], "delta", 0.05),
    ],
)
def test_dimension_in_every_direction(given, asked, value):
    answer = json.loads(run("dimension", *given, "--json").stdout)
    assert answer["asked"] == asked
    assert answer["bounds"]["chebyshev"] == pytest.approx(value)


@pytest.mark.parametrize(
    "arguments",
    [
        ["dimension", "--eps", "0.1"],
        ["dimension", "--eps", "0.1", "--delta", "2"],
        ["dimension", "--eps", "0.1", "--delta", "0.1", "--activation", "relu"],
        ["embed"],
        ["embed", "x.zip", "-o", "x.txt"],
        ["demo", "--n-graphs", "3"],
        ["fly"],
    ],
)
def test_wrong_usage_exits_with_2(arguments):
    result = run(*arguments)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr


def test_embed(tmp_path):
    folder = tmp_path / "TINY"
    folder.mkdir()
    (folder / "TINY_A.txt").write_text("1, 2\n2, 1\n3, 4\n4, 3\n")
    (folder / "TINY_graph_indicator.txt").write_text("1\n1\n2\n2\n2\n")
    result = run("embed", folder, "-o", tmp_path / "z.npy", "-m", 16, "--seed", 3)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["graphs"] == 2
    Z = np.load(tmp_path / "z.npy")
    graphs = read_tu(folder).graphs
    np.testing.assert_array_equal(Z, GRNF(16, random_state=3).fit_transform(graphs))
    np.testing.assert_array_equal(Z, GRNF.load(tmp_path / "z.json").transform(graphs))
    assert run("embed", folder, "-o", tmp_path / "z.csv", "-m", 16, "--seed", 3, "-q").stdout == ""
    table = np.loadtxt(tmp_path / "z.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(table, Z, rtol=1e-8)
    assert (tmp_path / "z.csv").read_text().startswith("grnf0,grnf1,")


def test_bad_data_exits_with_1_and_one_line(tmp_path):
    result = run("embed", tmp_path / "missing.zip", "-o", tmp_path / "z.npy")
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "does not exist" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_demo(tmp_path):
    result = run("demo", "--n-graphs", 60, "-m", 64, "-o", tmp_path / "demo")
    assert result.returncode == 0, result.stderr
    written = sorted(path.name for path in (tmp_path / "demo").iterdir())
    assert written == ["delaunay.npy", "results.json", "sbm.npy", "tsne.png"]
    for name in written:
        assert name in result.stdout
    results = json.loads((tmp_path / "demo" / "results.json").read_text())
    for name in ("SBM", "Delaunay"):
        assert results[name]["distances"]["permuted copy"]["value"] < 1e-4
        assert len(results[name]["accuracy"]) >= 3
