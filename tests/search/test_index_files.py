"""An index on disk: what was saved is what is opened, and what is damaged is said."""

import json
import os

import numpy as np
import pytest

from grnf import GRNF
from grnf._utils.locks import FolderInUseError, FolderLock
from grnf.datasets import make_sbm
from grnf.errors import GraphError
from grnf.search import GraphIndex, segments

GRAPHS, _ = make_sbm(40, random_state=0)


@pytest.fixture
def saved(tmp_path):
    index = GraphIndex(GRNF(32, random_state=0), keep_graphs=True).add(GRAPHS[:20])
    index.save(tmp_path / "index")
    return index, tmp_path / "index"


def same(one, two):
    first, second = one.search(GRAPHS, n_neighbors=7), two.search(GRAPHS, n_neighbors=7)
    assert first.ids == second.ids
    for a, b in zip(first.distances, second.distances, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("space", ["plain", "whitened"])
def test_opened_is_what_was_saved(tmp_path, space):
    index = GraphIndex(GRNF(32, random_state=0), space=space, shrinkage=0.1).add(GRAPHS[:30])
    index.remove(["3"])
    index.save(tmp_path / "index")
    again = GraphIndex.load(tmp_path / "index", verify=True)
    assert (len(again), again.space, again.shrinkage) == (29, space, 0.1)
    same(index, again)


def test_rows_are_mapped_and_graphs_come_back(saved):
    index, path = saved
    again = GraphIndex.load(path)
    assert isinstance(again._segments.parts[0].rows.base, np.memmap)
    assert again.graph("5").edges.tolist() == index.graph("5").edges.tolist()


def test_changes_go_to_the_folder(saved):
    _, path = saved
    before = (path / "segment-1" / "rows.npy").stat().st_mtime_ns
    index = GraphIndex.load(path).remove(["0", "1"])
    index.save(path)
    assert (path / "segment-1" / "rows.npy").stat().st_mtime_ns == before, "rows are not written again"
    index.add(GRAPHS[20:25], [f"new {i}" for i in range(5)]).save(path)
    again = GraphIndex.load(path, verify=True)
    assert (len(again), "new 3" in again, "0" in again) == (23, True, False)
    same(index, again)
    index.add(GRAPHS[25:], [f"newer {i}" for i in range(15)]).save(path)  # merges: old segments go
    again = GraphIndex.load(path, verify=True)
    assert len(again) == 38
    same(index, again)
    assert [folder.name for folder in sorted(path.glob("segment-*"))] == [again._segments.parts[0].folder]
    named = {f"{p.relative_to(path)}" for p in path.rglob("*") if p.is_file()}
    assert named == {*json.loads((path / "index.json").read_text())["files"], "index.json"}


def crash(*_):
    raise KeyboardInterrupt


def test_a_crash_before_the_head_leaves_the_old_index_or_nothing(saved, tmp_path, monkeypatch):
    index, path = saved
    old = GraphIndex.load(path)
    index.add(GRAPHS[20:], [f"new {i}" for i in range(20)])
    monkeypatch.setattr("grnf.search.segments.write_json", crash)
    for unsaved, target in ((index, path), (GraphIndex().add(np.eye(3)), tmp_path / "other")):
        with pytest.raises(KeyboardInterrupt):
            unsaved.save(target)
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == [path]
    same(old, GraphIndex.load(path, verify=True))
    index.save(path)  # again, with the files of the first attempt
    assert len(GraphIndex.load(path, verify=True)) == 40


def test_all_files_and_folders_are_flushed_before_the_head_names_them(tmp_path, monkeypatch):
    flushed, fsync, write_json = set(), os.fsync, segments.write_json
    monkeypatch.setattr(os, "fsync", lambda file: (flushed.add(os.fstat(file).st_ino), fsync(file)))
    heads = []

    def write_head(path, content):
        inside = [path.parent, *path.parent.rglob("*")]
        heads.append([path.name for path in inside if path.stat().st_ino not in flushed])
        write_json(path, content)
        flushed.remove(path.parent.stat().st_ino)

    monkeypatch.setattr(segments, "write_json", write_head)
    index = GraphIndex(GRNF(8, random_state=0), keep_graphs=True).add(GRAPHS[:9])
    index.save(tmp_path / "index")
    assert tmp_path.stat().st_ino in flushed
    index.add(GRAPHS[9:12], ["a", "b", "c"]).save(tmp_path / "index")
    assert (tmp_path / "index" / "segment-2" / "graphs.jsonl").exists()
    assert heads == [[], ["lock"]]


def test_a_copy_goes_to_another_folder_and_overwrites_none(saved, tmp_path):
    index, path = saved
    GraphIndex.load(path).save(tmp_path / "copy")
    same(index, GraphIndex.load(tmp_path / "copy", verify=True))
    with pytest.raises(FileExistsError, match="exists already"):
        GraphIndex().add(np.eye(3)).save(path)
    with pytest.raises(GraphError, match="empty"):
        GraphIndex().save(tmp_path / "empty")


@pytest.mark.parametrize("file", ["rows.npy", "sketch.npy", "ids_text.npy", "graphs.jsonl"])
def test_a_changed_byte_is_found(saved, file):
    _, path = saved
    target = path / "segment-1" / file
    content = bytearray(target.read_bytes())
    content[-2] ^= 1
    target.write_bytes(content)
    with pytest.raises(GraphError, match=f"checksum of segment-1/{file} does not match"):
        GraphIndex.load(path, verify=True)


def test_missing_cut_and_foreign_files_are_found(saved, tmp_path):
    _, path = saved
    with pytest.raises(GraphError, match="not an index"):
        GraphIndex.load(tmp_path)
    rows = path / "segment-1" / "rows.npy"
    content = rows.read_bytes()
    rows.write_bytes(content[:-8])
    with pytest.raises(GraphError, match="is truncated"):
        GraphIndex.load(path)
    rows.unlink()
    with pytest.raises(GraphError, match="is missing"):
        GraphIndex.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 1}, "version 1 of the format"),
        ({"format": "other"}, "not the head of an index"),
        ({"next_number": 31}, "checksum does not match"),
    ],
)
def test_the_head_is_checked(saved, change, message):
    _, path = saved
    head = json.loads((path / "index.json").read_text())
    (path / "index.json").write_text(json.dumps({**head, **change}))
    with pytest.raises(GraphError, match=message):
        GraphIndex.load(path)
    (path / "index.json").write_text("{")
    with pytest.raises(GraphError, match="invalid JSON"):
        GraphIndex.load(path)


