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


@pytest.fixture
def shared() -> Path:
    """The folder of real data that is not part of the repository."""
    if not (SHARED / "data").is_dir():
        pytest.skip(
            f"needs the shared data folder, and {SHARED}/data is absent (set GRNF_SHARED to its place)"
        )
    return SHARED
