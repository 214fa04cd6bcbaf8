import ast
import functools
import importlib.util
import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None, print_blob=True)
settings.register_profile("fixed", deadline=None, derandomize=True, print_blob=False)
settings.register_profile("explore", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile(os.environ.get("GRNF_HYPOTHESIS", "default"))

SHARED = Path(os.environ.get("GRNF_SHARED", Path(__file__).parents[2] / "shared"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # run in the background of a shell: children would ignore Ctrl-C too, which some tests send to them
    signal.signal(signal.SIGINT, signal.default_int_handler)


HERE = Path(__file__).parent


@functools.cache
def wanted(path):
    """The modules that a file imports at its top, and those that the helpers among them import."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    helpers = {folder / f"{name}.py" for name in found for folder in (HERE, path.parent)} - {path}
    return found.union(*(wanted(helper) for helper in helpers if helper.exists()))


GUESTS = ("igraph", "matplotlib", "networkx", "pandas", "polars", "pyarrow", "rdkit", "torch")
ABSENT = {name for name in GUESTS if importlib.util.find_spec(name) is None}


def absent(path):
    """Which guests (extras) a file of tests wants that are not installed."""
    return sorted(ABSENT & wanted(path))


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """A test that comes upon a guest who is absent is skipped."""
    try:
        return (yield)
    except Exception as error:
        text = f"{error!r}"
        missing = sorted(name for name in ABSENT if name in text)
        wants = "pip install" in text or "No module named" in text or "to be installed" in text
        if missing and wants:
            pytest.skip(f"wants {', '.join(missing)}")
        raise


def pytest_ignore_collect(collection_path):
    """Files of tests whose guests are absent are left out, and named at the top of the report."""
    if collection_path.suffix == ".py":
        return bool(absent(collection_path)) or None
    return None


def pytest_report_header():
    left_out = {path.relative_to(HERE): absent(path) for path in sorted(HERE.rglob("test_*.py"))}
    return [f"left out: {path}, which wants {', '.join(names)}" for path, names in left_out.items() if names]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With `-n`, tests of the loops run in one process and all others where there is room.

    Two processes would compile most loops twice, at the same time; what one has compiled, the others read.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return "loops" if {"engine", "nn"} & set(nodeid.split("::")[0].split("/")) else nodeid

    return Scheduling(config, log)


@pytest.fixture
def shared() -> Path:
    """The folder of real data that is not part of the repository."""
    if not (SHARED / "data").is_dir():
        pytest.skip(
            f"needs the shared data folder, and {SHARED}/data is absent (set GRNF_SHARED to its place)"
        )
    return SHARED
