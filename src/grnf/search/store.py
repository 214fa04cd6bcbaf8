"""An index on disk: a folder of arrays and a head that describes them.

    index.json          the head: format, version, settings, and for each file its bytes and SHA-256
    transformer.json    what makes vectors, if it can be saved (see `GRNF.save`)
    space-*.npy         mean, variances and axes of a whitened index
    segment-N/          rows that were added together, in the order of their tree:
        rows.npy        (n, M), single or double precision
        numbers.npy     (n,) when each was added
        sketch.npy      (n_blocks, d, 256); low.npy, high.npy (d, n_blocks): boxes around the blocks
        center.npy, axes.npy             what sketches are made by
        ids_text.npy, ids_ends.npy, ids_hashes.npy, ids_places.npy      names (see `Ids`)
        graphs.jsonl, graphs_ends.npy    the graphs, one per line, if they are kept
    alive-N-K.npy       which rows of segment N were not removed

Arrays are .npy files without pickle, and are mapped, not read. Files of a segment never change. A change
writes new files first and then the head, aside and renamed: a crash leaves the old index or the new one. The
head carries a checksum of itself. Any number of programs may read. One may write at a time and holds the lock
of the folder. A program that opened the index before another one changed it must open it again to write.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from grnf._utils.files import room_for, write_array, write_json
from grnf._utils.locks import FolderInUseError, FolderLock
from grnf.errors import GraphError
from grnf.io.files.node_link import graph_of_line, write_json_lines
from grnf.io.raw import RawGraph
from grnf.search.segments import Ids, Segment, Segments
from grnf.search.sketch import Sketcher
from grnf.search.whitening import SpaceMap, Whitening, unchanged
from grnf.typing import IntArray

__all__ = ["IndexState", "load_index", "save_index"]

FORMAT, VERSION = "grnf-index", 2
HEAD = "index.json"
LARGE = ("rows.npy", "graphs.jsonl")
"""Files that are checked against their checksums only on request."""

OWN = ("rows", "numbers", "sketch", "low", "high")
IDS = ("text", "ends", "hashes", "places")
SKETCHER = ("center", "axes")
WHITENING = ("mean", "variances", "axes")
"""Arrays of a segment, of its names, of its sketches, and of the map of a whitened index."""


@dataclass(frozen=True, eq=False)
class IndexState:
    """The content of an index; `checksum` is that of the head on disk from which it was read."""

    settings: dict[str, Any]
    space_map: SpaceMap
    segments: Segments
    transformer: Any
    checksum: str = ""


class GraphLines:
    """Graphs in a file, one per line, which are read when they are used; `ends` are the ends of the lines."""

    def __init__(self, path: Path, ends: IntArray) -> None:
        self.path, self.ends = path, ends

    def __getitem__(self, place: int) -> RawGraph:
        start = int(self.ends[place - 1]) if place else 0
        with open(self.path, "rb") as file:
            file.seek(start)
            return graph_of_line(file.read(int(self.ends[place]) - start))


def save_index(state: IndexState, path: Path, home: Path | None) -> IndexState:
    """Write an index to a folder, or its changes to the folder it came from; return it as it is on disk."""
    if path.exists() and (home is None or path.resolve() != home):
        raise FileExistsError(f"{path} exists already: remove it, or choose another name")
    with room_for(path, path.absolute().parent):
        if path.exists():
            with FolderLock(path):
                _update(state, path)
                return load_index(path)
        aside = Path(tempfile.mkdtemp(dir=path.absolute().parent, prefix=f".{path.name}.", suffix=".part"))
        try:
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(aside, 0o777 & ~umask)
            for name in WHITENING if isinstance(state.space_map, Whitening) else ():
                _write_array(aside / f"space-{name}.npy", getattr(state.space_map, name))
            if hasattr(state.transformer, "save"):
                state.transformer.save(aside / "transformer.json")
            parts = [replace(segment, home=None) for segment in state.segments.parts]
            _write_changes(replace(state, segments=Segments(parts, state.segments.next_number)), aside, {})
            _rename(aside, path)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise
    return load_index(path)


def _rename(aside: Path, path: Path) -> None:
    try:
        aside.rename(path)
    except OSError:
        if not path.exists():
            raise
        raise FileExistsError(
            f"{path} was made by another program meanwhile: add to it, or choose another name"
        ) from None


def _update(state: IndexState, path: Path) -> None:
    """Write what is new, then the head, then remove files that it does not name any more."""
    head = _read_head(path)
    if _checksum(head) != state.checksum:
        raise FolderInUseError(
            f"{path} was changed by another program since it was opened here: open it again, and repeat the "
            "changes"
        )
    named = _write_changes(state, path, head["files"])
    for file in [*path.glob("alive-*.npy"), *path.glob("segment-*/*")]:
        if file.relative_to(path).as_posix() not in named:
            file.unlink()
    for folder in path.glob("segment-*"):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def _write_changes(state: IndexState, path: Path, known: Mapping[str, Any]) -> dict[str, Any]:
    """Write new segments, marks of removed rows and the head; return the files that it names."""
    written = [*path.glob("space-*.npy"), *path.glob("transformer.json")]
    fresh = max((int(folder.name.split("-")[1]) for folder in path.glob("segment-*")), default=0)
    segments = []
    for segment in state.segments.parts:
        name = segment.home
        if name is None:
            fresh += 1
            name = f"segment-{fresh}"
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
        "files": files,
    }
    write_json(path / HEAD, {**head, "checksum": _checksum(head)})
    return files


def _write_segment(segment: Segment, folder: Path) -> None:
    folder.mkdir()
    arrays = {name: getattr(segment, name) for name in OWN}
    arrays |= {name: getattr(segment.sketcher, name) for name in SKETCHER}
    arrays |= {f"ids_{name}": getattr(segment.ids, name) for name in IDS}
    if segment.graphs is not None:
        ends = []
        with open(folder / "graphs.jsonl", "wb") as file:
            for place in range(len(segment)):
                write_json_lines(file, [segment.graphs[place]])
                ends.append(file.tell())
        arrays["graphs_ends"] = np.array(ends, dtype=np.int64)
    for name, array in arrays.items():
        _write_array(folder / f"{name}.npy", array)


def _write_array(path: Path, array: npt.NDArray[Any]) -> None:
    with open(path, "wb") as file:
        write_array(file, array)
        file.flush()
        os.fsync(file.fileno())


def load_index(path: Path, verify: bool = False) -> IndexState:
    """Read the head of an index and map its arrays; with `verify`, check all checksums."""
    while True:
        head = _read_head(path)
        try:
            return _load(path, head, verify)
        except GraphError:
            if _checksum(_read_head(path)) == _checksum(head):
                raise
            # another program has changed the index while it was read: files of the old head may be gone


def _load(path: Path, head: dict[str, Any], verify: bool) -> IndexState:
    try:
        for name, about in head["files"].items():
            _check_file(path, name, about, whole=verify or not name.endswith(LARGE))
        settings = head["settings"]
        space_map: SpaceMap = unchanged
        if settings["space"] == "whitened":
            fitted = {name: _mapped(path / f"space-{name}.npy") for name in WHITENING}
            space_map = Whitening(**fitted, shrinkage=float(settings["shrinkage"]))
        segments = [_read_segment(path, about) for about in head["segments"]]
        known = Segments(segments, int(head["next_number"]))
    except (KeyError, TypeError, ValueError, FileNotFoundError) as error:
        if isinstance(error, GraphError):
            raise
        raise GraphError(f"the index is damaged: {error!r}", where=str(path)) from None
    return IndexState(settings, space_map, known, _read_transformer(path), _checksum(head))


def _read_head(path: Path) -> dict[str, Any]:
    cure = "Build an index with grnf index or GraphIndex.save"
    if not (path / HEAD).is_file():
        raise GraphError(f"not an index: there is no file {HEAD}", where=str(path), cure=cure)
    try:
        head = json.loads((path / HEAD).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise GraphError(f"invalid JSON: {error}", where=str(path / HEAD)) from None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise GraphError(
            f"not an index: the 'format' in {HEAD} is not {FORMAT!r}", where=str(path), cure=cure
        )
    if head.get("version") != VERSION:
        found = f"version {head.get('version')!r} of the index format; this release reads {VERSION}"
        raise GraphError(found, where=str(path), cure="Build the index again")
    if head.pop("checksum", None) != _checksum(head):
        raise GraphError("the file is damaged: its checksum does not match", where=str(path / HEAD))
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
    arrays = {file.stem: _mapped(file) for file in folder.glob("*.npy")}
    graphs = None
    if "graphs_ends" in arrays:
        graphs = GraphLines(folder / "graphs.jsonl", arrays["graphs_ends"])
    return Segment(
        Ids(*(arrays[f"ids_{name}"] for name in IDS)),
        sketcher=Sketcher(*(arrays[name] for name in SKETCHER)),
        alive=_mapped(path / about["alive"]),
        norm=float(about["norm"]),
        graphs=graphs,
        home=about["folder"],
        **{name: arrays[name] for name in OWN},
    )


def _read_transformer(path: Path) -> Any:
    if not (path / "transformer.json").exists():
        return None
    from grnf.estimators import GRNF, FeatureViews
    from grnf.estimators.views import FORMAT as VIEWS

    saved = json.loads((path / "transformer.json").read_text(encoding="utf-8"))
    return (FeatureViews if saved.get("format") == VIEWS else GRNF).load(path / "transformer.json")


def _mapped(file: Path) -> npt.NDArray[Any]:
    """Map an array; one without entries cannot be mapped and is read."""
    with open(file, "rb") as stream:
        np.lib.format.read_magic(stream)
        shape = np.lib.format.read_array_header_1_0(stream)[0]
    mode: Literal["r"] | None = None if 0 in shape else "r"
    array: npt.NDArray[Any] = np.asarray(np.load(file, mode, allow_pickle=False))
    array.setflags(write=False)
    return array


def _described(file: Path) -> dict[str, Any]:
    with open(file, "rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"bytes": file.stat().st_size, "sha256": digest}


def _checksum(head: Mapping[str, Any]) -> str:
    text = json.dumps({key: value for key, value in head.items() if key != "checksum"}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
