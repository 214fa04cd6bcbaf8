"""`grnf monitor`: alarms as lines of JSON, files that grow, and restarts that lose and repeat nothing."""

import io
import json
import time

import numpy as np
import pytest

from cli.forked import Forked
from grnf import Graph
from grnf._utils.locks import FolderLock
from grnf.io import write_graphs
from grnf.stats import ChangeDetector
from optional import require

N_USUAL, N_OTHER = 40, 25


def cycle(n, chords, generator):
    """A cycle with some chords."""
    edges = [(i, (i + 1) % n) for i in range(n)]
    return Graph(n, edges + [tuple(generator.choice(n, 2, replace=False).tolist()) for _ in range(chords)])


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graphs")
    generator = np.random.default_rng(0)
    write_graphs(folder / "usual.s6", [cycle(9, 4, generator) for _ in range(120)])
    stream = [cycle(9, 4, generator) for _ in range(N_USUAL)] + [
        cycle(9, 9, generator) for _ in range(N_OTHER)
    ]
    write_graphs(folder / "stream.s6", stream)
    return folder


def records(text):
    found = [json.loads(line) for line in text.splitlines()]
    return [r for r in found if "event" not in r], [r for r in found if "event" in r]


def options(tmp_path, *more):
    return "-m", 32, "-o", tmp_path / "out.jsonl", "--state", tmp_path / "state.npz", "-q", *more


def test_an_alarm(call, graphs):
    done = call("monitor", graphs / "usual.s6", graphs / "stream.s6", "-m", 32)
    rows, (alarm,) = records(done.stdout)
    assert [row["graph"] for row in rows] == list(range(N_USUAL + N_OTHER))
    assert alarm["graph"] >= N_USUAL
    assert alarm["interval"][0] <= N_USUAL <= alarm["interval"][1]
    assert alarm["contributions"]
    assert [row["alarm"] for row in rows[: alarm["graph"]]] == [False] * alarm["graph"]
    assert rows[alarm["graph"]]["alarm"]
    assert "65 graphs, 1 alarm" in done.stderr


def test_what_to_do_after_an_alarm(call, graphs, tmp_path):
    files = graphs / "usual.s6", graphs / "stream.s6"
    done = call("monitor", *files, *options(tmp_path, "--on-alarm", "stop"))
    rows, (alarm,) = records((tmp_path / "out.jsonl").read_text())
    assert rows[-1]["graph"] == alarm["graph"]
    done = call("monitor", *files, *options(tmp_path, "--on-alarm", "stop"))
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == len(rows) + 1
    done = call("monitor", *files, "-m", 32, "--on-alarm", "restart", "--block-size", 100)
    rows, alarms = records(done.stdout)
    assert [row["graph"] for row in rows] == list(range(N_USUAL + N_OTHER))
    assert alarms[0] == {**alarm, "evidence": pytest.approx(alarm["evidence"])}
    assert len(alarms) > 1
    done = call("monitor", *files, "-m", 32, "--alarms-only", "--mean-time", 1000)
    rows, (alarm,) = records(done.stdout)
    assert not rows
    assert alarm["threshold"] == pytest.approx(np.log(2000))


def test_a_crash_at_any_step_loses_and_repeats_nothing(call, graphs, tmp_path, monkeypatch):
    """Killed after lines were written and before the state was kept, each time."""
    files = graphs / "usual.s6", graphs / "stream.s6"
    expected, _ = records(call("monitor", *files, "-m", 32).stdout)
    save, calls = ChangeDetector.save, []

    def dying(self, path):
        calls.append(path)
        if len(calls) % 3 == 0:
            raise KeyboardInterrupt
        save(self, path)

    monkeypatch.setattr(ChangeDetector, "save", dying)
    ends = []
    while not ends or ends[-1] == 130:
        ends.append(call("monitor", *files, *options(tmp_path, "--block-size", 7), code=None).returncode)
    assert ends[-1] == 0
    assert len(ends) > 3
    rows, alarms = records((tmp_path / "out.jsonl").read_text())
    assert [(row["graph"], row["id"]) for row in rows] == [(row["graph"], row["id"]) for row in expected]
    assert [row["evidence"] for row in rows] == pytest.approx([row["evidence"] for row in expected], abs=2e-4)
    assert len(alarms) == 1


def test_a_run_that_ends_before_its_first_graph_is_resumed(call, graphs, tmp_path):
    """As when a service is restarted before anything has arrived."""
    stream = tmp_path / "growing.s6"
    stream.write_bytes(b"")
    for lines, count in ((b"", 0), ((graphs / "stream.s6").read_bytes(), N_USUAL + N_OTHER)):
        stream.write_bytes(lines)
        call("monitor", graphs / "usual.s6", stream, *options(tmp_path))
        rows, _ = records((tmp_path / "out.jsonl").read_text())
        assert [row["graph"] for row in rows] == list(range(count))


def test_the_output_of_another_run_and_another_reference_are_refused(call, graphs, tmp_path):
    reference = tmp_path / "reference.s6"
    reference.write_bytes((graphs / "usual.s6").read_bytes())
    arguments = "monitor", reference, graphs / "stream.s6"
    with FolderLock(tmp_path / "out.jsonl.lock"):  # as of a run with another state
        call(*arguments, *options(tmp_path), code=1, says="out.jsonl.lock is in use by another run")
    call(*arguments, *options(tmp_path))
    written = (tmp_path / "out.jsonl").read_bytes()
    reference.write_bytes(b"".join(reference.read_bytes().splitlines(True)[:-1]))
    call(*arguments, *options(tmp_path), code=1, says="belongs to a run with reference 'sha256 ")
    assert (tmp_path / "out.jsonl").read_bytes() == written


