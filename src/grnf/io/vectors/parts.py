"""Finished blocks of a run, kept beside its output until the last one is there: what makes a run resumable.

OUTPUT.parts/ holds manifest.json (all that the blocks depend on), and for each finished block its vectors
(000000.npy, ...) and then its ids, labels and bad graphs (000000.json, ...). Each file is written whole or
not at all, and a block counts as finished once its .json is there; so the folder is sound at every moment.
The folder is locked as long as a run works in it (see lock.py).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from grnf.files import atomic_write, write_json
from grnf.io.vectors.blocks import VectorBlock, plain
from grnf.io.vectors.lock import LOCK, FolderLock

__all__ = ["Parts"]

MANIFEST = "manifest.json"
OURS = r"manifest\.json|\d{6,}\.(npy|json)|transformer\.json|\..*\.part"


class Parts:
    """The finished blocks of one run, which no other run touches until `close` or `remove`.

    Parameters
    ----------
    output : path
        The file that the run is to write; parts go to a folder of this name with .parts added.
    run : mapping
        All that the blocks depend on, as JSON values: settings, hash of the input, size of blocks.
    resume : bool, default=False
        Whether to go on with a run that is there already. Without it such a run is an error, since
        finished work would be lost; with it, one whose `run` differs is.

    Examples
    --------
    >>> import tempfile
    >>> output = Path(tempfile.mkdtemp()) / "z.npy"
    >>> with Parts(output, {"seed": 0}) as parts:
    ...     parts.add(VectorBlock(["a"], [None], np.zeros((1, 2))), bad=[])
    >>> with Parts(output, {"seed": 0}, resume=True) as parts:
    ...     len(parts), [block.ids for block in parts]
    (1, [['a']])
    >>> Parts(output, {"seed": 1}, resume=True)
    Traceback (most recent call last):
    ...
    ValueError: ...z.npy.parts is of another run and cannot be resumed: seed was 0, now 1. Repeat that run, \
or remove the folder to start afresh
    >>> Parts(output, {"seed": 0}, resume=True).remove()

    Attributes
    ----------
    folder : Path
    transformer : Path
        A place in the folder for the fitted transformer, so that a resumed run need not fit again.
    """

    def __init__(
        self, output: str | os.PathLike[str], run: Mapping[str, Any], *, resume: bool = False
    ) -> None:
        output = Path(output)
        self.folder = output.with_name(output.name + ".parts")
        self.transformer = self.folder / "transformer.json"
        self._count = 0
        self._lock = FolderLock(self.folder)
        try:
            self._begin(json.loads(json.dumps(run, default=plain)), resume)
        except BaseException:
            self.close()
            raise

    def _begin(self, run: Mapping[str, Any], resume: bool) -> None:
        before = self._manifest()
        if before is None or not len(self):
            self._start(run)
        elif not resume:
            raise ValueError(
                f"{self.folder} holds {len(self)} finished blocks of an interrupted run: resume it "
                "(--resume), or remove the folder to start afresh"
            )
        elif before != run:
            changes = "; ".join(_differences(before, run))
            raise ValueError(
                f"{self.folder} is of another run and cannot be resumed: {changes}. Repeat that run, "
                "or remove the folder to start afresh"
            )

    def __enter__(self) -> Parts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        """Return the number of finished blocks."""
        while self._notes_file(self._count).exists():
            self._count += 1
        return self._count

    def __iter__(self) -> Iterator[VectorBlock]:
        """Yield the finished blocks; their vectors are mapped, not loaded."""
        for number in range(len(self)):
            notes = json.loads(self._notes_file(number).read_text(encoding="utf-8"))
            Z = np.load(self._vectors_file(number), mmap_mode="r", allow_pickle=False)
            yield VectorBlock(notes["ids"], notes["y"], Z)

    def add(self, block: VectorBlock, bad: list[dict[str, Any]]) -> None:
        """Keep one more block, with the list of graphs in it that could not be used."""
        number = len(self)
        with atomic_write(self._vectors_file(number), "wb") as file:
            np.save(file, block.Z, allow_pickle=False)
        notes = {"ids": list(block.ids), "y": list(block.y), "bad": bad}
        with atomic_write(self._notes_file(number)) as file:
            json.dump(notes, file, default=plain)

    def bad(self) -> list[dict[str, Any]]:
        """Return the graphs of all blocks that could not be used."""
        found: list[dict[str, Any]] = []
        for number in range(len(self)):
            found += json.loads(self._notes_file(number).read_text(encoding="utf-8"))["bad"]
        return found

    def close(self) -> None:
        """Keep what is there, and let other runs in."""
        self._lock.release()

    def remove(self) -> None:
        """Remove the folder; without its manifest, which goes first, it is nobody's run."""
        (self.folder / MANIFEST).unlink(missing_ok=True)
        self._clear()
        self._lock.remove_folder()

    def _manifest(self) -> Any:
        try:
            return json.loads((self.folder / MANIFEST).read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except ValueError as error:
            raise ValueError(f"{self.folder / MANIFEST} is damaged: {error}") from None

    def _start(self, run: Mapping[str, Any]) -> None:
        self._clear()  # the rest of a run that was interrupted while it removed its parts
        write_json(self.folder / MANIFEST, run)

    def _clear(self) -> None:
        """Remove all files but the lock; what is no part of a run stays, and is an error."""
        files = [file for file in self.folder.iterdir() if file.name != LOCK]
        for file in files:
            if not re.fullmatch(OURS, file.name):
                raise ValueError(
                    f"{self.folder} is in the way: it holds {file.name}, which is no part of a run"
                )
        for file in files:
            file.unlink()

    def _vectors_file(self, number: int) -> Path:
        return self.folder / f"{number:06d}.npy"

    def _notes_file(self, number: int) -> Path:
        return self.folder / f"{number:06d}.json"


def _differences(before: Any, now: Any, name: str = "") -> Iterator[str]:
    """Say which values of two nested dicts differ."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted({*before, *now}):
            yield from _differences(before.get(key), now.get(key), f"{name}.{key}" if name else key)
    elif before != now:
        yield f"{name} was {before!r}, now {now!r}"
