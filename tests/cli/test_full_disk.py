"""A disk without room: the file and the cure are named, finished work and old files are kept."""

import errno
import json
import os
import resource
from fnmatch import fnmatch

import numpy as np
import pytest

from cli.forked import before_call
from cli.small_sets import names
from grnf._utils.files import atomic_write
from grnf.errors import DiskFullError
from grnf.io import read_graphs, write_graphs
from optional import require

WRITE = "grnf.io.vectors.ShardWriter.write"


def limit(place, size, number=1):
    """A program that lets no file grow over a size from a call of a function on."""
    limits = f"({size}, resource.RLIM_INFINITY)"
    return before_call(place, f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, {limits})", number)


def test_no_room_for_the_output_keeps_the_old_file_and_the_finished_blocks(call, fork, tu, tmp_path):
    output = tmp_path / "z.npy"
    output.write_bytes(b"what was here before")
    options = ["embed", tu, "-o", output, "-m", 512, "--block-size", 10, "--force"]
    result = fork(limit("grnf.io.vectors.formats.npy_header", 100), *options, code=1)
    assert result.stderr == (
        f"grnf: stopped. 3 finished shards are kept in {output}.parts. To resume: "
        f"grnf embed {tu} -o {output} -m 512 --block-size 10 --force --resume\n"
        f"grnf: {output} cannot be written: File too large. It takes about 0.1 MB, "
        "files may have up to 100 bytes (ulimit -f). Free disk space, or write to another folder\n"
    )
    assert output.read_bytes() == b"what was here before"
    assert names(tmp_path) == ["TU", "z.npy", "z.npy.parts"]
    result = call(*options, "--resume")
    assert np.load(output).shape == (25, 512)
    assert names(tmp_path) == ["TU", "z.npy", "z.npy.json"]


def test_no_room_for_a_block_keeps_those_before(call, fork, tu, tmp_path):
    output = tmp_path / "z.npy"
    options = ["embed", tu, "-o", output, "-m", 512, "--block-size", 10]
    result = fork(limit(WRITE, 10_000, 2), *options, code=1, says="1 finished shards are kept")
    assert f"{output}.parts/vectors cannot be written: File too large" in result.stderr
    result = call(*options, "--resume")
    assert np.load(output).shape == (25, 512)


@pytest.mark.parametrize(
    ("limited", "arguments", "said"),
    [
        (("grnf.scale.driver.fit_stream", 100), ["embed", "TU", "-o", "z.npy", "-m", 512], ""),
        (
            ("grnf.search.segments.longest", 30_000),
            ["index", "TU", "-o", "z.index", "-m", 512],
            "z.index ",
        ),
        (
            ("shutil.copyfileobj", 1000),
            ["embed", "-", "--format", "edge-list", "-o", "z.npy"],
            "grnf: the temporary copy of standard input ",
        ),
    ],
)
def test_no_room_for_anything_leaves_nothing(fork, monkeypatch, tu, tmp_path, limited, arguments, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "TU" / "stdin").write_text("0 1\n" * 10_000)
    result = fork(limit(*limited), *arguments, stdin=tmp_path / "TU" / "stdin", code=1)
    assert f"{said}cannot be written: File too large" in result.stderr
    assert result.stderr.count("\n") == 1
    assert names(tmp_path) == ["TU"]


def test_no_room_on_standard_output(fork, tu):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    code = "import os; os.dup2(os.open('/dev/full', os.O_WRONLY), 1)"
    result = fork(code, "embed", tu, "-o", "-", "-m", 64, code=1)
    assert "standard output or a temporary file cannot be written: No space left" in result.stderr
    assert "for temporary files (TMPDIR)" in result.stderr


@pytest.fixture
def full(monkeypatch):
    """Make the disk full for files of a name, before they take their places; * stands for anything."""

    def fill(name):
        replace = os.replace

        def refuse(source, target):
            if fnmatch(os.path.basename(target), name):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            replace(source, target)

        monkeypatch.setattr(os, "replace", refuse)

    return fill


@pytest.mark.parametrize("name", ["000001.json", "z.npy", "z.npy.json"])
def test_every_file_of_an_embedding_is_named(call, full, monkeypatch, tu, tmp_path, name):
    job = ["embed", tu, "-o", tmp_path / "z.npy", "-m", 8, "--block-size", 10]
    full(name)
    result = call(*job, code=1)
    folder = tmp_path / "z.npy.parts" if name[0] == "0" else tmp_path
    assert f"grnf: {folder / name} cannot be written: No space left on device. " in result.stderr
    assert f" MB are free in {folder}. Free disk space" in result.stderr
    assert "To resume: grnf embed" in result.stderr
    monkeypatch.undo()
    monkeypatch.setattr("sys.argv", ["grnf"])
    call(*job, "--resume")
    assert np.load(tmp_path / "z.npy").shape == (25, 8)


