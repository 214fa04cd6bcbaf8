"""An interrupted `grnf embed` goes on where it stopped."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from cli.forked import before_call
from cli.lines_format import IMPOSSIBLE, PATH, TRIANGLE, write_lines
from grnf import GRNF
from grnf.io import read_tu
from grnf.io.vectors import ShardWriter
from optional import require

WRITE = "grnf.io.vectors.ShardWriter.write"
COUNT = """
import atexit, sys
from grnf.io.vectors import ShardWriter
write, added = ShardWriter.write, []
def write_and_count(self, number, block, bad):
    added.append(len(block.ids))
    write(self, number, block, bad)
ShardWriter.write = write_and_count
atexit.register(lambda: print("computed", sum(added), file=sys.stderr))
"""


def stop(place, signal, number=1):
    """A program that ends by a signal before a call of a function: before the third block, two are there."""
    return before_call(place, f"os.kill(os.getpid(), signal.{signal})", number)


@pytest.fixture
def job(tu, tmp_path):
    return ["embed", tu, "-o", tmp_path / "z.npy", "-m", 8, "--block-size", 10]


def refuse(*_):
    raise OSError("no space left")


def expected(tu):
    return GRNF(8, random_state=0).fit_transform(read_tu(tu).graphs)


@pytest.mark.parametrize(("signal", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGKILL", -9)])
def test_after_a_signal(call, fork, job, tu, tmp_path, signal, code):
    result = fork(stop(WRITE, signal, 3), *job, code=code)
    assert not (tmp_path / "z.npy").exists()
    if signal != "SIGKILL":
        word = "interrupted" if signal == "SIGINT" else "terminated"
        assert result.stderr.count("\n") == 2
        assert "2 finished shards are kept" in result.stderr
        assert result.stderr.endswith(f"--block-size 10 --resume\ngrnf: {word}\n")
    call(*job, code=1, says="2 finished shards of an interrupted run: resume it (--resume)")
    result = fork(COUNT, *job, "--resume", says="2 finished shards found")
    assert "computed 5" in result.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), expected(tu))
    assert not (tmp_path / "z.npy.parts").exists()
    assert json.loads((tmp_path / "z.npy.json").read_text())["vectors"]["n_graphs"] == 25


@pytest.mark.slow
def test_an_interrupt_ends_the_processes_that_read_molecules(run, tmp_path):
    """They have the pipes of this run, which ends only with them."""
    require("rdkit")
    rows = "".join(f"{'C' * (1 + n % 20)}O\n" for n in range(40_000))
    (tmp_path / "m.smi").write_text(rows)
    job = ["embed", tmp_path / "m.smi", "-o", tmp_path / "z.npy", "-m", 4, "--n-jobs", 2]
    result = run(stop(WRITE, "SIGINT", 3), *job, timeout=60, code=130)
    assert result.stderr.endswith("grnf: interrupted\n")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("place", "kept"),
    [
        ("grnf.io.vectors.formats.npy_header", True),
        ("grnf.io.vectors.writer.write_json", True),
        ("os.rmdir", False),
        ("grnf.scale.driver.fit_stream", False),
    ],
)
def test_interrupts_at_other_moments(call, fork, job, tu, tmp_path, place, kept):
    result = fork(stop(place, "SIGINT"), *job, code=130)
    assert "Traceback" not in result.stderr
    assert (tmp_path / "z.npy.parts" / "plan.json").exists() == kept
    assert [path for path in tmp_path.iterdir() if path.name.endswith(".part")] == []
    result = call(*job, "--resume")
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), expected(tu))
    assert not (tmp_path / "z.npy.parts").exists()


def test_other_settings_or_input_are_refused(call, fork, job, tu, tmp_path):
    fork(stop(WRITE, "SIGINT", 3), *job, code=130)
    for change, message in (
        (["--seed", 1], "settings.random_state was 0, now 1"),
        (["-m", 16], "settings.n_components was 8, now 16"),
        (["--block-size", 5], "block_size was 10, now 5"),
        (["--format", "tu"], "input.format was None, now 'tu'"),
    ):
        result = call(*job, *change, "--resume", code=1)
        assert result.stderr.count("\n") == 1
        assert message in result.stderr
    labels = tu / "TU_graph_labels.txt"
    labels.write_text(labels.read_text().replace("0", "2"))
    call(*job, "--resume", code=1, says="input.sha256.TU_graph_labels.txt was")
    shutil.rmtree(tmp_path / "z.npy.parts")
    call(*job, "--resume")


def test_a_bad_graph_late_in_the_file_can_be_left_out(call_lines, tmp_path):
    source = write_lines(tmp_path / "g.lines", [TRIANGLE, PATH, IMPOSSIBLE, PATH])
    job = ["embed", source, "-o", tmp_path / "z.npz", "-m", 4, "--block-size", 2]
    result = call_lines(*job, code=1)
    assert result.stderr.splitlines()[0].endswith("--resume --on-error skip")
    result = call_lines(*job, "--resume", "--on-error", "skip")
    assert np.load(tmp_path / "z.npz")["graph_id"].tolist() == ["triangle", "path", "path"]


@pytest.mark.parametrize(("before", "after"), [("nan", "skip"), ("skip", "nan")])
def test_bad_graphs_are_treated_alike_in_all_blocks(call_lines, monkeypatch, tmp_path, before, after):
    source = write_lines(tmp_path / "g.lines", [TRIANGLE, IMPOSSIBLE, PATH])
    job = ["embed", source, "-o", tmp_path / "z.npz", "-m", 4, "--block-size", 2, "--resume", "--on-error"]
    with monkeypatch.context() as patch:
        patch.setattr("grnf.io.vectors.writer.write_json", refuse)
        call_lines(*job, before, code=1)
    call_lines(*job, after, code=1, says=f"on_error was '{before}', now '{after}'")
    call_lines(*job, before)
    assert len(np.load(tmp_path / "z.npz")["graph_id"]) == (3 if before == "nan" else 2)


def test_resume_without_anything_to_resume_is_a_plain_run(call, job, tmp_path):
    call(*job, "--resume")
    assert np.load(tmp_path / "z.npy").shape == (25, 8)


def test_vectors_are_written_once(fork, call, job, tu, tmp_path):
    """The output is the file to which the shards were written, interrupted or not."""
    fork(stop(WRITE, "SIGKILL", 3), *job, code=-9)
    growing = (tmp_path / "z.npy.parts" / "vectors").stat()
    assert growing.st_size == 128 + 20 * 8 * 4
    call(*job, "--resume")
    assert (tmp_path / "z.npy").stat().st_ino == growing.st_ino
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), expected(tu))


def test_killed_between_the_output_and_the_end(call, fork, job, tu, tmp_path):
    """The rows have become the output, and the folder of parts is still there: nothing is computed again."""
    fork(stop("grnf.io.vectors.ShardWriter._remove_work", "SIGKILL"), *job, code=-9)
    assert (tmp_path / "z.npy").exists()
    assert not (tmp_path / "z.npy.parts" / "vectors").exists()
    result = fork(COUNT, *job, "--resume", says="is finished: there is nothing to resume")
    assert "computed 0" in result.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), expected(tu))
    assert not (tmp_path / "z.npy.parts").exists()


def cut_off(path):
    path.write_bytes(path.read_bytes()[:-7])


def change_a_byte(path, at=-20):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def change_block(number):
    return lambda path: change_a_byte(path, 128 + number * 10 * 8 * 4)


def empty(path):
    path.write_bytes(b"")


def other_rows(path):
    path.write_text(path.read_text().replace('"rows": 10', '"rows": 11'))


@pytest.mark.parametrize(
    ("name", "damage", "said"),
    [
        ("vectors", cut_off, "shard 2 is computed again: its part of vectors is not as"),
        *(
            ("vectors", change_block(number), f"shard {number} is computed again: its part of vectors is not")
            for number in range(3)
        ),
        *(
            ("000001.json", damage, "shard 1 is computed again: 000001.json is not as")
            for damage in (cut_off, empty, change_a_byte, other_rows)
        ),
        ("000001.json", Path.unlink, "shard 1 is computed again: 000001.json is missing"),
    ],
)
def test_a_damaged_block_is_computed_again_and_the_others_kept(
    run_full, call, job, tu, tmp_path, name, damage, said
):
    file = tmp_path / "z.npy.parts" / name
    damage(file)
    result = call(*job, "--resume", says=said)
    assert result.stderr.count("is computed again") == 1
    assert "2 finished shards found" in result.stderr
    assert run_full == [5 if "shard 2" in said else 10]
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), expected(tu))


@pytest.mark.parametrize(
    ("damage", "computed"), [(change_block(0), [10, 5]), (empty, [10, 10, 5]), (Path.unlink, [10, 10, 5])]
)
def test_several_damaged_blocks(run_full, call, job, tu, tmp_path, damage, computed):
    damage(tmp_path / "z.npy.parts" / "vectors")
    cut_off(tmp_path / "z.npy.parts" / "000002.json")
    call(*job, "--resume", "--force")
    assert run_full == computed
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), expected(tu))


@pytest.mark.parametrize("damage", [cut_off, change_a_byte])
def test_a_damaged_plan_says_what_to_do(run_full, call, job, tu, tmp_path, damage):
    damage(tmp_path / "z.npy.parts" / "plan.json")
    result = call(*job, "--resume", code=1)
    assert result.stderr.count("\n") == 1
    assert "plan.json is damaged" in result.stderr
    assert "start over with --force" in result.stderr
    call(*job, "--force")
    assert run_full == [10, 10, 5]
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), expected(tu))


@pytest.fixture
def run_full(call, job, tmp_path, monkeypatch):
    """Stop a run after its three blocks; give the sizes of blocks that are added from now on."""
    with monkeypatch.context() as patch:
        patch.setattr("grnf.io.vectors.writer.write_json", refuse)
        call(*job, code=1)
    assert not (tmp_path / "z.npy").exists()
    write, added = ShardWriter.write, []

    def write_and_count(self, number, block, bad):
        added.append(len(block.ids))
        write(self, number, block, bad)

    monkeypatch.setattr(ShardWriter, "write", write_and_count)
    return added
