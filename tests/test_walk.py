"""The paths of four calls through the package stay short, and CONTRIBUTING describes them."""

import sys
from pathlib import Path

import pytest

from optional import require

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(
    not (ROOT / "benchmarks").is_dir(), reason="the benchmarks are not part of this copy"
)


@pytest.fixture(scope="module")
def walks():
    require("networkx")
    sys.path.insert(0, str(ROOT / "benchmarks"))
    import walk

    return walk


def test_fit_transform(walks):
    files, frames = walks.walk(walks.fit_transform)
    assert len(files) <= 18
    assert len(frames) <= 8
    manual = (ROOT / "CONTRIBUTING.md").read_text()
    for file in files:
        assert f"`{file}`" in manual, file


@pytest.mark.parametrize(("call", "most"), [("two_sample_test", 20), ("embed", 28), ("search", 30)])
def test_files_outside_the_core(walks, call, most):
    require("pyarrow")
    files, _ = walks.walk(walks.CALLS[call])
    assert len(walks.outside_core(files)) <= most
