"""Writing files so that a crash leaves the old or the new one, never half of one. What is a pipe.

A file is written under another name, .NAME.RANDOM.part, flushed to the disk and renamed. Then the folder is
flushed, so that the name survives a loss of power. The writer holds a lock on the unfinished file, which the
system frees when the process ends. So the next writer of NAME removes unfinished files that nobody writes.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import io
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from grnf.errors import DiskFullError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
HELD = {errno.EAGAIN, errno.EACCES, errno.EDEADLK}
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF}
FAR = 2**30
"""The byte that is locked on Windows, where a locked byte cannot be read: behind all that is written."""
TRIES = 1000


@contextmanager
def written_aside(path: str | os.PathLike[str], needed: int | None = None) -> Iterator[Path]:
    """Give the path of an empty file next to `path`, and rename it to `path` at the end of the block.

    If an exception leaves the block, the file is removed and `path` stays as it was. If `path` is a symbolic
    link, the file that it points to is replaced. The error of a full disk states the `needed` bytes.
    """
    target = Path(os.path.realpath(path))
    with room_for(path, target.parent, needed), unfinished(target) as aside:
        yield aside
        sync(aside)
        os.chmod(aside, 0o666 & ~_umask())  # mkstemp makes files private. Give it the usual rights
        rename(aside, target)


@contextmanager
def unfinished(target: Path, *, folder: bool = False) -> Iterator[Path]:
    """Make an empty file or folder next to `target`, removed at the end unless it was renamed.

    Those that earlier runs left behind are removed first.
    """
    remove_abandoned(target)
    names: dict[str, Any] = {"dir": target.absolute().parent, "prefix": f".{target.name}.", "suffix": ".part"}
    for _ in range(TRIES):
        if folder:
            aside = tempfile.mkdtemp(**names)
            os.chmod(aside, 0o777 & ~_umask())
            descriptor = None if sys.platform == "win32" else os.open(aside, os.O_RDONLY)
        else:
            descriptor, aside = tempfile.mkstemp(**names)
        if sys.platform == "win32" and descriptor is not None:
            os.close(descriptor)  # an open file cannot be renamed there
            descriptor = None
        if descriptor is None:
            break
        try_lock(descriptor)
        if os.fstat(descriptor).st_nlink and os.path.exists(aside):
            break  # else another run removed it before it was locked
        os.close(descriptor)
    try:
        yield Path(aside)
    finally:
        with suppress(OSError):
            shutil.rmtree(aside, ignore_errors=True) if folder else os.unlink(aside)
        if descriptor is not None:
            os.close(descriptor)


def remove_abandoned(target: Path) -> None:
    """Remove unfinished files and folders of `target` whose writer has ended."""
    if sys.platform == "win32":
        return
    for path in target.parent.glob(f".{glob.escape(target.name)}.????????.part"):
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                if try_lock(descriptor):
                    shutil.rmtree(path) if path.is_dir() else os.unlink(path)
            finally:
                os.close(descriptor)


def rename(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Rename a file or folder, replacing an existing file, and wait until the new name is on the disk."""
    os.replace(source, target)
    sync_folder(Path(target).absolute().parent)


def make_folder(path: Path) -> None:
    """Make a folder and those above it if they are missing, and wait until their names are on the disk."""
    if not path.parent.exists():
        make_folder(path.parent)
    with suppress(FileExistsError):
        path.mkdir()
    sync_folder(path.absolute().parent)


def try_lock(descriptor: int) -> bool | None:
    """Try to lock an open file. Return False if another process has it locked, None if there are no locks."""
    try:
        if sys.platform == "win32":
            os.lseek(descriptor, FAR, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            os.lseek(descriptor, 0, os.SEEK_SET)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in HELD:
            return False
        if error.errno in NO_LOCKS:
            return None
        raise
    return True


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask


@contextmanager
def atomic_write(
    path: str | os.PathLike[str], mode: str = "w", needed: int | None = None
) -> Iterator[IO[Any]]:
    """Open a file next to `path`, and rename it to `path` only once everything is written."""
    encoding = None if "b" in mode else "utf-8"
    with written_aside(path, needed) as aside, open(aside, mode, encoding=encoding) as file:
        yield file


def sync(path: str | os.PathLike[str]) -> None:
    """Wait until the content of a file is on the disk."""
    with open(path, "r+b") as file:
        os.fsync(file.fileno())


def sync_folder(path: str | os.PathLike[str]) -> None:
    """Wait until the names in a folder are on the disk, if the system can do that."""
    if sys.platform == "win32":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF, errno.EOPNOTSUPP):
            raise
    finally:
        os.close(descriptor)


