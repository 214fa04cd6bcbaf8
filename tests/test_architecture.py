"""Promises about the code itself: imports go one way, no error is parsed, what the manual says is true."""

import ast
import graphlib
import importlib
import subprocess
import sys
from functools import cache
from pathlib import Path

import grnf
from optional import require

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "grnf"
FILES = sorted(SOURCE.rglob("*.py"))

LEAVES = {"_utils", "_version", "activations", "errors", "typing"}
PACKAGES = {
    "graphs": set(),
    "basis": set(),
    "law": {"basis"},
    "engine": {"graphs", "basis", "law"},
    "features": {"graphs", "basis", "law", "engine"},
    "metric": {"graphs", "law", "engine", "features"},
    "symmetry": {"graphs"},
    "io": {"graphs"},
    "collection": {"graphs", "io"},
    "lifts": {"graphs", "symmetry", "io", "collection"},
    "estimators": {"graphs", "law", "engine", "features", "metric", "symmetry", "io", "collection", "lifts"},
    "search": {"graphs", "metric", "symmetry", "io", "collection", "estimators"},
    "edits": {"graphs", "law", "metric", "symmetry", "io", "estimators"},
    "stats": {"graphs", "metric", "symmetry", "io", "collection", "lifts", "estimators", "search"},
    "networkx_backend": {"graphs", "symmetry", "edits"},
    "maps": {"metric", "io", "collection", "estimators", "search", "edits"},
    "scale": {"io", "collection", "estimators"},
    "datasets": {"graphs", "symmetry", "io"},
    "testing": {"graphs", "datasets"},
    "nn": {"graphs", "basis", "law", "engine"},
    "cli": {
        *("graphs", "law", "metric", "io", "collection", "estimators", "search", "edits", "stats", "maps"),
        *("scale", "datasets"),
    },
}
"""Packages and single modules with what they import, all further up. Every package may import leaves."""


def package(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def tree(path):
    return ast.parse(path.read_text())


def module_name(path):
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {module_name(path): path for path in FILES}


@cache
def imported_modules(path):
    """The modules of the package that a file imports; a public name of `grnf` counts as its home."""
    found = []
    checked_only = {
        id(inside)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inside in ast.walk(node)
    }
    for node in ast.walk(tree(path)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "grnf":
            names = [grnf._HOMES.get(alias.name, f"grnf.{alias.name}") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            name = name if name in MODULES else name.rpartition(".")[0]
            if name in MODULES:
                found.append((name, id(node) in checked_only))
    return found


def imported_packages(path):
    return {name.split(".")[1] for name, _ in imported_modules(path) if "." in name}


def test_imports_go_one_way():
    manual = (ROOT / "CONTRIBUTING.md").read_text().splitlines()
    assert {package(path) for path in FILES} == {*PACKAGES, *LEAVES, "__init__", "__main__"}
    for place, (name, allowed) in enumerate(PACKAGES.items()):
        assert allowed <= set(list(PACKAGES)[:place]), f"{name} imports a package that stands further down"
        found = set().union(*(imported_packages(path) for path in FILES if package(path) == name))
        assert found - LEAVES - {name} == allowed, name
        line = f"    {name:<12} {', '.join(other for other in PACKAGES if other in allowed)}".rstrip()
        assert line in manual, line
    for path in FILES:
        if package(path) in LEAVES:
            assert imported_packages(path) <= LEAVES, path


def test_no_two_files_import_each_other():
    graph = {
        name: {other for other, checked_only in imported_modules(path) if other != name and not checked_only}
        for name, path in MODULES.items()
    }
    graphlib.TopologicalSorter(graph).prepare()  # names the cycle if there is one


def test_no_asserts_and_no_errors_parsed():
    """`assert` guards nothing under -O; the text of an exception may be shown, and nothing else."""
    for path in FILES:
        for node in ast.walk(tree(path)):
            assert not isinstance(node, ast.Assert), path
            if not isinstance(node, ast.ExceptHandler) or node.name is None:
                continue
            for inside in ast.walk(node):
                if isinstance(inside, (ast.Attribute, ast.Subscript, ast.Compare)):
                    texts = [inside.value] if not isinstance(inside, ast.Compare) else ast.walk(inside)
                    for text in texts:
                        assert ast.unparse(text) not in (f"str({node.name})", f"{node.name}.args"), path


def test_exported_names_exist():
    for name, path in MODULES.items():
        if package(path) == "nn":
            require("torch_geometric.nn")  # its warnings are not ours
        module = importlib.import_module(name)
        for exported in getattr(module, "__all__", []):
            assert getattr(module, exported) is not None


def test_every_command_has_help_and_a_line_in_the_manual():
    from grnf.cli.app import app

    manual = (ROOT / "docs" / "guides" / "commands.md").read_text()
    for command in app.registered_commands:
        name = command.name or command.callback.__name__
        assert f"grnf {name}" in command.callback.__doc__.partition("Example")[2], name
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


def test_the_library_loads_no_file_reader_and_no_optional_dependency():
    done = subprocess.run([sys.executable, "-c", WITHOUT_GUESTS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


def test_randomness_lives_in_few_places():
    for path in FILES:
        if package(path) not in ("_utils", "law", "metric", "datasets", "testing", "stats"):
            assert "np.random" not in path.read_text(), path


def test_the_version_is_one():
    assert f"\nversion: {grnf.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150
