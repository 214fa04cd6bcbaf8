"""Shards of vectors, written to one file or to a folder so that an interrupted run can be resumed.

A folder keeps each shard as a file of its own, shard-000000.parquet, and gets _manifest.json at the end. In a
single file the shards follow each other, and OUTPUT.json has the settings. As long as a run is unfinished,
OUTPUT.parts/ (in a folder _work/) holds

    lock           who writes, see grnf._utils.locks
    plan.json      everything that the shards depend on, with the fitted transformer
    000000.json    a record for each finished shard: rows, bytes, checksum, bad graphs
    vectors        the shards of a single file. It becomes the output

A shard is finished once its record is there, which is written after the shard is on the disk, all or nothing.
Plan and records carry checksums. A shard or a record that was changed is computed again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from grnf._utils.files import (
    atomic_write,
    check_free,
    rename,
    room_for,
    sealed,
    sync,
    sync_folder,
    unsealed,
    write_json,
)
from grnf._utils.locks import LOCK, FolderInUseError, FolderLock
from grnf.errors import GraphError, invalid
from grnf.io.raw import Cell
from grnf.io.vectors.blocks import Layout, VectorBlock, plain
from grnf.io.vectors.formats import FORMATS, parquet_vectors, vector_format

FORMAT, VERSION = "grnf-shards", 1
MANIFEST = "_manifest.json"
PLAN = "plan.json"
CHUNK = 2**22
OURS = re.compile(r"plan\.json|vectors|\d{6,}\.json|\..*\.part")
SHARDS = ("shard-", ".shard-", f".{MANIFEST}")


def work_folder(output: str | os.PathLike[str], *, single: bool) -> Path:
    """Return where the unfinished work of an output is kept."""
    output = Path(output)
    return output.with_name(output.name + ".parts") if single else output / "_work"


def is_shard_folder(path: str | os.PathLike[str]) -> bool:
    """Whether this is a folder of shards, finished or not."""
    return (Path(path) / MANIFEST).is_file() or (work_folder(path, single=False) / PLAN).is_file()


def side_file(path: str | os.PathLike[str]) -> Path:
    """Return the file of the settings of an embedding: its name with .json added, or the manifest."""
    path = Path(path)
    return path / MANIFEST if is_shard_folder(path) else path.with_name(path.name + ".json")


def shard_file(number: int) -> str:
    """Return the name of the file of a shard in a folder."""
    return f"shard-{number:06d}.parquet"


def checksum(path: Path, start: int = 0, size: int | None = None) -> tuple[int, str]:
    """Return length and SHA-256 of a part of a file."""
    digest = hashlib.sha256()
    done = 0
    with path.open("rb") as file:
        file.seek(start)
        while data := file.read(CHUNK if size is None else min(CHUNK, size - done)):
            digest.update(data)
            done += len(data)
    return done, digest.hexdigest()


def write_vectors(
    path: str | os.PathLike[str], blocks: Iterable[VectorBlock], *, format: str | None = None
) -> int:
    """Write an embedding. The file appears only when it is complete. Return the number of rows.

    An existing file is replaced. One block at a time is held in memory. The format is by default taken from
    the suffix. Parquet has the columns graph_id, y (if there are any), those of the blocks, and embedding, a
    list of fixed length, and one row group per block. npz has the arrays embedding, graph_id, y and those of
    the blocks. CSV has the columns graph_id, y, those of the blocks, grnf0, grnf1, and so on. npy has the
    vectors only. Columns of numbers are int64 or float64 in Parquet and npz, all others are text. Missing
    values are null in Parquet, empty in CSV, NaN or empty in npz.
    """
    with ShardWriter(path, single=True, format=format) as writer:
        writer.begin({}, dict, force=True)
        try:
            for number, block in enumerate(blocks):
                writer.write(number, block, bad=[])
            writer.finish(None)
        except BaseException:
            writer.records.clear()  # so that `close` removes them
            raise
    return sum(record["rows"] for record in writer.records.values())


class ShardWriter:
    """Writes the shards of one run to a vector file (`single`) or a folder.

    No other run writes to the same output until `close`.

    Attributes
    ----------
    work : Path
        The folder of unfinished work.
    records : dict of int to dict
        The finished shards.
    damaged : dict of int to str
        Shards that were finished but cannot be used, and why.
    settings : dict or None
        The settings of an output of this very run that is finished already. There is nothing left to do.
    """

    def __init__(self, output: str | os.PathLike[str], *, single: bool, format: str | None = None) -> None:
        self.output, self.single = Path(output).absolute(), single
        self.format = FORMATS[(format or vector_format(output)) if single else "parquet"]
        self.work = work_folder(self.output, single=single)
        self.file = self.work / "vectors"
        self.records: dict[int, dict[str, Any]] = {}
        self.damaged: dict[int, str] = {}
        self.settings: dict[str, Any] | None = None
        self._begun = False
        if not self.output.parent.is_dir():
            raise GraphError(f"the folder {self.output.parent} does not exist")
        self._made = not single and not self.output.exists()
        if not single:
            self._make_folder()
        self._lock = FolderLock(self.work)

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def begin(
        self,
        run: Mapping[str, Any],
        plan: Callable[[], Mapping[str, Any]],
        *,
        resume: bool = False,
        force: bool = False,
    ) -> dict[str, Any]:
        """Start a run, or resume the one that was interrupted. Return its plan.

        `run` is everything that the shards depend on, as JSON values. A run is resumed only if these are the
        same, except that `on_error` may change as long as no graph was bad. `plan` returns what else a new
        run has to remember. With `resume` an unfinished run continues, or a finished one is accepted. With
        `force` an output, or a run that is not resumed, is replaced.
        """
        run = json.loads(json.dumps(run, default=plain))
        before = unsealed(self.work / PLAN)
        if before is None and (self.work / PLAN).exists() and not force:
            raise FileExistsError(
                f"{self.work / PLAN} is damaged, and the finished shards are of no use without it: start "
                "over with --force"
            )
        finished = self._finished(run) if resume else None
        numbers = sorted(int(file.stem) for file in self.work.glob("[0-9]*.json"))
        moved = self.single and not self.file.exists()  # the run was killed after it had made the output
        if before is not None and numbers and not (finished and moved):
            if not resume and not force:
                raise FileExistsError(
                    f"{self.work} holds {len(numbers)} finished shards of an interrupted run: resume it "
                    "(--resume), or start over (--force)"
                )
            if resume:
                self._load(numbers)
                changes = _changes(before["run"], run, self.records.values())
                if not changes:
                    return self._remembered({**before, "run": run})
                if not force:
                    raise FileExistsError(
                        f"{self.work} is of another run and cannot be resumed: {changes}. Repeat that run, "
                        "or start over with --force"
                    )
                self.records, self.damaged = {}, {}
        if not finished:
            self._check_output(run, resume, force, known=before is not None)
        elif self.single:
            self._begun, self.settings = True, finished
            return {}
        self._clear()
        self._begun = True
        if finished:  # a folder, whose shards count as finished
            made = self._remembered({"run": run, **plan()})
            for record in finished["shards"]:
                self.note(record)
            self._load([record["shard"] for record in finished["shards"]])
            return made
        if not self.single:
            (self.output / MANIFEST).unlink(missing_ok=True)
            self._remove_shards()
        return self._remembered({"run": run, **plan()})

    def _remembered(self, plan: dict[str, Any]) -> dict[str, Any]:
        with atomic_write(self.work / PLAN) as file:
            file.write(sealed(plan))
        return plan

    def _finished(self, run: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the settings of an output that is a finished one of this very run, or None."""
        made = self._read_settings()
        if made is None or "run" not in made:
            return None
        ignored = ["block_size"] if self.single else []
        bad = made["bad"] if self.single else [bad for record in made["shards"] for bad in record["bad"]]
        return None if _changes(made["run"], run, [{"bad": bad}], ignored) else made

    def _read_settings(self) -> dict[str, Any] | None:
        path = side_file(self.output) if self.single else self.output / MANIFEST
        with suppress(FileNotFoundError, ValueError):
            made = json.loads(path.read_text(encoding="utf-8"))
            return made if isinstance(made, dict) and self.output.exists() else None
        return None

    def _check_output(self, run: Mapping[str, Any], resume: bool, force: bool, known: bool) -> None:
        """Refuse to replace vectors or settings without `force`. Shards of a `known` run do not count."""
        made = self._read_settings()
        if resume and not force and (made is not None or (self.single and self.output.exists())):
            changes = "; ".join(differences((made or {}).get("run", {}), run))
            raise FileExistsError(
                f"{self.output} is of another run and cannot be resumed: {changes}. Write over it with "
                "--force, or choose another name"
            )
        for path in (self.output, side_file(self.output)) if self.single else (self.output / MANIFEST,):
            check_free(path, force)
        shards = [] if self.single else list(self.output.glob("shard-*"))
        if shards and not known and not force:
            raise FileExistsError(
                f"{self.output} holds shards of an unknown run: remove them, or write over them with --force"
            )

    def _load(self, numbers: list[int]) -> None:
        """Find out which shards are as they were written."""
        for number in range(max(numbers) + 1) if self.single else numbers:
            path = self.work / f"{number:06d}.json"
            record = unsealed(path)
            if record is None:
                how = "is not as it was written" if path.exists() else "is missing"
                self.damaged[number] = f"{path.name} {how}"
                continue
            file = self.file if self.single else self.output / record["file"]
            part = (record["at"], record["bytes"]) if self.single else (0, None)
            if file.exists() and checksum(file, *part) == (record["bytes"], record["sha256"]):
                record.pop("notes", None)
                self.records[number] = record
            else:
                self.damaged[number] = f"its part of {file.name} is not as it was written"

    def gaps(self) -> Iterator[tuple[int, int | None]]:
        """Yield ranges of missing shards of a single file as (first, end). The end of the last is None."""
        first = 0
        for number in sorted(self.records):
            if number > first:
                yield first, number
            first = number + 1
        yield first, None

    def write(self, number: int, block: VectorBlock, bad: list[dict[str, Any]]) -> None:
        """Add a shard to a single file, and a record with the list of graphs that could not be used."""
        self.check()
        (self.work / f"{number:06d}.json").unlink(missing_ok=True)  # of a damaged shard
        layout = Layout.of(block)
        start = self.format.start
        if number:
            before = self.records[number - 1]
            start, known = before["at"] + before["bytes"], Layout.from_config(before["layout"])
            layout = known | layout
            if self.format is FORMATS["csv"] and layout.kinds.keys() != known.kinds.keys():  # see the header
                names = [name for name in known.kinds if name not in ("graph_id", "y")]
                raise invalid("blocks", f"all have the columns {names}", str(list(block.columns)))
        is_last = max(self.records, default=-1) < number
        with room_for(self.file, self.work, block.Z.nbytes):
            file = self.file if is_last else self.work / ".shard.part"
            with file.open("ab") as target:
                target.truncate(start)
            self.format.append(file, [block], layout)
            size, sha256 = checksum(file, start)
            if not is_last:
                self._replace(number, file, start, size)
            sync(self.file)
        record = {"shard": number, "at": start, "rows": len(block.Z), "bytes": size, "sha256": sha256}
        record |= {"layout": layout.to_config(), "bad": bad}
        self.note({**record, "notes": _notes(block)} if self.format.needs_columns else record)
        self.records[number] = record

    def _replace(self, number: int, file: Path, start: int, size: int) -> None:
        """Copy a shard from a file of its own to its place between others."""
        after = self.records.get(number + 1)
        if after is not None and after["at"] != start + size:
            raise GraphError(
                f"shard {number} has another size than before, so the input or the library has changed",
                cure="Start over with --force",
            )
        with file.open("rb") as source, self.file.open("r+b") as target:
            source.seek(start)
            target.seek(start)
            target.write(source.read())
        file.unlink()

    def note(self, record: Mapping[str, Any]) -> None:
        """Write down that a shard is finished."""
        with atomic_write(self.work / f"{record['shard']:06d}.json") as file:
            file.write(sealed(json.loads(json.dumps(record, default=plain))))

    def __iter__(self) -> Iterator[VectorBlock]:
        """Yield ids, labels and columns of the shards of a single file, for Parquet the vectors too."""
        for number in sorted(self.records):
            record = unsealed(self.work / f"{number:06d}.json")
            notes = record["notes"]
            for name in notes["cells"]:
                own = notes if name == "y" else notes["columns"]
                own[name] = [Cell(each) if isinstance(each, str) else each for each in own[name]]
            if self.format is FORMATS["parquet"]:
                Z = parquet_vectors(self.file, record["at"] + record["bytes"])
            else:
                Z = np.broadcast_to(np.float32(0), (record["rows"], 1))
            yield VectorBlock(notes["ids"], notes["y"], Z, notes["columns"])

    def bad(self) -> list[dict[str, Any]]:
        """Return the graphs of all shards that could not be used."""
        return [graph for _, record in sorted(self.records.items()) for graph in record["bad"]]

    def finish(self, settings: Mapping[str, Any] | None, *, keep_plan: bool = False) -> None:
        """Complete the output and write its settings. Without `keep_plan`, remove the unfinished work."""
        self.check()
        if self.single:
            self._complete(settings)
        else:
            write_json(self.output / MANIFEST, settings)
        if keep_plan:
            return
        self._remove_shards(".shard-*.part")  # of processes that were killed
        self._remove_work()

    def _remove_work(self) -> None:
        self._clear()
        self._lock.remove_folder()

    def _complete(self, settings: Mapping[str, Any] | None) -> None:
        records = [record for _, record in sorted(self.records.items())]
        if not records:
            raise invalid("blocks", "have at least one block of vectors", "none")
        layouts = [Layout.from_config(record["layout"]) for record in records]
        layout, file = layouts[-1], self.file
        ends = [record["at"] + record["bytes"] for record in records]
        with room_for(self.output, self.output.parent, ends[-1]):
            os.truncate(file, ends[-1])
            if self.format is FORMATS["parquet"] and any(own.columns != layout.columns for own in layouts):
                file, ends = self._rewritten(layout)
            self.format.finish(file, ends, self, layout)
            sync(file)
            if settings is not None:
                write_json(side_file(self.output), settings)
            rename(file, self.output)

    def _rewritten(self, layout: Layout) -> tuple[Path, list[int]]:
        """Write all shards again: a late value has changed the type of a column."""
        file = self.work / ".rewritten.part"
        file.unlink(missing_ok=True)
        ends = []
        for block in self:
            self.format.append(file, [block], layout)
            ends.append(file.stat().st_size)
        return file, ends

    def check(self) -> None:
        """Raise an error if somebody has removed the work folder meanwhile."""
        self._lock.check()

    def close(self) -> None:
        """Let other runs start. Finished shards are kept, and nothing else stays next to a single file."""
        if self.single and self._begun and not self.records:
            with suppress(FolderInUseError):
                self.check()
                self._clear()
        self._lock.remove_folder()  # if there is nothing in it
        if self._made:
            with suppress(OSError):
                self.work.rmdir()
            with suppress(OSError):
                self.output.rmdir()

    def _remove_shards(self, names: str = "*shard-*") -> None:
        for file in self.output.glob(names) if not self.single else ():
            file.unlink(missing_ok=True)

    def _clear(self) -> None:
        """Remove everything but the lock. A file that is not part of a run stays, and is an error."""
        files = [file for file in self.work.iterdir() if file.name != LOCK]
        for file in files:
            if not OURS.fullmatch(file.name):
                raise GraphError(
                    f"{self.work} is in the way: it holds {file.name}, which is not part of a run"
                )
        for file in sorted(files, key=lambda file: file.name != PLAN):  # without the plan the rest is void
            file.unlink(missing_ok=True)

    def _make_folder(self) -> None:
        if self.output.exists() and not self.output.is_dir():
            raise FileExistsError(f"{self.output} is a file. Shards go to a folder")
        for file in self.output.iterdir() if self.output.is_dir() else ():
            if not file.name.startswith((self.work.name, MANIFEST, *SHARDS)):
                raise FileExistsError(
                    f"{self.output} holds {file.name}, which is not a shard: choose another folder"
                )
        with suppress(FileExistsError):
            self.output.mkdir()
        sync_folder(self.output.absolute().parent)


def _notes(block: VectorBlock) -> dict[str, Any]:
    labeled = {"y": block.y, **block.columns}
    cells = [name for name, own in labeled.items() if any(isinstance(value, Cell) for value in own)]
    columns = {name: list(values) for name, values in block.columns.items()}
    return {"ids": list(block.ids), "y": list(block.y), "columns": columns, "cells": cells}


def _changes(
    before: Mapping[str, Any], now: Mapping[str, Any], records: Any, ignored: list[str] | None = None
) -> str:
    """Return how a run differs from an earlier one. What is done with bad graphs matters if there are any."""
    skipped = {*(ignored or []), *([] if any(record["bad"] for record in records) else ["on_error"])}
    first, second = ({key: run[key] for key in run if key not in skipped} for run in (before, now))
    return "; ".join(differences(first, second))


def differences(before: Any, now: Any, name: str = "") -> Iterator[str]:
    """Yield the values in which two nested dicts differ."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted({*before, *now}):
            yield from differences(before.get(key), now.get(key), f"{name}.{key}" if name else key)
    elif before != now:
        yield f"{name} was {before!r}, now {now!r}"
