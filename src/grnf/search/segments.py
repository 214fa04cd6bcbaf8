"""The rows of an index: segments that grow by merging, in memory or mapped from a folder.

    index.json          the head: format, version, settings, and for each file its bytes and SHA-256
    transformer.json    what makes vectors, if it can be saved (see `GRNF.save`)
    space-*.npy         mean, variances and axes of a whitened index
    segment-N/          rows that were added together, in the order of their tree:
        rows.npy        (n, M), single or double precision
        numbers.npy     (n,) when each was added
        sketch.npy      (n_blocks, d, 256)
        low.npy, high.npy                (d, n_blocks) boxes around the blocks
        center.npy, axes.npy             parameters of the sketches
        ids_text.npy, ids_ends.npy         names, and the end of each
        ids_hashes.npy, ids_positions.npy  sorted hashes of the names, and the rows that have them
        graphs.jsonl, graphs_ends.npy    the graphs, one per line, if they are kept
        columns_text.npy, columns_ends.npy    a JSON object with the columns of each graph, if they have any
    alive-N-K.npy       which rows of segment N were not removed

Arrays are .npy files without pickle, and are mapped, not read. Files of a segment never change. A change
writes new files first and then the head, under another name and renamed: a crash leaves the old index or the
new one. The head carries a checksum of itself. Any number of programs may read. One may write at a time and
holds the lock of the folder. A program that loaded the index before another one changed it must load it again
to write.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt

from grnf._utils.files import (
    remove_abandoned,
    rename,
    room_for,
    sync_folder,
    unfinished,
    write_array,
    write_json,
)
from grnf._utils.locks import FolderInUseError, FolderLock
from grnf._utils.rules import Int, OneOf, Real
from grnf._utils.running import n_workers, run
from grnf._utils.saved import (
    BOOL,
    COUNT,
    DAMAGE,
    NUMBER,
    OBJECT,
    TEXT,
    TEXTS,
    FileName,
    check_version,
    damaged,
    parse_json,
    validate,
)
from grnf.errors import GraphError
from grnf.io.files.node_link import graph_of_line, write_json_lines
from grnf.io.raw import RawGraph
from grnf.search.scan import Sketcher, View, arranged, longest, nearest, within
from grnf.search.whitening import SPACES, SpaceMap, Whitening, unchanged
from grnf.typing import FloatArray, IntArray

AXES = 16
"""Length of a sketch: 15 principal axes and the residual, 64 bytes per row."""

FORMAT, VERSION = "grnf-index", 4
HEAD = "index.json"
LARGE = ("rows.npy", "graphs.jsonl")
"""Files that are checked against their checksums only on request."""

ARRAYS = (
    "rows", "numbers", "sketch", "low", "high", "center", "axes", "ids_text", "ids_ends", "ids_hashes",
    "ids_positions", "columns_text", "columns_ends", "graphs_ends",
)  # fmt: skip
"""Arrays of a segment. The last three may be absent."""

WHITENING = ("mean", "variances", "axes")
"""Arrays of the map of a whitened index."""

SCHEMA = {
    "settings": {
        "space": OneOf(*SPACES), "shrinkage": Real(), "n_components": Int(1), "keep_graphs": BOOL,
    },
    "next_number": COUNT,
    "segments": [{"folder": FileName(), "alive": FileName(), "norm": NUMBER}],
    "sources": TEXTS, "molecules": [OneOf("standardize", "stereo")],
    "files": OBJECT,
}  # fmt: skip
"""The schema of the head."""

Neighbors = tuple[IntArray, FloatArray]
"""Positions, counted over all segments, and distances."""


def _joined(name: str, texts: Iterable[bytes]) -> dict[str, npt.NDArray[Any]]:
    """Return texts as arrays that can be mapped from disk: all of them, and the end of each."""
    texts = list(texts)
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return {f"{name}_text": np.frombuffer(b"".join(texts), dtype=np.uint8), f"{name}_ends": ends}


def _texts(text: Any, ends: IntArray, positions: IntArray) -> list[str]:
    """Return the texts at these positions."""
    whole, starts = memoryview(text), np.where(positions > 0, ends[positions - 1], 0)
    pairs = zip(starts.tolist(), ends[positions].tolist(), strict=True)
    return [str(whole[a:b], "utf-8", "surrogatepass") for a, b in pairs]


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


def _hashes(names: Iterable[str]) -> npt.NDArray[np.uint64]:
    digests = b"".join(hashlib.blake2b(_encoded(name), digest_size=8).digest() for name in names)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


class GraphLines:
    """Graphs in a file, one per line, which are read when they are used. `ends` are the ends of the lines."""

    def __init__(self, path: Path, ends: IntArray) -> None:
        self.path, self.ends = path, ends

    def __getitem__(self, position: int) -> RawGraph:
        start = int(self.ends[position - 1]) if position else 0
        with open(self.path, "rb") as file:
            file.seek(start)
            try:
                return graph_of_line(file.read(int(self.ends[position]) - start))
            except GraphError as error:
                cure = "The index is damaged: check it with grnf index --verify"
                raise GraphError(error.reason, where=f"{self.path}, line {position + 1}", cure=cure) from None


@dataclass(frozen=True, eq=False)
class Segment:
    """Rows that were added together, in the order of a tree, with all that a scan needs.

    The arrays are those of the files with their names. `numbers` tells when each row was added: of rows at
    equal distances the older one comes first. `alive` is 0 for removed rows. `norm` is the length of the
    longest row. `folder` has the files, except for `alive`.
    """

    rows: FloatArray
    numbers: IntArray
    sketch: npt.NDArray[np.float32]
    low: npt.NDArray[np.float32]
    high: npt.NDArray[np.float32]
    center: FloatArray
    axes: FloatArray
    ids_text: npt.NDArray[np.uint8]
    ids_ends: IntArray
    ids_hashes: npt.NDArray[np.uint64]
    ids_positions: IntArray
    alive: npt.NDArray[np.uint8]
    norm: float
    columns_text: npt.NDArray[np.uint8] | None = None
    columns_ends: IntArray | None = None
    graphs_ends: IntArray | None = None
    graphs: Any = None
    folder: str | None = None

    @classmethod
    def build(
        cls, rows: FloatArray, ids: Sequence[str], numbers: IntArray, graphs: Any, columns: Sequence[str]
    ) -> Segment:
        """Return the segment of rows in any order. `columns` are JSON, not stored if all are empty."""
        order, sketcher, sketch, low, high = arranged(rows, AXES)
        names = [ids[row] for row in order]
        hashes = _hashes(names)
        sorting = np.argsort(hashes, kind="stable")
        same = np.flatnonzero(np.diff(hashes[sorting]) == 0)
        for first, second in zip(sorting[same], sorting[same + 1], strict=True):
            if names[first] == names[second]:
                raise GraphError(
                    f"ids must be unique, got {names[first]!r} twice",
                    cure="Without ids, graphs are named by their row number",
                )
        arrays = {
            "rows": rows[order], "numbers": np.asarray(numbers, np.int64)[order], "sketch": sketch,
            "low": low, "high": high, "center": sketcher.center, "axes": sketcher.axes,
            "ids_hashes": hashes[sorting], "ids_positions": sorting, "alive": np.ones(len(rows), np.uint8),
            **_joined("ids", map(_encoded, names)),
        }  # fmt: skip
        if any(text != "{}" for text in columns):
            arrays |= _joined("columns", (columns[row].encode() for row in order))
        ordered = None if graphs is None else [graphs[row] for row in order]
        fixed: dict[str, Any] = {name: _fixed(array) for name, array in arrays.items()}
        return cls(**fixed, norm=longest(rows), graphs=ordered)

    @classmethod
    def merged(cls, segments: Sequence[Segment]) -> Segment:
        """Return one segment of all rows that are not removed."""
        alive = [(segment, np.flatnonzero(segment.alive)) for segment in segments]
        graphs = None
        if segments[0].graphs is not None:
            graphs = [segment.graphs[position] for segment, own in alive for position in own.tolist()]
        return cls.build(
            np.concatenate([segment.rows[own] for segment, own in alive]),
            [name for segment, own in alive for name in segment.names_at(own)],
            np.concatenate([segment.numbers[own] for segment, own in alive]),
            graphs,
            [text for segment, own in alive for text in segment.columns_at(own)],
        )

    def names_at(self, positions: IntArray) -> list[str]:
        """Return the names of the rows at these positions."""
        return _texts(self.ids_text, self.ids_ends, positions)

    def columns_at(self, positions: IntArray) -> list[str]:
        """Return the columns at these positions as JSON objects, which are empty if none are stored."""
        if self.columns_ends is None:
            return ["{}"] * len(positions)
        return _texts(self.columns_text, self.columns_ends, positions)

    def find(self, names: Sequence[str]) -> IntArray:
        """Return the positions of names, or -1 for those that are absent or removed."""
        hashes, found = _hashes(names), np.full(len(names), -1)
        first, last = (np.searchsorted(self.ids_hashes, hashes, side) for side in ("left", "right"))
        for row in np.flatnonzero(first < last).tolist():
            same = self.ids_positions[first[row] : last[row]]  # several names may have the same hash
            equal = (p for p, name in zip(same, self.names_at(same), strict=True) if name == names[row])
            found[row] = next(equal, -1)
        return np.where(self.alive[found] > 0, found, -1)

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def n_alive(self) -> int:
        """Number of rows that were not removed."""
        return int(np.count_nonzero(self.alive))

    def without(self, positions: IntArray) -> Segment:
        """Return the segment with some rows removed."""
        alive = self.alive.copy()
        alive[positions] = 0
        return replace(self, alive=_fixed(alive))

    @cached_property
    def _sketcher(self) -> Sketcher:
        return Sketcher(self.center, self.axes)

    def scan_arguments(self, row: FloatArray) -> tuple[FloatArray, npt.NDArray[np.float32], View]:
        """Return the first arguments of `scan.nearest` and `scan.within` for a query and this segment."""
        sketcher = self._sketcher
        slack = sketcher.slack(self.norm, float(np.linalg.norm(row)))
        arrays = self.rows, self.sketch, self.numbers, self.alive, self.low, self.high
        return row, _fixed(sketcher(row[np.newaxis])[0]), (*arrays, sketcher.factor, slack)


def _fixed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Make an array read-only, as mapped ones are, so that one compiled kernel serves both."""
    array.setflags(write=False)
    return array


