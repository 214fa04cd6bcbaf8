"""A folder belongs to one run at a time."""

import errno
import os
import subprocess
import sys

import pytest

from grnf._utils import locks as module
from grnf._utils.locks import FolderInUseError, FolderLock
from grnf.errors import GrnfWarning

# Work in the folder again and again: alone in there, or refused.
WORK = """
import os, sys, time
from grnf._utils.locks import FolderInUseError, FolderLock
folder, end = sys.argv[1], time.monotonic() + 2
worked = refused = 0
while time.monotonic() < end:
    try:
        lock = FolderLock(folder)
    except FolderInUseError:
        refused += 1
        continue
    with lock:
        mark = os.path.join(folder, "mark")
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        assert os.listdir(folder).count("mark") == 1
        os.unlink(mark)
        worked += 1
        lock.remove_folder()
print(worked, refused)
"""


def test_many_processes_and_a_folder_that_comes_and_goes(tmp_path, monkeypatch):
    folder = tmp_path / "z.npy.parts"
    command = [sys.executable, "-c", WORK, str(folder)]
    processes = [subprocess.Popen(command, stdout=-1, stderr=-1, text=True) for _ in range(3)]
    said = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], said
    assert sum(int(out.split()[0]) for out, _ in said) > 20
    assert not folder.exists()


def test_a_file_that_was_removed_before_it_was_locked_is_no_lock(tmp_path, monkeypatch):
    folder = tmp_path / "z.npy.parts"
    first = FolderLock(folder)
    locked, removed = module._locked, []

    def remove_and_lock(descriptor, place):
        if not removed:
            removed.append(descriptor)
            first.remove_folder()  # the holder ends between our opening of the file and our lock of it
        return locked(descriptor, place)

    monkeypatch.setattr(module, "_locked", remove_and_lock)
    with FolderLock(folder):
        monkeypatch.undo()
        with pytest.raises(FolderInUseError):
            FolderLock(folder)
        assert (folder / "lock").exists()
    assert list(folder.iterdir()) == []


def test_the_next_run_keeps_the_folder_that_the_last_one_removes(tmp_path, monkeypatch):
    folder = tmp_path / "z.npy.parts"
    first, second = FolderLock(folder), []
    release = first.release

    def release_to_the_next():
        release()
        second.append(FolderLock(folder))

    monkeypatch.setattr(first, "release", release_to_the_next)
    first.remove_folder()
    assert (folder / "lock").exists()
    second[0].remove_folder()
    assert not folder.exists()


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(module.fcntl, "flock", refuse)
    with pytest.warns(GrnfWarning, match="has no locks"):
        FolderLock(tmp_path / "z.npy.parts").release()


def test_a_place_that_cannot_be_written_to(tmp_path):
    (tmp_path / "z.npy.parts").write_text("a file")
    with pytest.raises(OSError, match=r"cannot write to .*z\.npy\.parts, where unfinished work is kept"):
        FolderLock(tmp_path / "z.npy.parts")


def test_a_holder_that_has_not_signed_yet(tmp_path):
    with FolderLock(tmp_path / "z.npy.parts") as lock:
        lock.path.write_bytes(b"")
        with pytest.raises(FolderInUseError, match="is in use by another run: wait"):
            FolderLock(lock.folder)
