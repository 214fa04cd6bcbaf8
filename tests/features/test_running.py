"""How the work is done: in bounded memory, on threads, with progress, and how it is interrupted."""

import os
import subprocess
import sys
import threading
import time
import warnings

import joblib
import numpy as np
import pytest

from grnf import GRNF, CostWarning, Graph
from grnf._utils.running import no_progress, progress, run
from random_graphs import cycle, random_graph


def some_graphs(count, seed=0, largest=12):
    generator = np.random.default_rng(seed)
    sizes = generator.integers(0, largest, count)
    return [random_graph(generator, int(n), 1, 0, bool(n % 3 == 0)) for n in sizes]


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 2, 700])
def test_chunks_and_threads_change_nothing(count, n_jobs):
    graphs = some_graphs(count)
    expected = GRNF(300, random_state=0, dtype="float64").fit_transform(graphs)
    found = GRNF(300, random_state=0, dtype="float64", n_jobs=n_jobs, max_memory="1MB").fit(graphs)
    assert len(found._embedder._chunks(2, count)) > 1
    np.testing.assert_allclose(found.transform(graphs), expected, rtol=1e-12, atol=1e-14)
    with joblib.parallel_config(backend="threading", n_jobs=n_jobs):
        np.testing.assert_array_equal(
            found.set_params(n_jobs=None).transform(graphs), found.transform(graphs)
        )


def test_parameters_are_kept_between_calls_and_left_out_of_pickles():
    import pickle

    grnf = GRNF(64, random_state=0).fit([cycle(4)])
    grnf.transform([cycle(4)])
    kept = grnf._embedder._kept
    grnf.transform([cycle(5)])
    assert grnf._embedder._kept is kept
    copy = pickle.loads(pickle.dumps(grnf))
    assert copy._embedder._kept is None
    np.testing.assert_array_equal(copy.transform([cycle(5)]), grnf.transform([cycle(5)]))


def test_long_runs_are_announced_before_they_begin(monkeypatch):
    graphs = [Graph(80, cycle(80).edges, np.arange(80.0))]  # no two nodes alike
    monkeypatch.setattr("grnf.features.embedding.run", lambda tasks, workers: None)
    message = r"about \d+ minutes: order 5 on graphs of up to 80 nodes.*restricted_to"
    with pytest.warns(CostWarning, match=message):
        GRNF(512, orders={5: 1.0}, random_state=0).fit_transform(graphs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GRNF(512, random_state=0).fit_transform([Graph(100_000, [])])


def test_run_shares_tasks_and_raises_the_first_error():
    seen, lock = [], threading.Lock()

    def task(i):
        with lock:
            seen.append((i, threading.get_ident()))
        time.sleep(0.01)
        if i == 3:
            raise KeyError("three")

    run([lambda i=i: task(i) for i in range(3)], 2)
    assert len({thread for _, thread in seen}) == 2
    seen.clear()
    with pytest.raises(KeyError, match="three"):
        run([lambda i=i: task(i) for i in range(200)], 2)
    assert len(seen) < 200  # what had not begun was dropped


class Terminal:
    """A stand-in for a terminal."""

    def __init__(self):
        self.text = ""

    def isatty(self):
        return True

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_progress_shows_on_a_terminal_only_after_a_while(monkeypatch, capsys):
    with progress(2, "working") as advance:
        advance(1)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("grnf._utils.running.PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress(2, "working") as advance:
        time.sleep(0.01)
        advance(1)
        time.sleep(0.3)
    assert "working" in terminal.text
    terminal.text = ""
    with no_progress(), progress(2, "working") as advance:
        time.sleep(0.01)
        advance(1)
    assert terminal.text == ""


@pytest.mark.slow
def test_nothing_is_compiled_at_import(tmp_path):
    """Every compiled loop leaves a file in the cache; the imports leave none, a call leaves some."""
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    imports = "import grnf, grnf.cli.app, grnf.datasets, grnf.lifts, grnf.metric, numpy\n"
    call = "from grnf.engine.sorting import transpose; transpose(*numpy.zeros((2, 3, 3)))\n"
    for code, compiled in ((imports, False), (imports + call, True)):
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)
        assert bool(list(tmp_path.rglob("*.nbi"))) == compiled


@pytest.mark.slow
def test_compilation_is_announced_once(tmp_path):
    code = (
        "import logging; logging.basicConfig(level=logging.INFO, format='%(message)s')\n"
        "import numpy as np\n"
        "from grnf._utils.random import fill_normals, uniforms\n"
        "uniforms(0, 0, np.arange(3))\n"
        "fill_normals(0, 0, np.arange(3), np.zeros(1, np.uint64), np.ones((1, 1, 3)))\n"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment).stderr
        for _ in range(2)
    ]
    assert runs[0].splitlines() == ["compiling (first run only): random numbers"]
    assert runs[1] == ""


@pytest.mark.slow
def test_interrupt_leaves_cleanly(tmp_path):
    """Ctrl-C in a long transform ends the process soon, with KeyboardInterrupt and no thread left behind."""
    code = (
        "import sys, warnings; warnings.simplefilter('ignore')\n"
        "from grnf import GRNF, Graph\n"
        "g = [Graph(20, [(i, (i + 1) % 20) for i in range(20)], range(20)) for _ in range(64)]\n"
        "t = GRNF(4096, orders={4: 1.0}, hidden_channels=1, n_jobs=2, random_state=0).fit(g)\n"
        "print('ready', flush=True)\n"
        "try:\n"
        "    t.transform(g)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(2)
    process.send_signal(2)
    out, _ = process.communicate(timeout=120)
    assert out == "interrupted\n"