class Segments:
    """Segments of which each is much larger than the next. A position counts rows over all of them."""

    def __init__(self, segments: Sequence[Segment] = (), next_number: int = 0) -> None:
        self.parts = list(segments)
        self.next_number = next_number

    def add(self, rows: FloatArray, names: Sequence[str], graphs: Any, columns: Sequence[str]) -> None:
        """Add rows under names that are not taken yet."""
        numbers = np.arange(self.next_number, self.next_number + len(rows))
        self.parts.append(Segment.build(rows, names, numbers, graphs, columns))
        self.next_number += len(rows)
        while len(self.parts) > 1 and len(self.parts[-2]) <= 2 * len(self.parts[-1]):
            self.parts[-2:] = [Segment.merged(self.parts[-2:])]

    def remove(self, names: list[str]) -> None:
        """Remove rows by their names. None if one name is absent."""
        positions = self.positions(names)
        for number, (segment, offset) in enumerate(self._offsets()):
            own = positions[(positions >= offset) & (positions < offset + len(segment))] - offset
            if len(own):
                self.parts[number] = segment.without(own)

    def compact(self) -> None:
        """Merge all segments into one without the removed rows."""
        self.parts = [Segment.merged(self.parts)] if len(self) else []

    def __len__(self) -> int:
        return sum(segment.n_alive for segment in self.parts)

    def _offsets(self) -> Iterator[tuple[Segment, int]]:
        """Yield each segment with the position of its first row."""
        offset = 0
        for segment in self.parts:
            yield segment, offset
            offset += len(segment)

    def names(self) -> list[str]:
        """Return all names in the order in which they were added."""
        numbered: list[tuple[int, str]] = []
        for segment in self.parts:
            own = np.flatnonzero(segment.alive)
            numbered += zip(segment.numbers[own].tolist(), segment.names_at(own), strict=True)
        return [name for _, name in sorted(numbered)]

    def find(self, names: Sequence[str]) -> IntArray:
        """Return the positions of names, or -1 for those that are absent."""
        positions = np.full(len(names), -1)
        for segment, offset in self._offsets():
            own = segment.find(names)
            positions[own >= 0] = own[own >= 0] + offset
        return positions

    def positions(self, names: Sequence[str]) -> IntArray:
        """Return the positions of names, none of which may be absent."""
        positions = self.find(names)
        if (positions < 0).any():
            raise GraphError(f"no graph in the index is called {names[int(np.argmin(positions))]!r}")
        return positions

    def at(self, position: int) -> tuple[Segment, int]:
        """Return the segment of a position, and the position in it."""
        return next((s, position - offset) for s, offset in self._offsets() if position < offset + len(s))

    def names_and_numbers(self, positions: IntArray) -> tuple[list[str], IntArray]:
        """Return the names of the rows at these positions, and when they were added."""
        names, numbers = np.empty(len(positions), dtype=object), np.empty(len(positions), np.int64)
        for segment, offset in self._offsets():
            own = np.flatnonzero((positions >= offset) & (positions < offset + len(segment)))
            local = positions[own] - offset
            names[own], numbers[own] = segment.names_at(local), segment.numbers[local]
        return names.tolist(), numbers

    def row(self, position: int) -> FloatArray:
        """Return the row at a position."""
        segment, own = self.at(position)
        return np.asarray(segment.rows[own])

    def graph(self, position: int) -> RawGraph:
        """Return the graph at a position, if graphs are kept."""
        segment, own = self.at(position)
        if segment.graphs is None:
            raise GraphError("this index keeps no graphs", cure="Build it with keep_graphs=True")
        graph: RawGraph = segment.graphs[own]
        return graph

    def nearest(self, rows: FloatArray, n_neighbors: int, n_jobs: int | None) -> list[Neighbors]:
        """Return the nearest rows of each query, nearest first, and of equal ones the older first."""
        scan: Any = nearest  # compiled: mypy sees it without its arguments

        def search(row: FloatArray) -> tuple[Any, ...]:
            heap = np.full(n_neighbors, np.inf), np.empty(n_neighbors, int), np.empty(n_neighbors, int)
            for segment, offset in self._offsets():
                scan(*segment.scan_arguments(row), offset, heap)
            return heap

        return _each(rows, search, n_jobs)

    def within(self, rows: FloatArray, radius: float, n_jobs: int | None) -> list[Neighbors]:
        """Return all rows up to a distance of each query, in the same order."""
        scan: Any = within

        def search(row: FloatArray) -> tuple[Any, ...]:
            hits = []
            for segment, offset in self._offsets():
                positions, squares = scan(*segment.scan_arguments(row), radius * radius)
                hits.append((squares, segment.numbers[positions], positions + offset))
            return tuple(np.concatenate(arrays) for arrays in zip(*hits, strict=True))

        return _each(rows, search, n_jobs)