@pytest.mark.parametrize(
    ("command", "output"),
    [
        (["convert"], "out.json"),
        (["convert"], "out.npz"),
        (["convert"], "out.zip"),
        (["convert"], "out.csv"),
        (["distances", "-m", 8, "-o"], "out.npy"),
        (["distances", "--kernel", "-m", 8, "-o"], "out.csv"),
    ],
)
def test_other_commands_name_their_output(call, full, tu, tmp_path, command, output):
    full("out*")
    result = call(command[0], tu, *command[1:], tmp_path / output, code=1)
    assert result.stderr.startswith(f"grnf: {tmp_path / output} cannot be written: No space left on device")
    assert result.stderr.endswith(
        f" MB are free in {tmp_path}. Free disk space, or write to another folder\n"
    )
    assert names(tmp_path) == ["TU"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_the_library_says_it_too(tmp_path, number):
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    said = r"a\.txt cannot be written: .* It takes about 2\.0 MB, .* MB are free"
    with pytest.raises(DiskFullError, match=said), atomic_write(tmp_path / "a.txt", needed=2_000_000):
        raise OSError(number, os.strerror(number))
    assert names(tmp_path) == []
    with pytest.raises(OSError, match="something else") as caught, atomic_write(tmp_path / "a.txt"):
        raise OSError(errno.EIO, "something else")
    assert not isinstance(caught.value, DiskFullError)


EMPTY = ["a.zip", "a.npz", "a.json", "a.graphml", "a.gexf", "a.gml", "a.csv", "a.tsv", "a.parquet", "a.npy"]


@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_file_is_called_empty(call, tmp_path, name):
    if name.endswith("parquet"):
        require("pyarrow")
    (tmp_path / name).touch()
    call("info", tmp_path / name, code=1, says=f"grnf: {tmp_path / name}: the file is empty (0 bytes)")
    with pytest.raises(ValueError, match=r"is empty \(0 bytes\)"):
        list(read_graphs(tmp_path / name))


@pytest.mark.parametrize("name", ["a.jsonl", "a.g6"])
def test_no_graphs_are_an_empty_file_in_some_formats(tmp_path, name):
    write_graphs(tmp_path / name, [])
    assert list(read_graphs(tmp_path / name)) == []


def test_an_output_is_not_written_over(call, tu, tmp_path):
    for command, first, second in (
        (["embed", tu, "-m", 8, "-o"], "z.npy", "y.npy"),
        (["convert", tu], "z.jsonl", "y.jsonl"),
        (["distances", tu, "-m", 8, "-o"], "d.npy", "e.npy"),
        (["distances", "--kernel", tu, "-m", 8, "-o"], "k.csv", "l.csv"),
    ):
        (tmp_path / first).write_bytes(b"mine")
        refused = call(*command, tmp_path / first, code=1)
        assert refused.stderr == (
            f"grnf: {tmp_path / first} exists already: write over it with --force, or choose another name\n"
        )
        assert (tmp_path / first).read_bytes() == b"mine"
        call(*command, tmp_path / first, "--force")
        assert (tmp_path / first).read_bytes() != b"mine"
        call(*command, tmp_path / second)
        call(*command, tmp_path / second, code=1)
    assert not list(tmp_path.glob("*.parts"))


def test_neither_are_the_files_beside_it(call, tu, tmp_path):
    for name, command in (("z.npy.json", ["embed", "-o", "z.npy"]), ("t.nodes.csv", ["convert", "t.csv"])):
        (tmp_path / name).write_text("mine")
        *options, output = command[1:]
        call(command[0], tu, *options, tmp_path / output, code=1, says=f"{tmp_path / name} exists already")
        assert not (tmp_path / output).exists()
        assert (tmp_path / name).read_text() == "mine"


def test_devices_are_never_replaced(call, tu, tmp_path):
    os.mkfifo(tmp_path / "z.npy")
    for command in (["embed", tu, "-o"], ["distances", tu, "-o"], ["convert", tu]):
        result = call(
            *command, tmp_path / "z.npy", "--force", *(["--to", "json"] if len(command) == 2 else []), code=1
        )
        assert "is not a file" in result.stderr


def test_a_finished_run_has_nothing_to_resume(call, tu, tmp_path):
    job = ["embed", tu, "-o", tmp_path / "z.npy", "-m", 8, "--json"]
    first = call(*job)
    before = (tmp_path / "z.npy").stat()
    for more in ([], ["--block-size", 10], ["--on-error", "skip"]):
        again = call(*job, "--resume", *more)
        assert again.stdout == first.stdout
        assert again.stderr == f"grnf: {tmp_path / 'z.npy'} is finished: there is nothing to resume\n"
    assert (tmp_path / "z.npy").stat() == before
    refused = call(*job, "--resume", "--seed", 1, code=1)
    assert (
        "z.npy is of another run and cannot be resumed: settings.random_state was 0, now 1." in refused.stderr
    )
    assert names(tmp_path) == ["TU", "z.npy", "z.npy.json"]
    call(*job, "--resume", "--seed", 1, "--force")
    assert json.loads((tmp_path / "z.npy.json").read_text())["transformer"]["params"]["random_state"] == 1
    (tmp_path / "z.npy.json").write_text("{")
    call(*job, "--resume", code=1, says="is of another run")
