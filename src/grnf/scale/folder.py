"""A folder of shards on disk: who may write to it, which shards are finished, and the manifest.

    shard-000000.parquet ...   vectors, each file written aside and renamed
    _manifest.json             what they are, with checksums; written when all is done
    _work/                     while a run is unfinished: the lock, the plan, records of finished shards

Names that begin with _ are passed over by what reads folders of Parquet files. A shard is finished once its
record is there and its file is as the record says.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from grnf._utils.files import atomic_write, write_json
from grnf._utils.locks import FolderLock
from grnf._version import __version__
from grnf.errors import GraphError
from grnf.io.vectors.parts import differences
from grnf.io.vectors.shards import FORMAT, MANIFEST, VERSION
from grnf.scale.plan import Plan, Shard

__all__ = ["ShardFolder", "begun_file", "failed_file", "file_matches", "record_file", "sealed", "unsealed"]

WORK, PLAN = "_work", "plan.json"


def record_file(folder: Path, number: int) -> Path:
    """Return where it is noted that a shard is finished."""
    return folder / WORK / f"{number:06d}.json"


def begun_file(folder: Path, number: int) -> Path:
    """Return the mark of a shard that is being computed."""
    return folder / WORK / f"{number:06d}.begun"


def failed_file(folder: Path, number: int) -> Path:
    """Return where it is noted why a shard failed, for a driver that was not told."""
    return folder / WORK / f"{number:06d}.failed"


def sealed(content: Any) -> str:
    """Return JSON with a checksum of itself."""
    text = json.dumps(content)
    return f'{{"sha256": "{hashlib.sha256(text.encode()).hexdigest()}", "content": {text}}}\n'


def unsealed(path: Path) -> Any:
    """Return what `sealed` wrote; None if it is absent or not as it was written.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "note.json"
    >>> _ = path.write_text(sealed({"rows": 5}))
    >>> unsealed(path)
    {'rows': 5}
    >>> _ = path.write_text(path.read_text().replace("5", "6"))
    >>> unsealed(path) is None
    True
    """
    with suppress(OSError, ValueError, KeyError, TypeError):
        whole = json.loads(path.read_text(encoding="utf-8"))
        text = json.dumps(whole["content"])
        if hashlib.sha256(text.encode()).hexdigest() == whole["sha256"]:
            return whole["content"]
    return None


def file_matches(path: Path, record: dict[str, Any]) -> bool:
    """Whether a file is as its record says."""
    try:
        if path.stat().st_size != record["bytes"]:
            return False
        with path.open("rb") as file:
            return bool(hashlib.file_digest(file, "sha256").hexdigest() == record["sha256"])
    except FileNotFoundError:
        return False


class ShardFolder:
    """A folder of shards that one run writes to, until `close`.

    Parameters
    ----------
    folder : Path
        Made if need be.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        if not self.folder.parent.is_dir():
            raise GraphError(f"the folder {self.folder.parent} does not exist")
        if self.folder.exists() and not self.folder.is_dir():
            raise FileExistsError(f"{folder} is a file; shards go to a folder")
        strange = [file.name for file in self._files() if not self._is_ours(file)]
        if strange:
            raise FileExistsError(f"{folder} holds {strange[0]}, which is no shard: choose another folder")
        self._made = not self.folder.exists()
        with suppress(FileExistsError):
            self.folder.mkdir()
        self._lock = FolderLock(self.folder / WORK)

    def __enter__(self) -> ShardFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _files(self) -> list[Path]:
        return list(self.folder.iterdir()) if self.folder.is_dir() else []

    def _is_ours(self, file: Path) -> bool:
        name = file.name
        return name in (WORK, MANIFEST) or name.startswith(("shard-", ".shard-", f".{MANIFEST}"))

    def manifest(self) -> dict[str, Any] | None:
        """Return the manifest, None if there is none."""
        try:
            content = json.loads((self.folder / MANIFEST).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise GraphError(f"{self.folder / MANIFEST} is damaged: {error}") from None
        return content if isinstance(content, dict) else {}

    def plan(self) -> Plan | None:
        """Return the plan of the run that is there, None if there is none."""
        text = unsealed(self.folder / WORK / PLAN)
        return None if text is None else Plan.from_text(text)

    def begin(self, plan: Plan, *, resume: bool, force: bool) -> Plan:
        """Take up a run: the one that is there if it is this one and may be resumed, or a new one."""
        self.check_free(resume=resume, force=force)
        before, manifest = self.plan(), self.manifest()
        if before is not None and not force:
            self._check_same(before.run, plan.run)
            return before
        if manifest is not None and not force:
            self._check_same(manifest.get("run", {}), plan.run)
            self._recall(manifest)
        else:
            for old in [self.folder / MANIFEST, *self._shards()]:
                old.unlink(missing_ok=True)
        with atomic_write(self.folder / WORK / PLAN) as file:
            file.write(sealed(plan.to_text()))
        return plan

    def check_free(self, *, resume: bool, force: bool) -> None:
        """Raise an error if what is there may not be gone on with or written over."""
        if force:
            return
        if (self.folder / WORK / PLAN).exists():
            if not resume:
                raise FileExistsError(
                    f"{self.folder} holds an unfinished run: resume it (--resume), or write over it (--force)"
                )
        elif (self.folder / MANIFEST).exists():
            if not resume:
                raise FileExistsError(
                    f"{self.folder} exists already: write over it with --force, or choose another name"
                )
        elif self._shards():
            raise FileExistsError(
                f"{self.folder} holds shards of nobody's run: remove them, or write over them with --force"
            )

    def _shards(self) -> list[Path]:
        return [file for file in self._files() if file.name.startswith("shard-")]

    def _recall(self, manifest: dict[str, Any]) -> None:
        """Write the records of a finished run again."""
        for record in manifest.get("shards", []):
            self.note(record)

    def _check_same(self, before: Any, now: Any) -> None:
        if before != now:
            changes = "; ".join(differences(before, now))
            raise FileExistsError(
                f"{self.folder} is of another run and cannot be resumed: {changes}. Repeat that run, write "
                "over it with --force, or choose another folder"
            )

    def note(self, record: dict[str, Any]) -> None:
        """Note that a shard is finished."""
        with atomic_write(record_file(self.folder, record["shard"])) as file:
            file.write(sealed(record))

    def finished(self, shards: list[Shard]) -> dict[int, dict[str, Any]]:
        """Return the records of shards that are there and as they were written."""
        found = {}
        for shard in shards:
            record = unsealed(record_file(self.folder, shard.number))
            if record is not None and file_matches(self.folder / shard.file, record):
                found[shard.number] = record
        return found

    def recorded(self, numbers: Iterable[int]) -> dict[int, dict[str, Any]]:
        """Return the records that there are of these shards."""
        found = {number: unsealed(record_file(self.folder, number)) for number in numbers}
        return {number: record for number, record in found.items() if record is not None}

    def begun(self) -> list[int]:
        """Return the shards that somebody has begun and not finished."""
        return sorted(int(file.stem) for file in (self.folder / WORK).glob("*.begun"))

    def reasons(self, numbers: Iterable[int]) -> dict[int, str]:
        """Return why shards failed, of those of these that did."""
        found = {number: unsealed(failed_file(self.folder, number)) for number in numbers}
        return {number: reason for number, reason in found.items() if reason is not None}

    def forget(self, number: int) -> None:
        """Remove the marks of a shard that was begun, or failed."""
        begun_file(self.folder, number).unlink(missing_ok=True)
        failed_file(self.folder, number).unlink(missing_ok=True)

    def check(self) -> None:
        """Raise an error if somebody has removed the folder meanwhile."""
        self._lock.check()

    def finish(self, manifest: dict[str, Any]) -> None:
        """Write the manifest; if no shard is wanting, remove what was there to go on with."""
        self.check()
        for mark in [*(self.folder / WORK).glob("*.begun"), *(self.folder / WORK).glob("*.failed")]:
            mark.unlink(missing_ok=True)
        write_json(
            self.folder / MANIFEST, {"format": FORMAT, "version": VERSION, "grnf": __version__, **manifest}
        )
        if manifest["set_aside"]:  # they can be tried again
            return
        for left in self.folder.glob(".shard-*.part"):  # of processes that were killed
            left.unlink(missing_ok=True)
        work = self.folder / WORK
        (work / PLAN).unlink(missing_ok=True)
        for file in [*work.glob("*.json"), *work.glob(".*.part")]:
            file.unlink(missing_ok=True)
        self._lock.remove_folder()

    def close(self) -> None:
        """Let others in."""
        self._lock.release()
        with suppress(OSError):
            (self.folder / WORK).rmdir()
        if self._made:
            with suppress(OSError):
                self.folder.rmdir()
