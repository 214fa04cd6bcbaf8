"""Every example runs as a user would run it, with small settings."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from grnf import JointFeatures
from optional import require

EXAMPLES = Path(__file__).parents[1] / "examples"
SMALL = {
    "first_layer": ["--n-graphs", "60", "--epochs", "2"],
    "pipeline": ["--n-graphs", "60", "--n-components", "64"],
    "torch_training": ["--n-graphs", "60", "--n-features", "16", "--epochs", "2"],
}


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("plot_*.py")), ids=lambda path: path.stem)
def test_gallery(path):
    require("matplotlib")
    require("networkx")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    result = subprocess.run(
        [sys.executable, "-W", "error", path], capture_output=True, text=True, timeout=300, env=environment
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SMALL))
def test_example(name):
    if name != "pipeline":
        require("torch_geometric")
    result = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py", *SMALL[name]],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert result.returncode == 0, result.stderr
    found = [float(number) for number in re.findall(r"accuracy.*?([01]\.\d{3})", result.stdout)]
    assert found, result.stdout
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
