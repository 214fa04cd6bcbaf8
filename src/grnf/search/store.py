"""An index on disk: a folder of arrays and a head that says what they are.

    index.json          the head: format, version, map, and for each file its bytes and SHA-256
    transformer.json    what makes vectors, where it could be saved (see `GRNF.save`, `FeatureViews.save`)
    map-*.npy           what the map learnt: mean, variances, axes
    segment-N/          rows that were added together, in the order of their tree:
        rows.npy        (n, M), single or double precision
        numbers.npy     (n,) when each was added
        sketch.npy      (n_blocks, d, 256); low.npy, high.npy (d, n_blocks): boxes around the blocks
        centre.npy, sketch_axes.npy      what sketches are made by
        ids_text.npy, ids_ends.npy, ids_hashes.npy, ids_places.npy      names (see `Ids`)
        graphs.jsonl, graphs_ends.npy    the graphs, one a line, where they are kept
    alive-N-K.npy       which rows of segment N were not removed

Arrays are .npy files without pickle, and are mapped, not read. Files of a segment never change. A change
writes new files first and then the head, aside and renamed: a crash leaves the old index or the new one. The
head carries a checksum of itself. Any number of programs may read. One may write at a time, which holds the
lock of the folder; and who opened the index before another changed it must open it again to write.
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
from grnf.search.kept import StoredGraphs, write_graphs
from grnf.search.maps import Plain, Whitened, restored_map
from grnf.search.segment import Segment
from grnf.search.segments import Segments

__all__ = ["IndexState", "opened", "stored"]

FORMAT, VERSION = "grnf-index", 1
HEAD = "index.json"
LARGE = ("rows.npy", "graphs.jsonl")
"""Files that are checked against their checksums only where that is asked for."""


@dataclass(frozen=True, eq=False)
class IndexState:
    """What an index is made of."""

    head: dict[str, Any]
    rows: Plain | Whitened
    segments: Segments
    transformer: Any
    checksum: str = ""
    """That of the head on disk which it was read from."""


def stored(state: IndexState, path: Path, home: Path | None) -> IndexState:
    """Write an index to a folder, or its changes to the folder it came from; return it as it is there."""
    if path.exists() and (home is None or path.resolve() != home):
        raise FileExistsError(f"{path} exists already: remove it, or choose another name")
    with room_for(path, path.absolute().parent):
        if path.exists():
            with FolderLock(path):
                return _update(state, path)
        aside = Path(tempfile.mkdtemp(dir=path.absolute().parent, prefix=f".{path.name}.", suffix=".part"))
        try:
            os.chmod(aside, 0o777 & ~_umask())
            _write_shared(state, aside)
            detached = [replace(segment, home=None) for segment in state.segments.parts]
            _write_changes(replace(state, segments=Segments(detached, state.segments.next_number)), aside, {})
            _put(aside, path)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise
    return opened(path)


def _put(aside: Path, path: Path) -> None:
    try:
        aside.rename(path)
    except OSError:
        if not path.exists():
            raise
        raise FileExistsError(
            f"{path} was made by another program meanwhile: add to it, or choose another name"
        ) from None


def _update(state: IndexState, path: Path) -> IndexState:
    """Write what is new, then the head, then remove what it does not name any more."""
    head = _read_head(path)
    if _checksum(head) != state.checksum:
        raise FolderInUseError(
            f"{path} was changed by another program since it was opened here: open it again, and repeat what "
            "was changed"
        )
    named = _write_changes(state, path, head["files"])
    for file in [*path.glob("alive-*.npy"), *path.glob("segment-*/*")]:
        if file.relative_to(path).as_posix() not in named:
            file.unlink()
    for folder in path.glob("segment-*"):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    return opened(path)


def _write_shared(state: IndexState, path: Path) -> None:
    for name, array in state.rows.arrays().items():
        _write_array(path / f"map-{name}.npy", array)
    if hasattr(state.transformer, "save"):
        state.transformer.save(path / "transformer.json")


def _write_changes(state: IndexState, path: Path, known: Mapping[str, Any]) -> dict[str, Any]:
    """Write new segments, marks of removed rows and the head; return the files that it names."""
    shared = [*path.glob("map-*.npy"), *path.glob("transformer.json")]
    files = {file.name: known.get(file.name) or _described(file) for file in shared}
    taken = [int(folder.name.split("-")[1]) for folder in path.glob("segment-*")]
    fresh, segments = max(taken, default=0) + 1, []
    for segment in state.segments.parts:
        name = segment.home
        if name is None:
            name, fresh = f"segment-{fresh}", fresh + 1
            _write_segment(segment, path / name)
        for file in sorted((path / name).iterdir()):
            title = f"{name}/{file.name}"
            files[title] = known.get(title) or _described(file)
        alive = _write_alive(segment, name, path)
        files[alive] = known.get(alive) or _described(path / alive)
        segments.append({"folder": name, "alive": alive, "norm": segment.norm})
    head = {
        "format": FORMAT,
        "version": VERSION,
        **state.head,
        "next_number": state.segments.next_number,
        "segments": segments,
        "files": files,
    }
    write_json(path / HEAD, {**head, "checksum": _checksum(head)})
    return files


def _write_segment(segment: Segment, folder: Path) -> None:
    folder.mkdir()
    for name, array in segment.arrays().items():
        _write_array(folder / f"{name}.npy", array)
    if segment.graphs is not None:
        with open(folder / "graphs.jsonl", "wb") as file:
            ends = write_graphs(file, (segment.graphs[place] for place in range(len(segment))))
        _write_array(folder / "graphs_ends.npy", ends)


def _write_alive(segment: Segment, name: str, path: Path) -> str:
    """Write which rows are there, under a name that no other state of the segment has; return the name."""
    digest = hashlib.sha256(segment.alive.tobytes()).hexdigest()[:16]
    file = f"alive-{name.split('-')[1]}-{digest}.npy"
    if not (path / file).exists():
        _write_array(path / file, segment.alive)
    return file


def _write_array(path: Path, array: npt.NDArray[Any]) -> None:
    with open(path, "wb") as file:
        write_array(file, array)
        file.flush()
        os.fsync(file.fileno())


def opened(path: Path, verify: bool = False) -> IndexState:
    """Read the head of an index and map its arrays; what does not fit its checksum is damaged."""
    while True:
        head = _read_head(path)
        try:
            return _opened(path, head, verify)
        except GraphError:
            if _checksum(_read_head(path)) == _checksum(head):
                raise
            # another program has changed the index while it was read: files of the old head may be gone


def _opened(path: Path, head: dict[str, Any], verify: bool) -> IndexState:
    try:
        for name, about in head["files"].items():
            _check_file(path, name, about, whole=verify or not name.endswith(LARGE))
        learnt = {file.stem.removeprefix("map-"): _mapped(file) for file in path.glob("map-*.npy")}
        rows = restored_map(head["map"], learnt)
        segments = [_read_segment(path, about) for about in head["segments"]]
        known = Segments(segments, int(head["next_number"]))
    except (KeyError, TypeError, ValueError, FileNotFoundError) as error:
        if isinstance(error, GraphError):
            raise
        raise GraphError(f"{path} is damaged: {error!r}") from None
    return IndexState(head, rows, known, _read_transformer(path), _checksum(head))


def _read_head(path: Path) -> dict[str, Any]:
    if not (path / HEAD).is_file():
        raise GraphError(f"{path} is no index: it has no file {HEAD}; grnf index makes one")
    try:
        head = json.loads((path / HEAD).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise GraphError(f"{path / HEAD} is not JSON: {error}") from None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise GraphError(f"{path} is no index: the 'format' in {HEAD} is not {FORMAT!r}")
    if head.get("version") != VERSION:
        raise GraphError(
            f"{path} has version {head.get('version')!r} of the format; this release reads {VERSION}: "
            "build it again"
        )
    if head.pop("checksum", None) != _checksum(head):
        raise GraphError(f"{path / HEAD} is damaged: it does not fit its checksum")
    return head


def _check_file(path: Path, name: str, about: Mapping[str, Any], whole: bool) -> None:
    file = path / name
    if not file.resolve().is_relative_to(path.resolve()) or not file.is_file():
        raise GraphError(f"{path} is damaged: {name} is missing")
    if file.stat().st_size != about["bytes"]:
        raise GraphError(
            f"{path} is damaged: {name} has {file.stat().st_size} bytes, {about['bytes']} are expected"
        )
    if whole and _described(file)["sha256"] != about["sha256"]:
        raise GraphError(f"{path} is damaged: {name} does not fit its checksum")


def _read_segment(path: Path, about: Mapping[str, Any]) -> Segment:
    folder = path / about["folder"]
    arrays = {file.stem: _mapped(file) for file in folder.glob("*.npy")}
    arrays["alive"] = _mapped(path / about["alive"])
    graphs = None
    if "graphs_ends" in arrays:
        graphs = StoredGraphs(folder / "graphs.jsonl", arrays["graphs_ends"])
    return Segment.from_arrays(arrays, float(about["norm"]), graphs, about["folder"])


def _read_transformer(path: Path) -> Any:
    if not (path / "transformer.json").exists():
        return None
    from grnf.estimators import GRNF, FeatureViews
    from grnf.estimators.views import FORMAT

    saved = json.loads((path / "transformer.json").read_text(encoding="utf-8"))
    return (FeatureViews if saved.get("format") == FORMAT else GRNF).load(path / "transformer.json")


def _mapped(file: Path) -> npt.NDArray[Any]:
    mode: Literal["r"] | None = None if _is_empty(file) else "r"
    array: npt.NDArray[Any] = np.asarray(np.load(file, mode, allow_pickle=False))
    array.setflags(write=False)
    return array


def _is_empty(file: Path) -> bool:
    """Whether a file holds an array without entries, which cannot be mapped."""
    with open(file, "rb") as stream:
        version = np.lib.format.read_magic(stream)
        if version != (1, 0):
            raise GraphError(f"{file} has an unknown version of .npy")
        shape = np.lib.format.read_array_header_1_0(stream)[0]
    return 0 in shape


def _described(file: Path) -> dict[str, Any]:
    with open(file, "rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"bytes": file.stat().st_size, "sha256": digest}


def _checksum(head: Mapping[str, Any]) -> str:
    text = json.dumps({key: value for key, value in head.items() if key != "checksum"}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask
