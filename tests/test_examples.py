"""Every example runs as a user would run it, with small settings."""

import re
from pathlib import Path

import numpy as np
import pytest

from cli.forked import Forked
from grnf import JointFeatures
from optional import require

EXAMPLES = Path(__file__).parents[1] / "examples"
SMALL = {
    "first_layer": ["--n-graphs", "60", "--epochs", "2"],
    "pipeline": ["--n-graphs", "60", "--n-components", "64"],
    "torch_training": ["--n-graphs", "60", "--n-features", "16", "--epochs", "2"],
}


def run(path, *arguments, warnings="default"):
    """Run an example in a process of its own, and return what it prints."""
    program = f"import runpy, sys, warnings; warnings.simplefilter({warnings!r}); sys.argv.pop(0); "
    process = Forked(
        f"{program}runpy.run_path(sys.argv[0], run_name='__main__'); sys.exit()", path, *arguments
    )
    stdout, stderr = process.communicate()
    assert process.returncode == 0, stderr
    return stdout


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("MPLBACKEND", "Agg")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("plot_*.py")), ids=lambda path: path.stem)
def test_gallery(path):
    require("matplotlib")
    require("networkx")
    assert run(path, warnings="error")


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SMALL))
def test_example(name):
    if name != "pipeline":
        require("torch_geometric")
    printed = run(EXAMPLES / f"{name}.py", *SMALL[name])
    found = [float(number) for number in re.findall(r"accuracy.*?([01]\.\d{3})", printed)]
    assert found, printed
    assert all(0.0 <= value <= 1.0 for value in found)


@pytest.mark.parametrize("library", ["skfp", "molfeat"])
def test_fingerprint_libraries(library, monkeypatch):
    require("rdkit")
    require(library)
    monkeypatch.syspath_prepend(EXAMPLES)
    from molecule_libraries import CARBON_ATOMS, SMILES, by_molfeat, side_by_side

    if library == "skfp":
        model = side_by_side().fit(SMILES, CARBON_ATOMS)
        assert model[0].transform(SMILES).shape == (len(SMILES), 256 + 192)
        assert abs(model.predict(SMILES) - CARBON_ATOMS).max() < 0.5
    else:
        vectors = by_molfeat()(SMILES)
        expected = JointFeatures(random_state=0).fit_transform(SMILES)
        np.testing.assert_allclose(vectors, expected, atol=1e-5)
