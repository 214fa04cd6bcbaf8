"""Two runs of `grnf embed` at once: to one output only one of them works, to two outputs both do."""

import json
import shutil
import time

import numpy as np
import pytest

from cli.forked import Forked, before_call
from cli.small_sets import write_tu
from cli.test_resume import WRITE
from grnf import GRNF
from grnf.io import read_tu

# Wait for the file that the first argument names, so that processes begin at one moment.
AT_ONE_MOMENT = """
import os, sys, time
import grnf.scale.driver
go = sys.argv.pop(1)
open(f"{go}.{os.getpid()}", "w").close()
while not os.path.exists(go):
    time.sleep(0.0002)
"""


def hold(release):
    """A program that stops after the first block, with the lock in hand, until a file is there."""
    return before_call(WRITE, f"while not os.path.exists({str(release)!r}): time.sleep(0.01)", 2)


def until(true, seconds=60):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "nothing came of it"
        time.sleep(0.01)


@pytest.fixture
def holder(tu, tmp_path):
    """A run that holds its lock; it ends once the file "release" is there."""
    job = ["embed", tu, "-o", tmp_path / "z.npy", "-m", 8, "--block-size", 10]
    process = Forked(hold(tmp_path / "release"), *job)
    until(lambda: process.poll() is not None or (tmp_path / "z.npy.parts" / "000000.json").exists())
    yield process, job
    process.kill()
    process.communicate()


@pytest.mark.slow
def test_both_start_at_one_moment(tmp_path):
    tu = write_tu(tmp_path / "TU", 60)
    graphs = read_tu(tu).graphs
    expected = [GRNF(8, random_state=seed).fit_transform(graphs) for seed in (0, 1)]
    output, parts = tmp_path / "z.npy", tmp_path / "z.npy.parts"
    for attempt in range(2):
        go = tmp_path / f"go{attempt}"
        options = ["-o", output, "-m", 8, "--block-size", 1, "--force"]
        both = [Forked(AT_ONE_MOMENT, go, "embed", tu, *options, "--seed", seed) for seed in (0, 1)]
        until(lambda go=go: len(list(tmp_path.glob(f"{go.name}.*"))) == 2)
        go.touch()
        said = [process.communicate(timeout=120) for process in both]
        codes = [process.returncode for process in both]
        assert sorted(codes) in ([0, 0], [0, 1]), said
        for code, (out, err), process in zip(codes, said, both, strict=True):
            if code == 0:
                assert "60 graphs, 8 numbers each" in out
            else:
                other = next(each for each in both if each is not process)
                assert err.count("\n") == 1
                assert f"{parts} is in use by another run, process {other.pid} on " in err
        seed = json.loads((tmp_path / "z.npy.json").read_text())["transformer"]["params"]["random_state"]
        assert codes[seed] == 0
        np.testing.assert_array_equal(np.load(output), expected[seed])
        assert not parts.exists()


def test_the_second_is_told_who_holds_the_output(call, holder, tmp_path):
    process, job = holder
    for option in ([], ["--resume"], ["--seed", 1]):
        refused = call(*job, *option, code=1)
        assert refused.stderr.count("\n") == 1
        assert f"z.npy.parts is in use by another run, process {process.pid} on " in refused.stderr
        assert "wait until it has ended, or write to another output" in refused.stderr
    (tmp_path / "release").touch()
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert np.load(tmp_path / "z.npy").shape == (25, 8)
    assert not (tmp_path / "z.npy.parts").exists()


def test_a_killed_holder_holds_nothing(call, holder, tu, tmp_path):
    process, job = holder
    process.kill()
    process.communicate()
    assert (tmp_path / "z.npy.parts" / "lock").exists()
    call(*job, code=1, says="holds 1 finished shards of an interrupted run")
    call(*job, "--resume")
    expected = GRNF(8, random_state=0).fit_transform(read_tu(tu).graphs)
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), expected)
    assert not (tmp_path / "z.npy.parts").exists()


def test_other_outputs_of_one_folder_are_free(call, holder, tu, tmp_path):
    process, _ = holder
    other = ["embed", tu, "-o", tmp_path / "y.npy", "-m", 8, "--block-size", 10, "--seed", 1]
    call(*other)
    (tmp_path / "release").touch()
    process.communicate(timeout=60)
    graphs = read_tu(tu).graphs
    for seed, name in enumerate(("z.npy", "y.npy")):
        expected = GRNF(8, random_state=seed).fit_transform(graphs)
        np.testing.assert_array_equal(np.load(tmp_path / name), expected)


def test_a_folder_that_was_removed_under_a_run_is_not_shared_with_the_next(holder, tu, tmp_path):
    process, job = holder
    shutil.rmtree(tmp_path / "z.npy.parts")
    second = Forked(hold(tmp_path / "later"), *job, "--seed", 1)
    until(lambda: second.poll() is not None or (tmp_path / "z.npy.parts" / "000000.json").exists())
    (tmp_path / "release").touch()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert said == f"grnf: {tmp_path}/z.npy.parts was removed while this run worked in it: start it again\n"
    (tmp_path / "later").touch()
    second.communicate(timeout=60)
    assert second.returncode == 0
    expected = GRNF(8, random_state=1).fit_transform(read_tu(tu).graphs)
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), expected)
    assert not (tmp_path / "z.npy.parts").exists()
