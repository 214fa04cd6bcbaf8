"""Finished blocks of a run, kept beside its output until the last one is there: what makes a run resumable.

OUTPUT.parts/ holds manifest.json (all that the blocks depend on), vectors.npy, to which each block adds its
rows, and for each finished block notes: its ids, labels, columns and bad graphs (000000.json, ...). These are
written whole or not at all once the rows are on the disk, and a block counts as finished once they are there;
so the folder is sound at every moment. The folder is locked as long as a run works in it (see lock.py). Disks
fail and people edit: notes carry checksums of themselves, of the rows and of the transformer, and a block
that does not fit them is computed again. At the end vectors.npy becomes the output, if that is a .npy, as it
is; other formats are written from it, since their tables of contents are made when all rows are known.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

from grnf._utils.files import atomic_write, write_json
from grnf._utils.locks import LOCK, FolderLock
from grnf.io.raw import Cell
from grnf.io.vectors.blocks import VectorBlock, plain
from grnf.io.vectors.growing import HEAD, GrowingArray, Place
from grnf.typing import FloatArray

__all__ = ["Parts", "differences"]

MANIFEST = "manifest.json"
OURS = r"manifest\.json|\d{6,}\.(npy|json)|(transformer|vectors)\.(json|npy)|\..*\.part"


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
    >>> import numpy as np
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
    run : dict
        As it was given, in JSON values.
    transformer : Path
        A place in the folder for the fitted transformer, so that a resumed run need not fit again.
    damaged : dict of int to str
        Blocks that were there but cannot be used, or are wanting between others, and why.
    """

    def __init__(
        self, output: str | os.PathLike[str], run: Mapping[str, Any], *, resume: bool = False
    ) -> None:
        self.folder = self.folder_of(output)
        self.transformer = self.folder / "transformer.json"
        self._rows = GrowingArray(self.folder / "vectors.npy")
        self._finished: dict[int, Place] = {}
        self.damaged: dict[int, str] = {}
        self.run: dict[str, Any] = json.loads(json.dumps(run, default=plain))
        self._lock = FolderLock(self.folder)
        try:
            self._begin(resume)
        except BaseException:
            self._lock.remove_folder()  # if there is nothing in it
            raise

    @staticmethod
    def folder_of(output: str | os.PathLike[str]) -> Path:
        """Return where the parts of an output are kept."""
        return Path(output).with_name(Path(output).name + ".parts")

    def _begin(self, resume: bool) -> None:
        before = self._manifest()
        there = [int(file.stem) for file in self.folder.glob("[0-9]*.json")]
        if before is None or not there:
            self._clear()  # the rest of a run that was interrupted while it removed its parts
            write_json(self.folder / MANIFEST, self.run)
        elif not resume:
            raise ValueError(
                f"{self.folder} holds {len(there)} finished blocks of an interrupted run: resume it "
                "(--resume), or remove the folder to start afresh"
            )
        elif before != self.run:
            changes = "; ".join(differences(before, self.run))
            raise ValueError(
                f"{self.folder} is of another run and cannot be resumed: {changes}. Repeat that run, "
                "or remove the folder to start afresh"
            )
        else:
            self._check(max(there) + 1)

    def _check(self, count: int) -> None:
        """Find out which of so many blocks are as they were written."""
        transformer = self._transformer_checksum()
        made_by = set()
        for number in range(count):
            try:
                notes = self._notes(number)
                if "rows" not in notes:
                    raise ValueError("an older version of grnf made it")
                place = Place(*notes["rows"])
                self._rows.check(place)
            except FileNotFoundError as error:
                self.damaged[number] = f"{Path(error.filename).name} is missing"
            except (OSError, ValueError) as error:
                self.damaged[number] = str(error)
            else:
                self._finished[number] = place
                made_by.add(notes["transformer"])
        if made_by - {transformer}:
            raise ValueError(
                f"{self.transformer} is damaged or missing, and the {len(self)} finished blocks are of no "
                "use without it: bring it back, or remove the folder to start afresh"
            )

    def __enter__(self) -> Parts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        """Return the number of finished blocks."""
        return len(self._finished)

    def __iter__(self) -> Iterator[VectorBlock]:
        """Yield the finished blocks; their vectors are mapped, not loaded."""
        self._lock.check()
        for number, place in sorted(self._finished.items()):
            notes = self._notes(number)
            Z, columns = self._rows.rows(place), notes["columns"]
            for name in notes["cells"]:
                columns[name] = [Cell(value) if isinstance(value, str) else value for value in columns[name]]
            yield VectorBlock(notes["ids"], notes["y"], Z, columns)

    def gaps(self) -> Iterator[tuple[int, int | None]]:
        """Yield where blocks are wanting: (first, end) for each row of them; the last has no end, None."""
        first = 0
        for number in sorted(self._finished):
            if number > first:
                yield first, number
            first = number + 1
        yield first, None

    def add(self, block: VectorBlock, bad: list[dict[str, Any]], number: int | None = None) -> None:
        """Keep a block, by default the next one, with the list of graphs in it that could not be used."""
        self._lock.check()
        number = max(self._finished, default=-1) + 1 if number is None else number
        self._check_fit(block.Z, number)
        self._notes_file(number).unlink(missing_ok=True)  # of a damaged block
        place = self._rows.write(self._first(number), block.Z)
        notes = {
            "ids": list(block.ids),
            "y": list(block.y),
            "columns": {name: list(values) for name, values in block.columns.items()},
            "cells": [name for name, own in block.columns.items() if any(isinstance(v, Cell) for v in own)],
            "bad": bad,
            "rows": list(place),
            "transformer": self._transformer_checksum(),
        }
        text = json.dumps(notes, default=plain)
        with atomic_write(self._notes_file(number)) as file:
            file.write(f'{{"sha256": "{_sha256(text)}", "notes": {text}}}\n')
        self._finished[number] = place

    def becoming_npy(self, output: Path) -> AbstractContextManager[int]:
        """Make the rows the output at the end of a with statement, which is given their number."""
        self._lock.check()
        return self._rows.becoming(output, [place for _, place in sorted(self._finished.items())])

    @property
    def has_vectors(self) -> bool:
        """Whether the rows are here: not if none were written, or they have become the output."""
        return self._rows.path.exists()

    def bad(self) -> list[dict[str, Any]]:
        """Return the graphs of all blocks that could not be used."""
        found: list[dict[str, Any]] = []
        for number in sorted(self._finished):
            found += self._notes(number)["bad"]
        return found

    def close(self) -> None:
        """Keep what is there, and let other runs in."""
        self._lock.release()

    def remove(self) -> None:
        """Remove the folder; without its manifest, which goes first, it is nobody's run."""
        self._lock.check()
        (self.folder / MANIFEST).unlink(missing_ok=True)
        self._clear()
        self._lock.remove_folder()

    def _manifest(self) -> Any:
        try:
            return json.loads((self.folder / MANIFEST).read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except ValueError as error:
            raise ValueError(
                f"{self.folder / MANIFEST} is damaged: {error}. Nobody knows which run the blocks are of: "
                "remove the folder to start afresh"
            ) from None

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

    def _notes(self, number: int) -> dict[str, Any]:
        """Read the notes of a block; a `ValueError` if they are not as they were written."""
        path = self._notes_file(number)
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            content = json.loads(path.read_text(encoding="utf-8"))
            notes: dict[str, Any] = content["notes"]
            if _sha256(json.dumps(notes)) == content["sha256"]:
                return notes
        raise ValueError(f"{path.name} is not as it was written")

    def _transformer_checksum(self) -> str | None:
        try:
            return hashlib.sha256(self.transformer.read_bytes()).hexdigest()
        except FileNotFoundError:
            return None

    def _first(self, number: int) -> int:
        """Return where the rows of a block begin: where those of the block before end."""
        return self._finished[number - 1].end if number else HEAD

    def _check_fit(self, Z: FloatArray, number: int) -> None:
        """Refuse rows that are of another kind than the others, or more than there is room for."""
        for place in islice(self._finished.values(), 1):
            if place.shape[1] != Z.shape[1] or place.dtype != Z.dtype.str:
                found = f"lengths {sorted({place.shape[1], Z.shape[1]})}, types {place.dtype}, {Z.dtype.str}"
                raise ValueError(
                    f"blocks of one embedding must have vectors of one length and type; got {found}"
                )
        after = self._finished.get(number + 1)
        if after is not None and after.first != self._first(number) + Z.nbytes:
            raise ValueError(
                f"block {number} has {len(Z)} rows now, other than before: the input or the library has "
                f"changed. Remove {self.folder} to start afresh"
            )

    def _notes_file(self, number: int) -> Path:
        return self.folder / f"{number:06d}.json"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def differences(before: Any, now: Any, name: str = "") -> Iterator[str]:
    """Say which values of two nested dicts differ.

    Examples
    --------
    >>> list(differences({"settings": {"seed": 0}}, {"settings": {"seed": 1}}))
    ['settings.seed was 0, now 1']
    """
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted({*before, *now}):
            yield from differences(before.get(key), now.get(key), f"{name}.{key}" if name else key)
    elif before != now:
        yield f"{name} was {before!r}, now {now!r}"
