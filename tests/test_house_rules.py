"""Promises about the code itself: one-way imports, small files, no prints, no asserts, names that exist."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import grnf
from guests import guest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "grnf"
FILES = sorted(SOURCE.rglob("*.py"))

LEAVES = {"_utils", "activations", "deprecation", "errors", "typing"}
ROOMS = {
    "graphs": set(),
    "io": {"graphs"},
    "samples": {"graphs", "io"},
    "basis": set(),
    "law": {"basis"},
    "engine": {"graphs", "basis", "law"},
    "symmetry": {"graphs", "engine"},
    "lifts": {"graphs", "io", "samples", "engine", "symmetry"},
    "features": {"graphs", "basis", "law", "engine"},
    "metric": {"law", "features"},
    "estimators": {"graphs", "io", "samples", "lifts", "law", "engine", "features", "metric"},
    "search": {"graphs", "io", "samples", "engine", "symmetry", "lifts", "metric", "estimators"},
    "stats": {"graphs", "io", "samples", "law", "engine", "symmetry", "lifts", "estimators", "search"},
    "scale": {"io", "samples", "estimators"},
    "maps": {"graphs", "io", "metric", "estimators", "search"},
    "nn": {"graphs", "basis", "law", "engine"},
    "datasets": {"graphs", "io", "symmetry"},
    "testing": {"graphs", "datasets"},
    "experiments": {
        *("graphs", "basis", "law", "engine", "lifts", "features", "metric", "estimators", "maps"),
        "datasets",
    },
    "cli": {
        *("graphs", "io", "law", "metric", "estimators", "search", "stats", "scale", "maps", "datasets"),
        "experiments",
    },
}
"""Rooms of the house, each with those it imports, all further up. Every room may import leaves."""


def room(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path):
    """Yield the rooms that a file imports; a name of the package itself counts as its home."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if name.startswith("grnf."):
                name = name.split(".")[1]
                yield grnf._HOMES.get(name, f"grnf.{name}").split(".")[1]


def test_imports_go_one_way():
    for place, (name, allowed) in enumerate(ROOMS.items()):
        assert allowed <= set(list(ROOMS)[:place]), f"{name} imports a room that stands further down"
    for path in FILES:
        own = room(path)
        if own in ("__init__", "__main__"):
            continue
        allowed = (
            {"_utils", "errors", "typing"} if own in LEAVES else {own, *ROOMS[own], *LEAVES, "__version__"}
        )
        assert set(imported_rooms(path)) <= allowed, path


def test_the_picture_of_the_house_is_true():
    manual = (ROOT / "CONTRIBUTING.md").read_text()
    for name, allowed in ROOMS.items():
        found = {other for path in FILES if room(path) == name for other in imported_rooms(path)}
        assert found - LEAVES - {name, "__version__"} == allowed, name
        line = f"    {name:<12} {', '.join(other for other in ROOMS if other in allowed)}".rstrip()
        assert line in manual.splitlines(), line


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_files_are_small_and_quiet(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 400
    tree = ast.parse(text)
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Assert)], (
        "assert guards nothing under -O"
    )


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_exported_names_exist(path):
    if room(path) == "nn":
        guest("torch")
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    module = importlib.import_module(".".join(p for p in parts if p != "__init__"))
    for name in getattr(module, "__all__", []):
        assert getattr(module, name) is not None


def test_every_command_has_help_and_a_line_in_the_manual():
    from grnf.cli.app import app

    manual = (ROOT / "docs" / "guides" / "commands.md").read_text()
    commands = [(command.callback, command.callback.__name__) for command in app.registered_commands]
    for group in app.registered_groups:
        inside = group.typer_instance.registered_commands
        commands += [(command.callback, f"{group.name} {command.name}") for command in inside]
    for callback, name in commands:
        assert callback.__doc__
        assert f"Example: grnf {name}" in callback.__doc__
        assert f"grnf {name}" in manual


WITHOUT_GUESTS = """
import sys

class Absent:
    def find_spec(name, path=None, target=None):  # scikit-learn looks for pandas itself
        if name in ("igraph", "matplotlib", "networkx", "pandas", "pyarrow", "rdkit", "torch", "typer"):
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Absent)
from grnf import GRNF, Graph
GRNF(4).fit_transform([Graph(2, [(0, 1)])])
print(*[name for name in sys.modules if name.startswith(("grnf.io.files", "grnf.cli"))])
"""


def test_the_library_loads_no_file_reader_and_no_guest():
    done = subprocess.run([sys.executable, "-c", WITHOUT_GUESTS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


def test_randomness_lives_in_law_datasets_and_stats():
    for path in FILES:
        if room(path) not in ("_utils", "law", "datasets", "testing", "stats"):
            assert "np.random" not in path.read_text(), path


def test_the_version_is_one():
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {grnf.__version__}\n" in citation


def test_the_readme_is_one_page():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150
