"""Files made to hurt: bombs, traversal, links, lies about sizes, full disks and interrupts."""

import errno
import gzip
import io
import os
import stat
import tracemalloc
import zipfile
from contextlib import contextmanager

import numpy as np
import pytest

from grnf import Graph, GraphError
from grnf.io import FORMATS, RawGraph, read_graphs, read_tu, write_graphs
from grnf.io.files import file as files
from grnf.io.files import limits, node_link
from optional import require_format

INDICATOR = "DS_graph_indicator.txt"


def archive(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


@pytest.mark.parametrize(
    "name", ["../DS_A.txt", "/etc/DS_A.txt", "a/../../DS_A.txt", "..\\DS_A.txt", "C:\\DS_A.txt"]
)
def test_names_that_leave_the_archive(tmp_path, name):
    path = archive(tmp_path / "a.zip", {INDICATOR: "1\n", name: "1, 1\n"})
    for read in (read_tu, lambda path: list(read_graphs(path))):
        with pytest.raises(GraphError, match="points outside the archive"):
            read(path)
    assert [file.name for file in tmp_path.iterdir()] == ["a.zip"]  # nothing was unpacked


def test_links_in_archives(tmp_path):
    link = zipfile.ZipInfo("DS_A.txt")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = archive(tmp_path / "a.zip", {INDICATOR: "1\n", link: "/etc/passwd"})
    with pytest.raises(GraphError, match="symbolic link"):
        read_tu(path)


def test_zip_bombs(tmp_path):
    path = archive(tmp_path / "a.zip", {INDICATOR: "1\n", "DS_A.txt": b" " * 2 * limits.SMALL_MEMBER})
    with pytest.raises(GraphError, match="looks like a zip bomb"):
        read_tu(path)


def test_a_column_of_equal_labels_in_a_large_archive_is_not_a_bomb(tmp_path):
    noise = np.random.default_rng(0).bytes(2 * limits.SMALL_MEMBER // limits.LARGEST_RATIO)
    members = {"labels": b"C" * 2 * limits.SMALL_MEMBER, "noise": noise}
    with archive(tmp_path / "a.npz", members).open("rb") as file:
        assert limits.open_archive(file, "a.npz").namelist() == ["labels", "noise"]


def test_archives_that_lie_about_sizes(tmp_path):
    """The directory says 3 bytes, the data unpack to a million: 3 are taken, and the checksum is wrong."""
    path = archive(tmp_path / "a.zip", {INDICATOR: b"1" * 10**6, "DS_A.txt": "1, 1\n"})
    data = path.read_bytes().replace((10**6).to_bytes(4, "little"), (3).to_bytes(4, "little"))
    path.write_bytes(data)
    with pytest.raises(GraphError, match="damaged"):
        read_tu(path)


def test_other_packings_and_passwords(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_LZMA) as file:
        file.writestr(INDICATOR, "1\n")
    with pytest.raises(GraphError, match="deflate or store"):
        read_tu(tmp_path / "a.zip")
    path = archive(tmp_path / "b.zip", {INDICATOR: "1\n"})
    data = bytearray(path.read_bytes())
    for mark in (b"PK\x01\x02", b"PK\x03\x04"):
        place = data.index(mark) + (8 if mark == b"PK\x01\x02" else 6)
        data[place] |= 1  # the flag of encryption
    path.write_bytes(bytes(data))
    with pytest.raises(GraphError, match="encrypted"):
        read_tu(path)


@pytest.mark.parametrize(
    "indicator", ["999999999999999\n", "9223372036854775807\n", "99999999999999999999\n", "-5\n"]
)
def test_numbers_of_graphs_that_overflow(tmp_path, indicator):
    path = archive(tmp_path / "a.zip", {INDICATOR: indicator, "DS_A.txt": ""})
    with pytest.raises(GraphError):
        read_tu(path)


def write_npy_header(shape, descr="<i8"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue()


@pytest.mark.parametrize("shape", [(10**12,), (10**12, 10**12), (-5,), (2**62,)])
def test_array_headers_that_lie(tmp_path, shape):
    (tmp_path / "a.npy").write_bytes(write_npy_header(shape, "<U10") + b"x" * 100)
    with pytest.raises(GraphError, match=r"truncated|negative lengths|damaged"):
        list(read_graphs(tmp_path / "a.npy"))
    write_graphs(tmp_path / "a.npz", [Graph(1, [])])
    with zipfile.ZipFile(tmp_path / "a.npz") as old, zipfile.ZipFile(tmp_path / "b.npz", "w") as new:
        for name in old.namelist():
            new.writestr(name, write_npy_header(shape) if name == "num_nodes.npy" else old.read(name))
    with pytest.raises(GraphError, match=r"truncated|negative lengths|damaged"):
        list(read_graphs(tmp_path / "b.npz"))


@pytest.mark.parametrize(
    "change", [{"num_nodes": 10**12}, {"num_nodes": -1}, {"num_edges": 5}, {"graph_id": 99}]
)
def test_npz_whose_numbers_do_not_fit(tmp_path, change):
    write_graphs(tmp_path / "a.npz", [RawGraph(2, np.array([[0, 1]]), {"x": np.array([1.0, 2.0])})])
    with np.load(tmp_path / "a.npz", allow_pickle=False) as file:
        arrays = dict(file)
    for name, value in change.items():
        arrays[name] = np.full(1, value)
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(
        GraphError, match=r"a.npz(:|, graph 0:) .*(beyond|negative|fewer entries than the graphs claim)"
    ):
        list(read_graphs(tmp_path / "a.npz"))


def test_no_pickle_is_loaded(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    np.save(tmp_path / "a.npy", np.array([Trap()], dtype=object), allow_pickle=True)
    write_graphs(tmp_path / "a.npz", [Graph(1, [])])
    with zipfile.ZipFile(tmp_path / "a.npz") as old, zipfile.ZipFile(tmp_path / "b.npz", "w") as new:
        for name in old.namelist():
            trap = (tmp_path / "a.npy").read_bytes()
            new.writestr(name, trap if name == "text.npy" else old.read(name))
    for name in ("a.npy", "b.npz"):
        with pytest.raises(GraphError, match="Python objects"):
            list(read_graphs(tmp_path / name))
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("cut", [1, 10, 100])
@pytest.mark.parametrize("name", ["parquet", "npz", "graphml", "gml", "gexf", "json"])
def test_truncated_files(tmp_path, name, cut):
    require_format(name)
    path = tmp_path / f"a{FORMATS[name].suffixes[0]}"
    write_graphs(path, [Graph(50, [(i, i + 1) for i in range(49)])])
    path.write_bytes(path.read_bytes().rstrip()[:-cut])
    with pytest.raises(GraphError):
        list(read_graphs(path))


def test_truncated_and_damaged_gzip(tmp_path):
    path = tmp_path / "a.g6.gz"
    data = gzip.compress(b"Bw\n" * 10_000)
    for damage in (data[:-10], data[:20], b"no gzip", data[:10] + b"\xff" * 20):
        path.write_bytes(damage)
        with pytest.raises(GraphError, match="damaged or truncated"):
            list(read_graphs(path))


def test_one_graph_without_end(tmp_path, monkeypatch):
    require_format("graphml")
    monkeypatch.setattr(node_link, "LARGEST_DOCUMENT", 10**6)
    monkeypatch.setattr(files, "LARGEST_DOCUMENT", 10**6)
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(b'[{"nodes": [' + b"0," * 10**7))
    with pytest.raises(GraphError, match="one graph of more than 1000000 bytes"):
        list(read_graphs(tmp_path / "a.json.gz"))
    for name, start in (("a.gml.gz", b'graph [ label "'), ("a.graphml.gz", b"<graphml>")):
        (tmp_path / name).write_bytes(gzip.compress(start + b"0," * 10**7))
        with pytest.raises(GraphError, match="the document has more than 1000000 bytes"):
            list(read_graphs(tmp_path / name))
    (tmp_path / "b.graphml.gz").write_bytes(gzip.compress(b"<graphml>" + b" " * 10**7))
    monkeypatch.undo()
    with pytest.raises(GraphError, match="looks like a bomb"):
        list(read_graphs(tmp_path / "b.graphml.gz"))


def test_entries_of_no_bytes(tmp_path):
    header = b"{'descr': '<U0', 'fortran_order': False, 'shape': (2,), }\n"
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"Bw"
    (tmp_path / "a.npy").write_bytes(data)
    with pytest.raises(GraphError, match="2 entries of no bytes"):
        list(read_graphs(tmp_path / "a.npy"))


def test_a_large_packed_edge_list_with_one_bad_line_near_its_end(tmp_path):
    """The error names the line, and only edges are held, not 20 MB of text."""
    path = tmp_path / "large.edgelist.gz"
    noise = np.random.default_rng(0).bytes(900).hex()  # as a name that does not pack too well
    block = "".join(f"{noise}{i} {noise}{i + 1}\n" for i in range(100)).encode()
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(60):
            file.write(block)
        file.write(b"1 2 3 4\n" + block)
    tracemalloc.start()
    try:
        with pytest.raises(GraphError, match=r"large.edgelist.gz, line 6001: .*got 4 fields"):
            list(read_graphs(path))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_places_without_rights(tmp_path):
    write_graphs(tmp_path / "a.g6", [Graph(1, [])])
    (tmp_path / "a.g6").chmod(0)
    with pytest.raises(PermissionError):
        list(read_graphs(tmp_path / "a.g6"))
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        write_graphs(tmp_path / "b.g6", [Graph(1, [])])
    tmp_path.chmod(0o700)


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="needs Linux")
def test_places_where_even_root_has_no_rights():
    with pytest.raises(OSError, match=r"/proc|rror"):
        write_graphs("/proc/graphs.g6", [Graph(1, [])])
    with pytest.raises(OSError, match="rror"):
        list(read_graphs("/proc/self/mem", format="graph6"))


def test_places_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_graphs(tmp_path / "none" / "a.g6", [Graph(1, [])])
    (tmp_path / "loop.g6").symlink_to(tmp_path / "loop.g6")
    with pytest.raises((GraphError, OSError)):
        list(read_graphs(tmp_path / "loop.g6"))


WRITABLE = [name for name, entry in FORMATS.items() if entry.can_write and name not in ("smi", "smiles")]


class FullDisk(io.FileIO):
    """A file on a disk with room for a few bytes."""

    room = 0

    def write(self, data):
        self.room -= len(data)
        if self.room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(data)


@pytest.mark.parametrize("room", [0, 5, 100])
@pytest.mark.parametrize("name", WRITABLE)
def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch, name, room):
    require_format(name)
    path = tmp_path / f"a{FORMATS[name].suffixes[0]}"
    path.write_bytes(b"the old file")
    genuine = files.atomic_write

    @contextmanager
    def full(path, mode):
        with genuine(path, mode) as file:
            disk = FullDisk(file.fileno(), "wb", closefd=False)
            disk.room = room
            yield disk

    monkeypatch.setattr(files, "atomic_write", full)
    graph = Graph(100, [(i, j) for i in range(60) for j in range(i)], directed=name == "digraph6")
    with pytest.raises(OSError, match="No space left"):
        write_graphs(path, [graph], format=name)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == b"the old file"


@pytest.mark.parametrize("name", WRITABLE)
def test_an_interrupt_leaves_nothing_behind(tmp_path, name):
    require_format(name)

    def graphs():
        yield Graph(2, [(0, 1)], directed=name == "digraph6")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_graphs(tmp_path / f"a{FORMATS[name].suffixes[0]}", graphs(), format=name)
    assert not list(tmp_path.iterdir())
