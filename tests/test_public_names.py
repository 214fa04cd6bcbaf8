"""The public names: listed in the reference, at most 120, none of them twice."""

import builtins
import importlib
import inspect
import runpy
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from optional import require

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "grnf"
REFERENCE = runpy.run_path(str(ROOT / "docs" / "reference_pages.py"))["PUBLIC"]

SHARED_NAMES = {"index", "outliers"}  # a command and what it runs
"""Names of modules in several packages."""


def names_of(package):
    if package == "grnf.nn":
        require("torch")
    return importlib.import_module(package).__all__


@pytest.mark.parametrize("package", REFERENCE)
def test_the_reference_lists_the_public_names(package):
    _, names = REFERENCE[package]
    assert sorted({*names_of(package)} - {"__version__"}) == sorted(names.split())
    assert all(inspect.getdoc(getattr(importlib.import_module(package), name)) for name in names.split())


def test_there_are_at_most_120_public_names():
    assert len({name for _, names in REFERENCE.values() for name in names.split()}) <= 120


def test_import_all_rebinds_no_module_and_no_builtin():
    names = {}
    exec("from grnf import *", names)
    names.pop("__builtins__")
    assert not {*names} & {*sys.stdlib_module_names, *dir(builtins)}


def test_no_two_public_classes_share_a_name():
    homes = defaultdict(set)
    for package in REFERENCE:
        for name in names_of(package):
            found = getattr(importlib.import_module(package), name)
            if inspect.isclass(found):
                homes[name].add(found)
    assert {name: classes for name, classes in homes.items() if len(classes) > 1} == {}


def test_no_two_modules_of_different_packages_share_a_name():
    homes = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        if not path.stem.startswith("__"):
            homes[path.stem].append(path.relative_to(SOURCE).as_posix())
    packages = {name: {path.partition("/")[0] for path in paths} for name, paths in homes.items()}
    assert {name for name, several in packages.items() if len(several) > 1} == SHARED_NAMES