def _each(
    rows: FloatArray, search: Callable[[FloatArray], tuple[Any, ...]], n_jobs: int | None
) -> list[Neighbors]:
    """Search for each query on several threads, and sort the squares, numbers and positions of its hits."""
    double = _fixed(np.array(rows, dtype=np.float64, order="C"))
    results: list[Any] = [None] * len(double)

    def fill(query: int) -> None:
        squares, numbers, positions = search(double[query])
        order = np.lexsort((numbers, squares))[: np.count_nonzero(squares < np.inf)]
        results[query] = positions[order], np.sqrt(squares[order])

    run([partial(fill, query) for query in range(len(double))], n_workers(n_jobs))
    return results


# ---- on disk


@dataclass(frozen=True, eq=False)
class IndexState:
    """The content of an index. `checksum` is that of the head on disk from which it was read."""

    settings: dict[str, Any]
    space_map: SpaceMap
    segments: Segments
    transformer: Any
    checksum: str = ""
    sources: tuple[str, ...] = ()
    """Checksums of the inputs that `grnf index` added."""
    molecules: tuple[str, ...] = ()
    """Options with which `grnf index` read molecules."""


def save_index(state: IndexState, path: Path, source: Path | None) -> IndexState:
    """Write an index to a new folder, or its changes to its folder `source`. Return it mapped."""
    if path.exists() and (source is None or path.resolve() != source):
        raise FileExistsError(f"{path} exists already: remove it, or choose another name")
    with room_for(path, path.absolute().parent):
        if path.exists():
            with FolderLock(path):
                head = _read_head(path)
                if _checksum(head) != state.checksum:
                    raise FolderInUseError(
                        f"{path} was changed by another program after it was loaded here: load it again, and "
                        "repeat the changes"
                    )
                _remove_unnamed(path, head["files"])  # of a run that was killed
                _remove_unnamed(path, _write_changes(state, path, head["files"]))
                return load_index(path)
        with unfinished(path, folder=True) as aside:
            for name in WHITENING if isinstance(state.space_map, Whitening) else ():
                _write_array(aside / f"space-{name}.npy", getattr(state.space_map, name))
            if hasattr(state.transformer, "to_json"):
                with _flushed(aside / "transformer.json") as file:
                    file.write(state.transformer.to_json().encode())
            parts = [replace(segment, folder=None) for segment in state.segments.parts]
            _write_changes(replace(state, segments=Segments(parts, state.segments.next_number)), aside, {})
            try:
                rename(aside, path)
            except OSError:
                if not path.exists():
                    raise
                raise FileExistsError(
                    f"{path} was made by another program meanwhile: add to it, or choose another name"
                ) from None
    return load_index(path)


