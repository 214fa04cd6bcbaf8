"""One run at a time in a folder: a lock that the system frees when its holder dies, however it dies."""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
import sys
import time
import warnings
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import IO

from grnf._utils.files import room_for, try_lock
from grnf.errors import GrnfWarning

LOCK = "lock"
SIGNATURE = b'{"pid": '
CURE = "Remove it, or write to another output"
TRIES = 1000
"""Times that a folder may vanish between two steps before it counts as a fault and no race."""


class FolderInUseError(OSError):
    """Another run works in the folder."""


class FolderLock:
    """A folder, made if need be, that is ours until `release` or the end of the process.

    The file `lock` in it is locked, and says who holds it. The holder alone may remove that file and with it
    the folder: who gets the lock of a file that is no longer the one of that name begins again.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.path = self.folder / LOCK
        self._file: IO[bytes] | None = self._acquired()
        try:
            self._sign(self._file)
        except BaseException:
            self.remove_folder()
            raise

    def __enter__(self) -> FolderLock:
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    def release(self) -> None:
        """Let others in."""
        if self._file is None:
            return
        file, self._file = self._file, None
        ours = self._is_current(file.fileno())
        if sys.platform == "win32":  # open files cannot be removed. One that another has open by now stays
            file.close()
        try:
            with suppress(FileNotFoundError, PermissionError):
                if ours:
                    self.path.unlink()
        finally:
            file.close()

    def check(self) -> None:
        """Raise an error if somebody has removed the folder, which may be that of another run by now."""
        if self._file is None or not self._is_current(self._file.fileno()):
            raise FolderInUseError(f"{self.folder} was removed while this run worked in it: start it again")

    def remove_folder(self) -> None:
        """Let others in. Remove the folder if nothing is in it, not even the lock of the next run."""
        self.release()
        with suppress(OSError):
            self.folder.rmdir()

    def _acquired(self) -> IO[bytes]:
        for _ in range(TRIES):
            file = self._opened()
            if file is None:
                continue
            try:
                locked = try_lock(file.fileno())
                if locked is None:
                    warnings.warn(
                        f"the file system of {self.folder} has no locks: make sure that no other run writes "
                        "to this output",
                        GrnfWarning,
                        stacklevel=4,
                    )
                elif not locked:
                    raise FolderInUseError(self._in_use())
                if self._is_current(file.fileno()):
                    return file
            except BaseException:
                file.close()
                raise
            file.close()
        raise FolderInUseError(f"{self.folder} is removed again and again by another program")

    def _opened(self) -> IO[bytes] | None:
        """Open the file to be locked, or None if the run before removes the folder at this very moment."""
        try:
            with suppress(FileExistsError):
                self.folder.mkdir()
            with suppress(FileNotFoundError):
                _check_owner(self.folder, os.lstat(self.folder))
                flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
                file = os.fdopen(os.open(self.path, flags, 0o666), "r+b", buffering=0)
                try:
                    _check_owner(self.path, os.fstat(file.fileno()), file.read(len(SIGNATURE)))
                    file.seek(0)
                    return file
                except BaseException:
                    file.close()
                    raise
        except FolderInUseError:
            raise
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise FolderInUseError(f"{self.path} is a symbolic link. {CURE}") from None
            raise OSError(
                f"cannot write unfinished work to {self.folder}: {error.strerror}. Write to another folder"
            ) from None
        return None

    def _is_current(self, descriptor: int) -> bool:
        """Whether the file that was locked still is the one of that name."""
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except FileNotFoundError:
            return False

    def _sign(self, file: IO[bytes]) -> None:
        """Write down who holds the lock."""
        holder = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "started": datetime.now().astimezone().isoformat(timespec="seconds"),
            "command": " ".join(" ".join(sys.argv).split()),
        }
        with room_for(self.path, self.folder):
            file.truncate(0)
            file.write(json.dumps(holder).encode() + b"\n")

    def _in_use(self) -> str:
        """Return who holds the lock, which may take its holder a moment to write down."""
        who = "another run"
        for _ in range(20):
            with suppress(OSError, ValueError, KeyError, TypeError):
                holder = json.loads(self.path.read_bytes())
                who += ", process {pid} on {host} since {started} ({command})".format(**holder)
                break
            time.sleep(0.01)
        return f"{self.folder} is in use by {who}: wait until it has ended, or write to another output"


def _check_owner(path: Path, about: os.stat_result, start: bytes | None = None) -> None:
    """Refuse a folder that is a link or of another user, and a file that does not start as a lock does."""
    problem = ""
    if stat.S_ISLNK(about.st_mode):
        problem = "is a symbolic link"
    elif hasattr(os, "geteuid") and about.st_uid not in (os.geteuid(), 0):
        problem = "belongs to another user"
    elif start is not None:
        is_ours = start == SIGNATURE or not any(start)  # zeros after a loss of power
        if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1 or not is_ours:
            problem = "is not a lock of a run"
    if problem:
        raise FolderInUseError(f"{path} {problem}. {CURE}")