def test_vectors_alone_need_a_transformer_for_graphs(tmp_path):
    grnf = GRNF(32, random_state=0).fit(GRAPHS)
    GraphIndex().add(grnf.transform(GRAPHS)).save(tmp_path / "index")
    with pytest.raises(GraphError, match="nothing is known that makes vectors"):
        GraphIndex.load(tmp_path / "index").search(GRAPHS[:1])
    again = GraphIndex.load(tmp_path / "index", transformer=grnf)
    assert again.search(GRAPHS[3:4], n_neighbors=1).ids == [["3"]]


def test_two_writers_do_not_lose_what_the_other_wrote(saved):
    _, saved = saved
    one, other = GraphIndex.load(saved), GraphIndex.load(saved)
    gone = one.ids[0]
    one.remove([gone]).save(saved)
    with pytest.raises(FolderInUseError, match="changed by another program"):
        other.remove([other.ids[1]]).save(saved)
    again = GraphIndex.load(saved, verify=True)
    assert gone not in again
    again.remove([again.ids[0]]).save(saved)
    again.remove([again.ids[0]]).save(saved)  # one's own changes are known
    assert len(GraphIndex.load(saved)) == len(GRAPHS[:20]) - 3


def test_a_writer_locks_the_folder(saved):
    _, saved = saved
    index = GraphIndex.load(saved)
    with FolderLock(saved), pytest.raises(FolderInUseError, match="in use by another run, process"):
        index.remove([index.ids[0]]).save(saved)
    index.save(saved)
    assert GraphIndex.load(saved).ids == index.ids


def test_the_first_of_two_new_indexes_stays(tmp_path, monkeypatch):
    Z = np.random.default_rng(0).normal(size=(2, 300, 8))
    path, rename = tmp_path / "i", segments.rename

    def slower(aside, target):
        monkeypatch.setattr(segments, "rename", rename)
        GraphIndex().add(Z[0]).save(target)
        rename(aside, target)

    monkeypatch.setattr(segments, "rename", slower)
    with pytest.raises(FileExistsError, match="made by another program meanwhile"):
        GraphIndex().add(Z[1]).save(path)
    np.testing.assert_allclose(GraphIndex.load(path).row("0"), Z[0, 0])
    assert [file.name for file in tmp_path.iterdir()] == ["i"]


def test_a_change_while_it_is_opened_is_followed(saved, monkeypatch):
    _, saved = saved
    other, read = GraphIndex.load(saved), segments._read_segment

    def late(path, about):
        monkeypatch.setattr(segments, "_read_segment", read)
        other.compact().save(saved)  # removes the files that the first head names
        return read(path, about)

    other.remove([other.ids[0]])
    monkeypatch.setattr(segments, "_read_segment", late)
    assert GraphIndex.load(saved).ids == other.ids