def _remove_unnamed(path: Path, named: Mapping[str, Any]) -> None:
    """Remove the files that the head does not name."""
    remove_abandoned(path / HEAD)
    for file in [*path.glob("alive-*.npy"), *path.glob("segment-*/*")]:
        if file.relative_to(path).as_posix() not in named:
            file.unlink()
    for folder in path.glob("segment-*"):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def _write_changes(state: IndexState, path: Path, known: Mapping[str, Any]) -> dict[str, Any]:
    """Write new segments, marks of removed rows and the head. Return the files that it names."""
    written = [*path.glob("space-*.npy"), *path.glob("transformer.json")]
    last = max((int(folder.name.split("-")[1]) for folder in path.glob("segment-*")), default=0)
    segments = []
    for segment in state.segments.parts:
        name = segment.folder
        if name is None:
            last += 1
            name = f"segment-{last}"
            _write_segment(segment, path / name)
        digest = hashlib.sha256(segment.alive.tobytes()).hexdigest()[:16]  # a name for this state alone
        alive = path / f"alive-{name.split('-')[1]}-{digest}.npy"
        if not alive.exists():
            _write_array(alive, segment.alive)
        written += [*sorted((path / name).iterdir()), alive]
        segments.append({"folder": name, "alive": alive.name, "norm": segment.norm})
    titles = {file.relative_to(path).as_posix(): file for file in written}
    files = {title: known.get(title) or _described(file) for title, file in titles.items()}
    head = {
        "format": FORMAT,
        "version": VERSION,
        "settings": state.settings,
        "next_number": state.segments.next_number,
        "segments": segments,
        "sources": list(state.sources),
        "molecules": list(state.molecules),
        "files": files,
    }
    sync_folder(path)
    write_json(path / HEAD, {**head, "checksum": _checksum(head)})
    return files


