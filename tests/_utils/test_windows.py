"""The branches for Windows, simulated in another process: no fcntl, no resource, locks by msvcrt."""

import subprocess
import sys

SIMULATION = """
import errno, os, sys, types
import numpy, scipy.sparse, numba  # loaded as on this system
held = set()
def locking(descriptor, mode, count):
    key = os.fstat(descriptor).st_ino
    if key in held:
        raise OSError(errno.EACCES, "held")
    held.add(key)
sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_NBLCK=2)
sys.modules["fcntl"] = sys.modules["resource"] = None  # importing them fails
del os.sysconf, os.getuid, os.O_NOFOLLOW
sys.platform = "win32"

from pathlib import Path
from grnf._utils.files import atomic_write, remove_abandoned, sync_folder
from grnf._utils.locks import FolderInUseError, FolderLock
from grnf._utils.memory import check_memory

folder = Path(sys.argv[1])
for text in ("one", "two"):  # the second replaces the first
    with atomic_write(folder / "a.txt") as file:
        file.write(text)
assert (folder / "a.txt").read_text() == "two"
assert [path.name for path in folder.iterdir()] == ["a.txt"]
remove_abandoned(folder / "a.txt")
sync_folder(folder)
check_memory(1, "a byte")
with FolderLock(folder / "run"):
    try:
        FolderLock(folder / "run")
    except FolderInUseError:
        print("refused")
assert not (folder / "run" / "lock").exists()
"""


def test_files_locks_and_memory(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SIMULATION, tmp_path], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr
