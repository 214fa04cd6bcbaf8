"""The commands as a user runs them; in a process of their own where that shows more."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from grnf.cli.app import app

HELP = """
import runpy, sys
sys.argv = ["grnf", "--help"]
try:
    runpy.run_module("grnf", run_name="__main__")
except SystemExit:
    heavy = ["numba", "sklearn", "scipy", "numpy", "torch", "matplotlib", "pandas", "networkx"]
    sys.exit(",".join(name for name in heavy if name in sys.modules) or 0)
"""


def test_the_package_is_a_program_whose_help_loads_nothing_heavy():
    command = [sys.executable, "-m", "grnf"]
    result = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout[:7]) == (0, "grnf 1.")
    result = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, timeout=60)
    assert (result.returncode, "embed" in result.stdout) == (0, True), result.stderr


def test_import_loads_no_heavy_guest():
    code = (
        "import sys, sklearn.base; before = set(sys.modules); "  # it loads pandas and pyarrow itself
        "import grnf, grnf.io; grnf.GRNF; new = set(sys.modules) - before; "
        "sys.exit(','.join(m for m in sys.argv[1:] if m in new) or 0)"
    )
    guests = ["torch", "torch_geometric", "rdkit", "pyarrow", "dask", "matplotlib", "networkx", "igraph"]
    result = subprocess.run([sys.executable, "-c", code, *guests], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("given", "asked", "value"),
    [
        (["--eps", 0.1], "n_components", 32_000),
        (["-m", 32_000], "eps", 0.1),
        (["-m", 32_000, "--delta", 0.05], "eps", 0.1),
        (["-m", 32_000, "--eps", 0.1], "delta", 0.05),
    ],
)
def test_dimension_in_every_direction(call, given, asked, value):
    answer = json.loads(call("dimension", *given, "--json").stdout)
    assert answer["asked"] == asked
    assert answer["bounds"]["chebyshev"] == pytest.approx(value)
    assert f"{asked} = " in call("dimension", *given).stdout


def test_bad_data_exits_with_1_and_one_line(call, tmp_path):
    result = call("embed", tmp_path / "missing.zip", "-o", tmp_path / "z.npy", code=1)
    assert result.stderr.count("\n") == 1
    assert "does not exist" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", typer.main.get_command(app).commands.values(), ids=lambda each: each.name)
def test_the_help_has_panels_short_first_lines_and_two_examples(command):
    first, *_, examples = command.help.split("\n\n")
    assert len(first) <= 60, first
    assert first.endswith("."), first
    assert examples.count(f"\n  grnf {command.name}") == 2
    assert command.rich_help_panel
    for parameter in command.params:
        assert parameter.help, parameter.name
        panels = ("Input", "Output", "Features", "Method", "Run")
        assert parameter.param_type_name == "argument" or parameter.rich_help_panel in panels, parameter.name


def test_the_help_shows_no_type_of_flags(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    text = call("distances", "--help").stdout
    assert "<bool>" not in text
    assert "─ Options ─" not in text
    assert "\n   grnf distances MUTAG.zip --output distances.npy" in text


TERMINAL = """
import os, pty, sys
child, terminal = pty.fork()
if not child:
    os.execv(sys.executable, [sys.executable, "-m", "grnf", "info", sys.argv[1]])
data = b""
try:
    while part := os.read(terminal, 4096):
        data += part
except OSError:
    pass
