"""Records that cannot be read: every command names the first, or leaves them out if it is told to."""

import re

import pytest

from cli.small_sets import rows

GOOD = ["0-1 1-2", "0-1", "0-1 1-2 2-0", "0-1 0-2 0-3", "0-1 1-2 2-3 3-0", "0-1 1-2 2-3", "0-1 2-3"]


def line(text):
    ends = [tuple(map(int, pair.split("-"))) for pair in text.split()]
    nodes = ", ".join(f'{{"id": {v}}}' for v in range(1 + max(v for pair in ends for v in pair)))
    edges = ", ".join(f'{{"source": {u}, "target": {v}}}' for u, v in ends)
    return f'{{"nodes": [{nodes}], "edges": [{edges}]}}'


@pytest.fixture
def source(tmp_path):
    """Graphs 0, 1, 3, .., 8 can be read; the sixth line and the ninth are copies of others."""
    lines = [*map(line, GOOD[:2]), "nonsense", *map(line, GOOD[2:]), line(GOOD[0])]
    path = tmp_path / "some.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


COMMANDS = {
    "outliers": ["--space", "d_P", "-k", 2, "--contamination", 0.5],
    "dedup": [],
    "map": ["--output", "m.html"],
    "index": ["--output", "i"],
    "embed": ["--output", "-"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_first_bad_record_stops_a_command(call, source, command, monkeypatch):
    monkeypatch.chdir(source.parent)
    call(command, source, *COMMANDS[command], "-m", 16, code=1, says="some.jsonl, line 3: invalid JSON")


@pytest.mark.parametrize("command", COMMANDS)
def test_bad_records_are_left_out_and_told(call, source, command, monkeypatch):
    monkeypatch.chdir(source.parent)
    result = call(command, source, *COMMANDS[command], "-m", 16, "--on-error", "skip")
    assert "1 graph could not be used (left out)" in result.stderr
    assert re.search(r"graph 2: \S*some.jsonl, line 3", result.stderr)


def test_graphs_without_ids_are_called_by_their_places(call, source, tmp_path):
    folder = tmp_path / "i"
    options = ["-m", 16, "--on-error", "skip"]
    judged = call("outliers", source, *COMMANDS["outliers"], *options)
    assert [row["id"] for row in rows(judged)] == ["0", "1", "3", "4", "5", "6", "7", "8"]
    assert [row["id"] for row in rows(call("dedup", source, *options))] == ["0", "8"]
    call("index", source, "-o", folder, *options)
    hits = rows(call("search", folder, source, "-k", 1, "--others", "--on-error", "skip"))
    assert {row["query"]: row["id"] for row in hits}["8"] == "0"
    more = tmp_path / "more.jsonl"
    more.write_text(source.read_text() + "\n")
    call("index", more, "-o", folder, "--append", "--on-error", "skip")
    names = {row["id"] for row in rows(call("search", folder, source, "-k", 99, "--on-error", "skip"))}
    assert names == {*map(str, (0, 1, 3, 4, 5, 6, 7, 8)), *map(str, (9, 10, 12, 13, 14, 15, 16, 17))}


def test_a_reference_and_queries(call, source, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text("nonsense\n")
    call("dedup", bad, "--on-error", "skip", code=1, says="bad.jsonl: there are no graphs that can be used")
    source.write_text(2 * source.read_text())
    result = call("monitor", source, source, "-m", 16, "--on-error", "skip")
    assert "2 graphs could not be used (left out)" in result.stderr
    assert result.stdout.count('"graph"') >= 8
