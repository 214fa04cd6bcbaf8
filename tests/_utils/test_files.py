"""Unfinished files, links and locks."""

import os
import subprocess
import sys

import pytest

from grnf._utils import files
from grnf._utils.files import atomic_write, check_free, unfinished
from grnf._utils.locks import FolderInUseError, FolderLock
from grnf.io.files.file import aside, deliver

LEAVE = """
import os, sys
from pathlib import Path
from grnf._utils.files import unfinished
with unfinished(Path(sys.argv[1]), folder=sys.argv[2] == "folder") as aside:
    if aside.is_dir():
        (aside / "rows.npy").write_text("half")
    os._exit(9)
"""


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_the_next_writer_removes_what_a_killed_one_left(tmp_path, kind):
    target = tmp_path / "z.npy"
    subprocess.run([sys.executable, "-c", LEAVE, str(target), kind])
    assert len(list(tmp_path.iterdir())) == 1
    with atomic_write(target) as file:
        file.write("new")
    assert [path.name for path in tmp_path.iterdir()] == ["z.npy"]


def test_the_next_conversion_removes_the_folder_of_a_killed_one(tmp_path):
    code = "import os, sys; from grnf.io.files.file import aside\n"
    code += "with aside(sys.argv[1]) as made: made.write_text('half'); os._exit(9)"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "g.jsonl")])
    assert len(list(tmp_path.iterdir())) == 1
    with aside(tmp_path / "g.jsonl") as made:
        made.write_text("whole")
        deliver(made, tmp_path / "g.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["g.jsonl"]


def test_unfinished_files_that_are_in_use_stay(tmp_path):
    with unfinished(tmp_path / "z.npy") as first:
        with unfinished(tmp_path / "z.npy") as second:
            assert first.exists()
            assert second.exists()
        (tmp_path / ".z.npy.mine.part").write_text("of somebody else")
    assert [path.name for path in tmp_path.iterdir()] == [".z.npy.mine.part"]


def test_the_folder_is_flushed_after_the_rename(tmp_path, monkeypatch):
    calls = []
    replace, flush = os.replace, files.sync_folder
    monkeypatch.setattr(os, "replace", lambda *names: (calls.append("rename"), replace(*names)))
    monkeypatch.setattr(files, "sync_folder", lambda path: (calls.append(path), flush(path)))
    with atomic_write(tmp_path / "a.txt") as file:
        file.write("text")
    assert calls == ["rename", tmp_path]


def test_a_link_is_followed_by_the_library_and_refused_as_an_output(tmp_path):
    (tmp_path / "real").mkdir()
    link, real = tmp_path / "z.txt", tmp_path / "real" / "z.txt"
    real.write_text("old")
    link.symlink_to(real)
    with atomic_write(link) as file:
        file.write("new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    with pytest.raises(FileExistsError, match=r"is a symbolic link: write to .*real/z.txt"):
        check_free(link, force=True)


def test_a_lock_that_is_a_link_is_refused_and_its_target_kept(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("keep this")
    folder = tmp_path / "z.npy.parts"
    folder.mkdir()
    (folder / "lock").symlink_to(precious)
    with pytest.raises(FolderInUseError, match=r"lock is a symbolic link\. Remove it"):
        FolderLock(folder)
    (folder / "lock").unlink()
    os.link(precious, folder / "lock")
    with pytest.raises(FolderInUseError, match="is not a lock of a run"):
        FolderLock(folder)
    (folder / "lock").unlink()
    (folder / "lock").write_text("notes of somebody")
    with pytest.raises(FolderInUseError, match="is not a lock of a run"):
        FolderLock(folder)
    assert precious.read_text() == "keep this"
    (tmp_path / "other").symlink_to(folder)
    with pytest.raises(FolderInUseError, match="other is a symbolic link"):
        FolderLock(tmp_path / "other")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        (folder / "lock").unlink()
        os.chown(folder, 12345, -1)
        with pytest.raises(FolderInUseError, match="belongs to another user"):
            FolderLock(folder)