sys.stdout.buffer.write(data)
"""


def test_control_characters_are_escaped_on_a_terminal():
    result = subprocess.run(
        [sys.executable, "-c", TERMINAL, "a\x1b[2Jb.zip"], capture_output=True, timeout=120
    )
    assert b"a\\x1b[2Jb.zip" in result.stdout


def test_no_command_writes_to_its_own_input(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "source,target,graph_id\n0,1,a\n1,2,a\n0,1,b\n"
    Path("e.csv").write_text(text)
    Path("other.csv").write_text(text)
    for command in (
        ["embed", "e.csv", "-o", "e.csv"],
        ["embed", "*.csv", "-o", "e.csv"],
        ["embed", tmp_path, "-o", "e.csv"],
        ["dedup", "other.csv", "e.csv", "-o", "./e.csv"],
        ["outliers", "other.csv", "--reference", "e.csv", "-o", "e.csv"],
        ["convert", "e.csv", "e.csv"],
    ):
        call(*command, "--force", code=2, says="is an input of this command")
    assert Path("e.csv").read_text() == text


@pytest.mark.parametrize(
    ("closing", "arguments", "code", "message"),
    [
        ("<&-", "info - --format graph6", 1, "grnf: standard input holds no graphs: it is empty\n"),
        (">&-", "--version", 1, "grnf: standard output is closed\n"),
        ("2>&-", "--version", 0, ""),
    ],
)
def test_closed_streams(closing, arguments, code, message):
    command = f"exec {sys.executable} -m grnf {arguments} {closing}"
    result = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stderr) == (code, message)


@pytest.mark.slow
def test_names_of_any_language_in_the_c_locale(run, tmp_path):
    (tmp_path / "u.csv").write_text("source,target,graph_id\n0,1,\u00e4\n0,1,\u8a9e\n", encoding="utf-8")
    plain = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    result = run("", "dedup", tmp_path / "u.csv", env=plain, encoding="utf-8")
    assert result.stdout == "group,kind,id\n1,identical,\u00e4\n1,identical,\u8a9e\n"


def test_texts_that_spreadsheets_would_run(call, tmp_path):
    source = tmp_path / "s.csv"
    source.write_text("source,target,graph_id\n0,1,=1+1\n0,1,-b\n0,1,-2\n")
    ids = ["'=1+1", "'-b", "-2"]
    result = call("dedup", source, "--safe-csv")
    assert [line.split(",")[2] for line in result.stdout.splitlines()[1:]] == ids
    assert call("distances", source, "--safe-csv", "-m", 2).stdout.startswith(f"graph_id,{','.join(ids)}\n")
    job = ["embed", source, "-m", 2, "-o"]
    call(*job, tmp_path / "z.csv", "--safe-csv")
    for text in ((tmp_path / "z.csv").read_text(), call(*job, "-", "--safe-csv").stdout):
        assert [line.split(",")[0] for line in text.splitlines()[1:]] == ids
    assert "\n=1+1," in call(*job, "-").stdout
    call(*job, tmp_path / "z.npy", "--safe-csv", code=2)


def test_shell_completion():
    words = {"_GRNF_COMPLETE": "complete_bash", "COMP_WORDS": "grnf dist", "COMP_CWORD": "1"}
    script = Path(sys.executable).with_name("grnf")
    result = subprocess.run([script], capture_output=True, text=True, env={**os.environ, **words})
    assert result.stdout.strip() == "distances"


@pytest.mark.parametrize(("quiet", "said"), [([], "grnf: something odd\n"), (["-q"], "")])
def test_warnings_are_one_line(fork, quiet, said):
    code = "import warnings, grnf.io.vectors.read as read\ndef odd(name): warnings.warn('something odd')"
    result = fork(
        f"{code}; return {{}}\nread.describe_vectors = odd", "info", "x", "--format", "vectors", *quiet
    )
    assert result.stderr == said


@pytest.mark.slow
def test_demo(call, tmp_path):
    result = call("demo", "--n-graphs", 60, "-m", 64, "-o", tmp_path / "demo")
    written = sorted(path.name for path in (tmp_path / "demo").iterdir())
    maps = ["delaunay.html", "sbm.html"]
    assert written == sorted(["delaunay.npy", "results.json", "sbm.npy", *maps])
    for name in maps:
        assert (tmp_path / "demo" / name).resolve().as_uri() in result.stdout
    for name in written:
        assert name in result.stdout
    results = json.loads((tmp_path / "demo" / "results.json").read_text())
    for name in ("SBM", "Delaunay"):
        distances = results[name]["distances"]
        assert distances["permuted copy"]["mean"] < 1e-4
        within, between = distances["same class"], distances["different classes"]
        assert within["mean"] < between["mean"]
        assert 0 < within["standard_error"] < within["mean"] / 2
        assert results[name]["test"]["pvalue"] < 0.05
        assert len(results[name]["accuracy"]) == 3


@pytest.mark.parametrize("quiet", [False, True])
def test_notices_of_the_library_reach_files_too(quiet):
    code = (
        "import logging, sys; import grnf.cli.app as app; "
        "app.app = lambda: logging.getLogger('grnf').info('compiling (first run only)'); app.main()"
    )
    command = [sys.executable, "-c", code, *(["-q"] if quiet else [])]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stderr == ("" if quiet else "grnf: compiling (first run only)\n")