@pytest.mark.parametrize(("size", "code"), [("1MB", 1), ("1TB", 0), ("much", 2)])
def test_max_memory(call, graphs, tmp_path, size, code):
    (tmp_path / "large.s6").write_text(":~WY_\n")  # 100,000 nodes
    for arguments in (["info"], ["monitor", graphs / "usual.s6", "-m", 2, "--on-error", "raise"]):
        done = call(*arguments, tmp_path / "large.s6", "--max-memory", size, code=code)
        assert code == 0 or "--max-memory" in done.stderr


def test_killed_while_it_follows_a_file(graphs, tmp_path):
    lines = (graphs / "stream.s6").read_bytes().splitlines(keepends=True)
    growing, out = tmp_path / "growing.s6", tmp_path / "out.jsonl"
    growing.write_bytes(b"".join(lines[:10]))
    command = "", "monitor", graphs / "usual.s6", growing, *options(tmp_path, "--block-size", 4), "--follow"

    def wait_for(count, process):
        for _ in range(1200):
            if out.exists() and len(out.read_bytes().splitlines()) >= count:
                return
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        raise AssertionError(f"no {count} lines after a minute")

    process = Forked(*command)
    wait_for(10, process)
    with open(growing, "ab") as file:
        file.write(b"".join(lines[10:50]) + lines[50][:3])
        file.flush()
        wait_for(12, process)  # in the middle of the rest, most likely
        process.kill()
        process.communicate()
        file.write(lines[50][3:] + b"".join(lines[51:]))
    process = Forked(*command)
    wait_for(len(lines), process)
    time.sleep(0.5)
    process.kill()
    process.communicate()
    rows, alarms = records(out.read_text())
    assert [row["graph"] for row in rows] == list(range(len(lines)))
    assert len(alarms) == 1


def test_standard_input_and_bad_graphs(call, graphs, monkeypatch):
    text = (graphs / "stream.s6").read_text()
    first, rest = text.split("\n", 1)
    broken = f"{first}\nno graph at all\n{rest}".rstrip("\n")  # the last line has no end
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(broken.encode())))
    done = call("monitor", graphs / "usual.s6", "--format", "sparse6", "-m", 32)
    rows, alarms = records(done.stdout)
    assert [row["graph"] for row in rows] == list(range(N_USUAL + N_OTHER + 1))
    assert "standard input, line 2" in rows[1]["error"]
    assert len(alarms) == 1


def test_other_formats_are_read_as_a_whole(call, graphs, tmp_path):
    call("convert", graphs / "stream.s6", tmp_path / "s.npz")
    for more in (["--block-size", 30], []):  # again: nothing is left to read
        call("monitor", graphs / "usual.s6", tmp_path / "s.npz", *options(tmp_path, *more))
    rows, alarms = records((tmp_path / "out.jsonl").read_text())
    assert ([row["graph"] for row in rows], len(alarms)) == (list(range(N_USUAL + N_OTHER)), 1)
    says = "--follow needs one of the formats"
    call("monitor", graphs / "usual.s6", tmp_path / "s.npz", "--follow", code=2, says=says)


def test_files_that_changed_are_refused(call, graphs, tmp_path):
    stream = tmp_path / "stream.s6"
    lines = (graphs / "stream.s6").read_bytes().splitlines(keepends=True)
    stream.write_bytes(b"".join(lines[:9]) + lines[9][:-1])
    arguments = "monitor", graphs / "usual.s6", stream, *options(tmp_path)
    call(*arguments)
    call(*arguments, "--alpha", 0.2, code=1, says="belongs to a run with alpha None, not 0.2")
    stream.write_bytes(b"".join(lines[:9]) + lines[9][:-1] + b"x\n")
    call(*arguments, code=1, says="line 10: the line was read before it was complete")
    stream.write_bytes(b"".join(lines[10:40]))
    call(*arguments, code=1, says="is not the file that was read before")
    stream.write_bytes(b"".join(lines[:20]))
    call(*arguments)
    assert len((tmp_path / "out.jsonl").read_bytes().splitlines()) == 20
    (tmp_path / "out.jsonl").write_text("")
    call(*arguments, code=1, says="is shorter than it was")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["usual.s6", "nowhere.s6"], "nowhere.s6 does not exist"),
        (["nowhere.s6", "stream.s6"], "nowhere.s6 does not exist"),
        (["few.s6", "stream.s6"], "got a reference of 3 graphs"),
        (["usual.s6", "bad.s6", "--on-error", "raise"], "bad.s6, line 1"),
    ],
)
def test_clear_errors(call, graphs, arguments, what, monkeypatch):
    monkeypatch.chdir(graphs)
    (graphs / "few.s6").write_bytes(b"".join((graphs / "usual.s6").read_bytes().splitlines(True)[:3]))
    (graphs / "bad.s6").write_text("no graph\n")
    call("monitor", *arguments, "-m", 16, code=1, says=what)


def test_molecules_of_the_stream_are_read_as_the_reference(call, tmp_path):
    require("rdkit")
    usual, salts = tmp_path / "usual.smi", tmp_path / "salts.smi"
    acids = ["C" * n + "C(=O)O" for n in range(1, 25)]
    usual.write_text("".join(f"{acid}\n" for acid in acids))
    salts.write_text("".join(f"[Na+].{acid[:-1]}[O-]\n" for acid in acids))
    state = ["--state", tmp_path / "m.npz", "-m", 32]
    done = call("monitor", usual, salts, "--standardize", *state)
    plain = call("monitor", usual, usual, "-m", 32)
    assert records(done.stdout) == records(plain.stdout)  # the acids are the standardized salts
    assert records(call("monitor", usual, salts, "-m", 32).stdout) != records(plain.stdout)
    call("monitor", usual, salts, *state, code=1, says="molecules ['standardize']")
