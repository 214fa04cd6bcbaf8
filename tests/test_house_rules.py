"""Promises about the code itself: one-way imports, small files, no prints, no asserts, names that exist."""

import ast
import importlib
from pathlib import Path

import pytest

from guests import guest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "grnf"
FILES = sorted(SOURCE.rglob("*.py"))

ORDER = [
    "graphs",
    "lifts",
    "basis",
    "law",
    "engine",
    "features",
    "metric",
    "estimators",
    "experiments",
    "cli",
]
ASIDE = {"datasets": {"graphs", "io"}, "io": {"graphs"}}
LEAVES = {"errors", "deprecation", "activations", "typing", "files", "progress"}
TOP = {"testing"}


def room(path):
    relative = path.relative_to(SOURCE)
    return relative.parts[0].removesuffix(".py")


def imported_rooms(path):
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if name.startswith("grnf."):
                yield name.split(".")[1]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_one_way(path):
    own = room(path)
    if own in ("__init__", *TOP):
        return
    if own in LEAVES:
        allowed = {"typing"}
    elif own in ASIDE:
        allowed = ASIDE[own] | LEAVES | {own}
    elif own == "nn":
        allowed = {*ORDER[: ORDER.index("estimators") + 1], *LEAVES, "nn"}
    elif own == "cli":
        allowed = {*ORDER, *ASIDE, *LEAVES, "GRNF", "Graph", "__version__"}
    else:
        allowed = {*ORDER[: ORDER.index(own) + 1], *LEAVES}
        if own in ("lifts", "estimators"):
            allowed.add("io")
        if own == "experiments":
            allowed |= {*ASIDE, "GRNF", "Graph", "__version__"}
    assert set(imported_rooms(path)) <= allowed


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

    manual = (ROOT / "README.md").read_text()
    commands = [(command.callback, command.callback.__name__) for command in app.registered_commands]
    for group in app.registered_groups:
        inside = group.typer_instance.registered_commands
        commands += [(command.callback, f"{group.name} {command.name}") for command in inside]
    for callback, name in commands:
        assert callback.__doc__
        assert f"Example: grnf {name}" in callback.__doc__
        assert f"grnf {name}" in manual


def test_randomness_lives_in_law_and_datasets():
    for path in FILES:
        if room(path) not in ("law", "datasets", "testing"):
            assert "np.random" not in path.read_text(), path
