"""A disk that fails: file operations below a folder are counted, and the n-th one fails or ends the process.

Operations are calls of `open` for writing, and of write, truncate, fsync, rename, unlink, mkdir and rmdir.
They are replaced in `os`, `io` and `builtins`, so that no writer in Python can bypass them. What pyarrow
writes to a file that it opens itself counts as the opening of that file.
"""

import builtins
import errno
import io
import os
import shutil
import tempfile
from pathlib import Path

KINDS = ("ENOSPC", "EIO", "kill", "lost data", "lost names")
"""The operation fails with an error. Or the process ends there, with half of a write done. Or the computer
loses power there: the contents of files that were not flushed are lost, or these and the names in folders
that were not flushed."""
DEAD = 137


class FaultyDisk:
    """Counts operations in `log`; the one of number `n` (from 0) fails in the way of `kind`."""

    def __init__(self, root, kind=None, n=None):
        self.root, self.kind, self.n = os.path.realpath(root), kind, n
        self.log = []
        self.flushed = {}  # content of files at their last flush, by inode
        self.undo = []  # (folder, function) for each change of names that was not flushed
        self.backup = tempfile.mkdtemp(dir=Path(root).parent, prefix="backup-")
        self.real = {
            name: getattr(os, name)
            for name in ("open", "fsync", "replace", "rename", "unlink", "mkdir", "rmdir", "truncate")
        }
        self.open = io.open
        for path in Path(root).rglob("*"):
            if path.is_file():
                self.flushed[path.stat().st_ino] = path.read_bytes()

    def install(self):
        """Replace the functions of this process, for good."""
        os.open, os.fsync, os.truncate = self._os_open, self._fsync, self._truncate
        os.replace = os.rename = self._rename
        os.unlink = os.remove = self._unlink
        os.mkdir, os.rmdir = self._mkdir, self._rmdir
        builtins.open = io.open = self._open
        import pyarrow as pa

        arrow_file = pa.OSFile

        def opened(path, mode="r", **options):
            if mode != "r" and self._inside(path):
                self.step("open", path)
            return arrow_file(path, mode, **options)

        pa.OSFile = opened

    def step(self, operation, path, half=None):
        """Count an operation, before it is done; `half` does a part of it."""
        number = len(self.log)
        self.log.append(f"{operation} {os.path.relpath(path, self.root)}")
        if number != self.n:
            return
        if self.kind in ("ENOSPC", "EIO"):
            removes = operation in ("unlink", "rmdir")
            code = errno.EIO if removes else getattr(errno, self.kind)
            raise OSError(code, os.strerror(code), os.fspath(path))
        if half is not None:
            half()
        if self.kind != "kill":
            self._lose()
        os._exit(DEAD)

    def end(self):
        """Lose what was not flushed, at the end of a process without a fault."""
        if self.kind in ("lost data", "lost names"):
            self._lose()

    def _lose(self):
        """Bring the disk to the state of the last flushes."""
        if self.kind == "lost names":
            for _, undo in reversed(self.undo):
                undo()
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = os.path.join(folder, name)
                content = self.flushed.get(os.stat(path).st_ino, b"")
                with self.open(path, "r+b") as file:
                    if file.read() != content:
                        file.seek(0)
                        file.truncate()
                        file.write(content)

    def _inside(self, path, options=()):
        if isinstance(path, int):
            path = os.readlink(f"/proc/self/fd/{path}")
        if "dir_fd" in options and options["dir_fd"] is not None:
            path = os.path.join(os.readlink(f"/proc/self/fd/{options['dir_fd']}"), path)
        path = os.path.abspath(os.fspath(path))
        return path if path.startswith(self.root + os.sep) or path == self.root else None

    def _changed(self, path, undo):
        self.undo.append((os.path.dirname(path), undo))

    def _kept(self, path):
        """Return another name for a file, so that it can come back."""
        copy = tempfile.mktemp(dir=self.backup)
        os.link(path, copy)
        return copy

    def _created(self, path):
        self._changed(path, lambda: os.path.lexists(path) and self.real["unlink"](path))

    def _open(self, file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, *rest, **more):
        path = self._inside(file) if any(letter in mode for letter in "wax+") else None
        if path is None:
            return self.open(file, mode, buffering, encoding, errors, newline, *rest, **more)
        if not isinstance(file, int):
            existed = os.path.exists(path)
            self.step("open", path)
            if not existed:
                self._created(path)
        raw = FaultyFile(file, mode.replace("b", "").replace("t", ""), *rest, **more)
        raw.disk, raw.path = self, path
        if buffering == 0:
            return raw
        binary = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return binary if "b" in mode else io.TextIOWrapper(binary, encoding, errors, newline)

    def _os_open(self, path, flags, mode=0o777, **options):
        inside = self._inside(path, options) if flags & (os.O_CREAT | os.O_TRUNC) else None
        existed = inside is not None and os.path.exists(inside)
        if inside is not None and not existed:
            self.step("open", inside)
        descriptor = self.real["open"](path, flags, mode, **options)
        if inside is not None and not existed:
            self._created(inside)
        return descriptor

    def _fsync(self, descriptor):
        path = self._inside(descriptor)
        if path is not None:
            self.step("fsync", path)
            if os.path.isdir(path):
                self.undo = [(folder, undo) for folder, undo in self.undo if folder != path]
            else:
                with self.open(path, "rb") as file:
                    self.flushed[os.fstat(descriptor).st_ino] = file.read()
        self.real["fsync"](descriptor)

    def _truncate(self, path, size):
        if self._inside(path) is not None:
            self.step("truncate", path)
        self.real["truncate"](path, size)

    def _rename(self, source, target, **options):
        before, after = self._inside(source, options), self._inside(target, options)
        if after is None:
            self.real["replace"](source, target, **options)
            return
        self.step("rename", after)
        kept = self._kept(after) if os.path.isfile(after) else None
        self.real["replace"](before, after)

        def undo():
            self.real["replace"](after, before)
            if kept is not None:
                self.real["replace"](kept, after)

        self._changed(after, undo)

    def _unlink(self, path, **options):
        inside = self._inside(path, options)
        if inside is None or not os.path.lexists(inside):
            self.real["unlink"](path, **options)
            return
        self.step("unlink", inside)
        kept = self._kept(inside)
        self.real["unlink"](inside)
        self._changed(inside, lambda: self.real["replace"](kept, inside))

    def _mkdir(self, path, mode=0o777, **options):
        inside = self._inside(path, options)
        if inside is None or os.path.exists(inside):
            self.real["mkdir"](path, mode, **options)
            return
        self.step("mkdir", inside)
        self.real["mkdir"](inside, mode)
        self._changed(inside, lambda: os.path.exists(inside) and self.real_rmtree(inside))

    def _rmdir(self, path, **options):
        inside = self._inside(path, options)
        if inside is None or not os.path.isdir(inside) or os.listdir(inside):
            self.real["rmdir"](path, **options)
            return
        self.step("rmdir", inside)
        self.real["rmdir"](inside)
        self._changed(inside, lambda: self.real["mkdir"](inside))

    def real_rmtree(self, folder):
        """Remove a folder that was never flushed, with all that is in it."""
        os.unlink, os.rmdir, os.open = self.real["unlink"], self.real["rmdir"], self.real["open"]
        shutil.rmtree(folder)


class FaultyFile(io.FileIO):
    """A file below the folder, open for writing."""

    def write(self, data):
        """Count the write, then do it."""
        view = memoryview(data).cast("B")
        self.disk.step("write", self.path, lambda: super(FaultyFile, self).write(view[: len(view) // 2]))
        return super().write(view)

    def truncate(self, size=None):
        """Count the truncation, then do it."""
        self.disk.step("truncate", self.path)
        return super().truncate(size)
