"""The tables of benchmarks in the documentation are those of the stored results."""

import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(
    not (ROOT / "benchmarks").is_dir(), reason="benchmarks are missing from this copy"
)
PLACES = [
    "benchmarks",
    "exact-speed",
    "before-after",
    "intervals",
    "search",
    "duplicates",
    "copies",
    "failures",
    "readers",
    "install",
    "readers",
]


@pytest.fixture(scope="module")
def table():
    sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "docs")]
    import table

    yield table
    del sys.path[:2]


def test_all_places_are_checked(table):
    assert set(table.PLACES) == set(PLACES)


@pytest.mark.parametrize("place", PLACES)
def test_documents_hold_the_tables_of_stored_results(place, table):
    body = "\n".join(table.PLACES[place]())
    assert f"<!-- {place}: begin -->\n{body}\n<!-- {place}: end -->" in table.pages.text()


def test_the_table_of_dependencies_is_complete(table):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {"": project["dependencies"], **project["optional-dependencies"]}
    listed = {name for _, names, *_ in table.install_size.DEPENDENCIES for name in names.split()}
    for extra in {"", *(word for row in table.install_size.DEPENDENCIES for word in row[0].split())}:
        needed = {each.split(">")[0].replace("-", "_") for each in extras[extra]}
        assert needed <= listed, extra