@contextmanager
def room_for(
    name: str | os.PathLike[str], folder: Path | None = None, needed: int | None = None
) -> Iterator[None]:
    """Say what did not fit on its disk, how much is free there, and what helps.

    `name` is written to `folder`, by default among the temporary files, and takes about `needed` bytes.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        size = "" if needed is None else f"It takes about {needed / 1e6:,.1f} MB, "
        raise DiskFullError(
            f"{name} cannot be written: {os.strerror(error.errno or 0)}. {size}"
            f"{_room(error.errno, folder)}. Free disk space, or write to another folder"
        ) from error


def _room(number: int | None, folder: Path | None) -> str:
    """Return how much room there is, for temporary files too, which may be the ones that do not fit."""
    if number == errno.EFBIG and sys.platform != "win32":
        import resource

        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        if limit != resource.RLIM_INFINITY:
            return f"files may have up to {limit:,} bytes (ulimit -f)"
    temporary = Path(tempfile.gettempdir())
    places = {"": folder, " for temporary files (TMPDIR)": temporary}
    if folder is not None and folder.stat().st_dev == temporary.stat().st_dev:
        del places[" for temporary files (TMPDIR)"]
    return ", ".join(
        f"{shutil.disk_usage(place).free / 1e6:,.1f} MB are free in {place}{what}"
        for what, place in places.items()
        if place is not None
    )


def write_json(path: str | os.PathLike[str], content: Any) -> None:
    """Write plain values as JSON for people to read, all or nothing."""
    with atomic_write(path) as file:
        file.write(json.dumps(content, indent=2) + "\n")


def npy_header(shape: tuple[int, ...], dtype: Any) -> bytes:
    """Return the header of a .npy file, which the rows follow."""
    import numpy as np

    header = io.BytesIO()
    content = {"shape": shape, "fortran_order": False, "descr": np.lib.format.dtype_to_descr(np.dtype(dtype))}
    np.lib.format.write_array_header_1_0(header, content)
    return header.getvalue()


def write_array(file: IO[bytes], array: Any) -> None:
    """Write an array as .npy to an open file. Unlike `numpy.save`, report a full disk as such."""
    import numpy as np

    array = np.ascontiguousarray(array)
    file.write(npy_header(array.shape, array.dtype))
    file.write(array.reshape(-1).view(np.uint8).data)


def check_free(path: str | os.PathLike[str], force: bool) -> None:
    """Refuse to replace an existing file without `force`, and a link, a folder, a pipe or a device at all.

    What earlier runs left unfinished is removed, also if the file is refused.
    """
    remove_abandoned(Path(os.path.realpath(path)))
    if Path(path).is_symlink():
        raise FileExistsError(
            f"{path} is a symbolic link: write to {os.path.realpath(path)}, to which it points"
        )
    if is_pipe(path):
        raise FileExistsError(
            f"{path} is not a file. To write to another program, write to - (standard output)"
        )
    if Path(path).is_dir():
        raise FileExistsError(f"{path} exists already, and a folder is not replaced")
    if not force and Path(path).exists():
        raise FileExistsError(f"{path} exists already: write over it with --force, or choose another name")


def is_pipe(path: str | os.PathLike[str]) -> bool:
    """Whether something is there that can be read only once: a pipe or a device, no file and no folder."""
    path = Path(path)
    return path.exists() and not path.is_file() and not path.is_dir()


def sealed(content: Any) -> str:
    """Return JSON together with its checksum."""
    text = json.dumps(content)
    return f'{{"sha256": "{hashlib.sha256(text.encode()).hexdigest()}", "content": {text}}}\n'


def unsealed(path: Path) -> Any:
    """Return what `sealed` made, or None if the file is absent or was changed."""
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        whole = json.loads(path.read_text(encoding="utf-8"))
        text = json.dumps(whole["content"])
        if hashlib.sha256(text.encode()).hexdigest() == whole["sha256"]:
            return whole["content"]
    return None
