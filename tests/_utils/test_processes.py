"""Processes and threads that share work, and locks of folders."""

import errno
import gc
import multiprocessing
import os
import subprocess
import sys
import time
import warnings

import joblib
import pytest

from grnf import GRNF, Graph
from grnf._utils import locks as module
from grnf._utils.locks import FolderInUseError, FolderLock
from grnf._utils.running import in_processes, n_workers
from grnf.errors import GrnfWarning


def slow_square(number):
    time.sleep(0.02)
    return number * number


def who(number):
    return os.getpid()


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_results_come_in_order(n_jobs):
    assert list(in_processes(slow_square, range(9), n_jobs)) == [n * n for n in range(9)]


def test_other_processes_do_the_work():
    assert os.getpid() not in set(in_processes(who, range(4), 2))


@pytest.mark.parametrize("taken", [0, 1, 5])
def test_a_reader_may_leave_early(taken):
    # Warnings are errors here, and joblib warns of results that are thrown away.
    asked = []

    def tasks():
        for number in range(1000):
            asked.append(number)
            yield number

    results = in_processes(slow_square, tasks(), 2)
    assert [next(results) for _ in range(taken)] == [n * n for n in range(taken)]
    results.close()
    del results
    gc.collect()
    assert len(asked) < 50
    assert list(in_processes(slow_square, range(3), 2)) == [0, 1, 4]


@pytest.mark.slow
def test_an_error_of_a_task_comes_through():
    with pytest.raises(TypeError, match=r"unsupported operand|can't multiply"):
        list(in_processes(slow_square, [1, "a", 2], 2))


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
    try_lock, removed = module.try_lock, []

    def remove_and_lock(descriptor):
        if not removed:
            removed.append(descriptor)
            first.remove_folder()  # the holder ends between our opening of the file and our lock of it
        return try_lock(descriptor)

    monkeypatch.setattr(module, "try_lock", remove_and_lock)
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

    monkeypatch.setattr("grnf._utils.files.fcntl.flock", refuse)
    with pytest.warns(GrnfWarning, match="has no locks"):
        FolderLock(tmp_path / "z.npy.parts").release()


def test_a_place_that_cannot_be_written_to(tmp_path):
    (tmp_path / "z.npy.parts").write_text("a file")
    with pytest.raises(OSError, match=r"cannot write unfinished work to .*z\.npy\.parts"):
        FolderLock(tmp_path / "z.npy.parts")


def test_a_holder_that_has_not_signed_yet(tmp_path):
    with FolderLock(tmp_path / "z.npy.parts") as lock:
        lock.path.write_bytes(b"")
        with pytest.raises(FolderInUseError, match="is in use by another run: wait"):
            FolderLock(lock.folder)


GRAPH = Graph(3, [(0, 1), (1, 2)])


def vectors(n_jobs):
    warnings.simplefilter("error")
    return GRNF(4, random_state=0, n_jobs=n_jobs).fit_transform([GRAPH]).tolist(), n_workers(n_jobs)


def test_threads_inside_a_process_pool_without_a_warning():
    """A pool's processes are daemons, in which joblib starts no processes and warns of it."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.map_async(vectors, [2, None]).get(timeout=120)
    assert found == [vectors(2), vectors(None)]
    assert [threads for _, threads in found] == [2, 1]


def test_joblib_may_give_the_number():
    with joblib.parallel_config(n_jobs=3):
        assert n_workers(None) == 3