def _write_segment(segment: Segment, folder: Path) -> None:
    folder.mkdir()
    if segment.graphs is not None:
        ends = []
        with _flushed(folder / "graphs.jsonl") as file:
            for position in range(len(segment)):
                write_json_lines(file, [segment.graphs[position]])
                ends.append(file.tell())
        segment = replace(segment, graphs_ends=np.array(ends, dtype=np.int64))
    for name in ARRAYS:
        if (array := getattr(segment, name)) is not None:
            _write_array(folder / f"{name}.npy", array)
    sync_folder(folder)


def _write_array(path: Path, array: npt.NDArray[Any]) -> None:
    with _flushed(path) as file:
        write_array(file, array)


@contextmanager
def _flushed(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file, and wait at the end until it is on the disk."""
    with open(path, "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def load_index(path: Path, verify: bool = False) -> IndexState:
    """Read the head of an index and map its arrays. With `verify`, check all checksums."""
    while True:
        head = _read_head(path)
        try:
            return _load(path, head, verify)
        except GraphError:
            if _checksum(_read_head(path)) == _checksum(head):
                raise
            # another program changed the index while it was read: files of the old head may be gone


def _load(path: Path, head: dict[str, Any], verify: bool) -> IndexState:
    for name, about in head["files"].items():
        _check_file(path, name, about, whole=verify or not name.endswith(LARGE))
    settings, space_map = head["settings"], unchanged
    try:
        if settings["space"] == "whitened":
            fitted = {name: _mapped(path / f"space-{name}.npy") for name in WHITENING}
            space_map = Whitening(**fitted, shrinkage=float(settings["shrinkage"]))
        segments = Segments([_read_segment(path, about) for about in head["segments"]], head["next_number"])
    except (KeyError, TypeError, ValueError, FileNotFoundError) as error:
        raise damaged(f"{error!r}", path) from None
    width = settings["n_components"]
    for part in segments.parts:
        if part.rows.shape[1:] != (width,):
            reason = f"settings.n_components must be the width of the rows, {part.rows.shape[1]}, got {width}"
            raise damaged(reason, path / HEAD)
    transformer, file = None, path / "transformer.json"
    if file.exists():
        from grnf.estimators import saved_transformer

        transformer = saved_transformer(file.read_text(encoding="utf-8"), str(file))
    inputs = tuple(head["sources"]), tuple(head["molecules"])
    return IndexState(settings, space_map, segments, transformer, _checksum(head), *inputs)


def _read_head(path: Path) -> dict[str, Any]:
    cure = "Build an index with grnf index or GraphIndex.save"
    if not (path / HEAD).is_file():
        raise GraphError(f"not an index: there is no file {HEAD}", where=str(path), cure=cure)
    head = parse_json((path / HEAD).read_bytes(), path / HEAD)
    head = check_version(head, FORMAT, VERSION, "the head of an index", path / HEAD)
    if head.pop("checksum", None) != _checksum(head):
        raise GraphError("the file is damaged: its checksum does not match", where=str(path / HEAD))
    validate(head, SCHEMA, path / HEAD)
    if not head["segments"]:
        raise damaged("segments must have an entry, got []", path / HEAD)
    for name, about in head["files"].items():
        validate(about, {"bytes": COUNT, "sha256": TEXT}, path / HEAD, f"files.{name}")
    return head


def _check_file(path: Path, name: str, about: Mapping[str, Any], whole: bool) -> None:
    file, damage = path / name, ""
    if not file.resolve().is_relative_to(path.resolve()) or not file.is_file():
        damage = f"{name} is missing"
    elif file.stat().st_size != about["bytes"]:
        damage = f"{name} is truncated (expected {about['bytes']} bytes, found {file.stat().st_size})"
    elif whole and _described(file)["sha256"] != about["sha256"]:
        damage = f"the checksum of {name} does not match"
    if damage:
        raise GraphError(f"the index is damaged: {damage}", where=str(path))


def _read_segment(path: Path, about: Mapping[str, Any]) -> Segment:
    folder = path / about["folder"]
    files = {name: folder / f"{name}.npy" for name in ARRAYS}
    arrays = {name: _mapped(file) for name, file in files.items() if file.exists()}
    graphs = None
    if "graphs_ends" in arrays:
        graphs = GraphLines(folder / "graphs.jsonl", arrays["graphs_ends"])
    alive, norm = _mapped(path / about["alive"]), float(about["norm"])
    return Segment(**arrays, alive=alive, norm=norm, graphs=graphs, folder=about["folder"])


def _mapped(file: Path) -> npt.NDArray[Any]:
    """Map an array. One without entries cannot be mapped and is read."""
    try:
        with open(file, "rb") as stream:
            np.lib.format.read_magic(stream)
            shape = np.lib.format.read_array_header_1_0(stream)[0]
        mode: Literal["r"] | None = None if 0 in shape else "r"
        return _fixed(np.asarray(np.load(file, mode, allow_pickle=False)))
    except DAMAGE:
        raise damaged("the array cannot be read", file) from None


def _described(file: Path) -> dict[str, Any]:
    with open(file, "rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"bytes": file.stat().st_size, "sha256": digest}


def _checksum(head: Mapping[str, Any]) -> str:
    text = json.dumps({key: value for key, value in head.items() if key != "checksum"}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
