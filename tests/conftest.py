import os
import shutil
import signal
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

from optional import require

settings.register_profile("default", deadline=None, print_blob=True)
settings.register_profile("fixed", deadline=None, derandomize=True, print_blob=False)
settings.register_profile("explore", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile(os.environ.get("GRNF_HYPOTHESIS", "default"))

SHARED = Path(os.environ.get("GRNF_SHARED", Path(__file__).parents[2] / "shared"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # in the background of a shell, children would ignore the Ctrl-C that some tests send to them
    signal.signal(signal.SIGINT, signal.default_int_handler)


LONGEST = {"test_site", "test_examples", "test_experiments", "test_shards", "test_faults"}


def pytest_collection_modifyitems(items):
    """Run the files with the longest tests first. With `-n`, short tests fill the time of all processes."""
    items.sort(key=lambda item: item.path.stem not in LONGEST)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With `-n`, the tests of the compiled kernels run in one process, and all others in any.

    Two processes would compile most kernels twice at the same time. One process compiles, the others load.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return "kernels" if {"engine", "nn"} & set(nodeid.split("::")[0].split("/")) else nodeid

    return Scheduling(config, log)


@pytest.fixture
def shared() -> Path:
    """The folder of real data that is not part of the repository."""
    if not (SHARED / "data").is_dir():
        pytest.skip(f"needs the shared data folder, and {SHARED}/data is absent (set GRNF_SHARED)")
    return SHARED


@pytest.fixture(autouse=True)
def _one_thread(request):
    """One BLAS thread for small problems: threads would wait for each other on a busy machine."""
    small = {"maps", "stats"} & set(request.path.parts)
    with threadpool_limits(1) if small else nullcontext():
        yield


@pytest.fixture(scope="module")
def browser():
    """Chromium, driven by Playwright."""
    api = require("playwright.sync_api")
    names = [os.environ.get("GRNF_BROWSER"), "chromium", "chromium-browser", "google-chrome", "chrome"]
    path = next((found for name in names if name and (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("needs a browser: Debian's package chromium, or another that GRNF_BROWSER names")
    with api.sync_playwright() as playwright:
        options = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        opened = playwright.chromium.launch(executable_path=path, args=options)
        yield opened
        opened.close()
