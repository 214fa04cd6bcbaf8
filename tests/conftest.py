import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None, derandomize=True, print_blob=False)
settings.load_profile("default")

SHARED = Path(os.environ.get("GRNF_SHARED", Path(__file__).parents[2] / "shared"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # run in the background of a shell: children would ignore Ctrl-C too, which some tests send to them
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
