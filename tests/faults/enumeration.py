"""Every file operation of every command that writes, failing once: `make faults`.

    python tests/faults/enumeration.py                                all; counts in benchmarks/results
    python tests/faults/enumeration.py embed-npy --kind kill --n 17   one, with what it printed

For each command the operations are counted. Then for every n and kind of fault (see faulty_disk.py) a new
process runs the command, and these are checked:

- an error ends with a nonzero exit code or with the complete output, and without a traceback;
- the command, repeated with the options that resume it, ends well and leaves the same bytes as a run without
  a fault: nothing is lost, no temporary file stays, and no other file is touched;
- if power is lost after the command has ended, its output is complete.
"""

import argparse
import gc
import io
import json
import os
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path

for library in ("OPENBLAS", "OMP", "NUMBA"):
    os.environ[f"{library}_NUM_THREADS"] = "1"  # threads do not survive a fork
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from faulty_disk import DEAD, KINDS, FaultyDisk  # noqa: E402
from typer import main as typer_main  # noqa: E402

from grnf import __version__  # noqa: E402
from grnf.cli import main  # noqa: E402
from grnf.datasets import make_sbm  # noqa: E402
from grnf.io import RawGraph, write_graphs  # noqa: E402

typer_main.get_command = cache(typer_main.get_command)  # the commands are built once, before the forks
SECONDS = 120
RESULTS = HERE.parents[1] / "benchmarks" / "results" / "faults.json"
SMALL = ["-m", "8"]
INDEX = ["index", "in.g6", "-o", "x.index", "--keep-graphs", *SMALL]
TRAIN = ["train", "y.jsonl", "-o", "y.grnf", "--estimator", "linear", "--folds", "2", *SMALL]
TABLES = {
    "dedup": SMALL,
    "cluster": SMALL,
    "split": SMALL,
    "pick": ["-n", "4", *SMALL],
    "outliers": [],
    "compare": ["more.g6", "--first-id", "0", "--second-id", "0"],
}
"""Commands that write a table, each in every format."""


@dataclass(frozen=True)
class Case:
    """A command that writes: arguments, those added when it is repeated, commands before it, faults."""

    arguments: list
    again: tuple = ()
    before: tuple = ()
    kinds: tuple = KINDS


CASES = {
    **{
        f"embed-{suffix}": Case(
            ["embed", "in.g6", "-o", f"z.{suffix}", "--block-size", "5", *SMALL], ("--resume",)
        )
        for suffix in ("npy", "npz", "csv", "parquet")
    },
    "embed-shards": Case(["embed", "in.g6", "-o", "z", "--shard-size", "5", *SMALL], ("--resume",)),
    "embed-threads": Case(
        ["embed", "in.g6", "-o", "z.npy", "--block-size", "5", "--n-jobs", "2", *SMALL], ("--resume",)
    ),
    "embed-processes": Case(
        ["embed", "in.g6", "-o", "z", "--shard-size", "5", "--n-jobs", "2", *SMALL],
        ("--resume",),
        kinds=KINDS[:3],  # what other processes flush is not seen, so a loss of power cannot be simulated
    ),
    "embed-over": Case(
        ["embed", "in.g6", "-o", "z.npy", "--seed", "1", "--force", *SMALL],
        ("--resume",),
        (["embed", "in.g6", "-o", "z.npy", *SMALL],),
    ),
    "index-build": Case(INDEX),
    "index-append": Case(["index", "more.g6", "-o", "x.index", "--append"], (), (INDEX,)),
    "index-remove": Case(["index", "-o", "x.index", "--delete", "ids.txt"], (), (INDEX,)),
    "monitor": Case(
        ["monitor", "in.g6", "more.g6", "--state", "s.npz", "-o", "a.jsonl", "--block-size", "5", *SMALL]
    ),
    "map": Case(["map", "in.g6", "-o", "m.html", "--layout", "pca", *SMALL], ("--force",)),
    "map-layout": Case(
        ["map", "in.g6", "-o", "m.html", "--layout", "pca", "--save-layout", "l.npz", *SMALL], ("--force",)
    ),
    "distances": Case(["distances", "in.g6", "-o", "d.npy", *SMALL], ("--force",)),
    "distances-csv": Case(["distances", "in.g6", "-o", "d.csv", *SMALL], ("--force",)),
    "train": Case(TRAIN, ("--force",)),
    "train-report": Case([*TRAIN, "--report", "report"], ("--force",)),
    "predict": Case(["predict", "y.grnf", "more.g6", "-o", "p.csv"], ("--force",), (TRAIN,)),
    "predict-explain": Case(
        ["predict", "y.grnf", "more.g6", "-o", "p.csv", "--explain", "e.html"], ("--force",), (TRAIN,)
    ),
    **{
        f"compare-picture-{suffix}": Case(
            ["compare", "in.g6", *TABLES["compare"], "-o", "t.json", "--picture", f"p.{suffix}"], ("--force",)
        )
        for suffix in ("png", "svg", "pdf")
    },
    **{
        name: Case(["search", "x.index", "more.g6", "-o", f"s.{suffix}"], ("--force",), (INDEX,))
        for name, suffix in (("search", "csv"), ("search-html", "html"))
    },
    **{
        f"convert-{suffix}": Case(["convert", "in.g6", f"g.{suffix}"], ("--force",))
        for suffix in ("jsonl", "graphml", "parquet", "npz", "zip", "csv", "s6.gz")
    },
    "convert-folder": Case(["convert", "in.g6", "g"], ("--force",)),
    "dedup-write": Case(["dedup", "in.g6", "-o", "t.csv", "--write", "kept.g6", *SMALL], ("--force",)),
    "evaluate-report": Case(
        ["evaluate", "in.g6", "more.g6", "-o", "t.json", "--report", "r.html", *SMALL], ("--force",)
    ),
    **{
        f"{command}-{suffix}": Case([command, "in.g6", *options, "-o", f"t.{suffix}"], ("--force",))
        for command, options in TABLES.items()
        for suffix in ("csv", "json", "parquet")
    },
    **{
        f"{command}-{suffix}": Case([command, "in.g6", "more.g6", "-o", f"t.{suffix}", *SMALL], ("--force",))
        for command in ("test", "evaluate")
        for suffix in ("csv", "json")
    },
}
"""Commands to enumerate; a new command that writes is one more entry."""


def inputs(root):
    """Write the files that the commands read, and one that they must not touch."""
    graphs = make_sbm(24, random_state=0)[0]
    write_graphs(root / "in.g6", graphs[:12])
    write_graphs(root / "more.g6", graphs[12:])
    labeled = [RawGraph(graph.n_nodes, graph.edges, y=row % 2) for row, graph in enumerate(graphs)]
    write_graphs(root / "y.jsonl", labeled)
    (root / "ids.txt").write_text("3\n7\n")
    for name in ("other.txt", ".z.npy.old.part", ".x.index.old.part"):
        (root / name).write_text("of somebody else")


def tree(root):
    """Return the content of all files below a folder, and None for folders."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(root.rglob("*"))
    }


def run(root, arguments, kind=None, n=None):
    """Run a command in a new process; return its exit code, what it printed, and the operations."""
    notes = root.parent / "notes.json"
    notes.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        _run_child(root, arguments, kind, n, notes)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
    signal.alarm(SECONDS)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    signal.alarm(0)
    printed, log = json.loads(notes.read_text()) if notes.exists() else ("", [])
    return code, printed, log


def _run_child(root, arguments, kind, n, notes):
    code, stream = 1, io.StringIO()
    try:
        os.chdir(root)
        sys.argv = ["grnf", *map(str, arguments)]
        sys.stdout = sys.stderr = stream
        disk = FaultyDisk(root, kind, n)
        disk.install()
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        if code == 0 and n is not None:
            disk.end()
    except BaseException:
        traceback.print_exc(file=stream)
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    with disk.open(notes, "w") as file:
        json.dump([stream.getvalue(), disk.log], file)
    os._exit(code)


class Enumeration:
    """The faults of one command."""

    def __init__(self, case, folder):
        self.case, self.folder = case, Path(folder)
        self.start = self.folder / "start"
        self.start.mkdir()
        inputs(self.start)
        for arguments in case.before:
            code, printed, _ = run(self.start, arguments)
            assert code == 0, printed
        root = self._fresh()
        code, printed, self.log = run(root, case.arguments)
        assert code == 0, printed
        self.expected = tree(root)

    def numbers(self, kind):
        """Return the numbers of operations; power can also be lost after the last one."""
        return range(len(self.log) + kind.startswith("lost"))

    def operation(self, n):
        """Return what the n-th operation is."""
        return self.log[n] if n < len(self.log) else "after the end"

    def _fresh(self):
        """Return a new copy of the folder; it always has the same name, which some files contain."""
        for path in self.folder.iterdir():
            if path != self.start:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(self.start, self.folder / "work")
        return self.folder / "work"

    def problem(self, kind, n):
        """Let the n-th operation fail; return what is wrong then, or None."""
        root = self._fresh()
        code, printed, _ = run(root, self.case.arguments, kind, n)
        if n == len(self.log):
            complete = code == 0 and self._leftovers_only(root)
            return None if complete else f"{self._difference(root)}: {printed}"
        if kind in ("ENOSPC", "EIO"):
            if "Traceback" in printed:
                return f"traceback: {printed}"
            if code == 0 and tree(root) != self.expected and not self._leftovers_only(root):
                return f"exit code 0, but {self._difference(root)}"
        elif code != DEAD:
            return f"exit code {code}: {printed}"
        if tree(root) == self.expected:
            return None
        complete = self._leftovers_only(root)
        code, printed, _ = run(root, [*self.case.arguments, *self.case.again])
        if code != 0 and not (complete and "exists already" in printed):
            return f"repeated, exit code {code}: {printed}"
        return None if tree(root) == self.expected else f"repeated, {self._difference(root)}: {printed}"

    def _leftovers_only(self, root):
        """Whether all files are complete, and what is there in addition could not be removed."""
        now = tree(root)
        return all(now.get(name) == content for name, content in self.expected.items())

    def _difference(self, root):
        now = tree(root)
        names = sorted({*now, *self.expected})
        different = [name for name in names if now.get(name, 0) != self.expected.get(name, 0)]
        return f"these differ: {different}"


def warm_up(names):
    """Run each command once in this process, so that new processes find loaded modules and compiled code."""
    here, streams = os.getcwd(), (sys.stdout, sys.stderr)
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            inputs(Path(folder))
            os.chdir(folder)
            for arguments in (*CASES[name].before, CASES[name].arguments):
                sys.argv, sys.stdout, sys.stderr = ["grnf", *arguments], io.StringIO(), io.StringIO()
                code = None
                try:
                    main()
                except SystemExit as end:
                    code = end.code
                finally:
                    text = sys.stderr.getvalue()
                    sys.stdout, sys.stderr = streams
                if code:
                    sys.exit(f"{name}: {text}")
            os.chdir(here)
    gc.collect()
    gc.freeze()  # else each new process copies the memory of all objects


def enumerate_case(name, kinds=KINDS, step=1):
    """Try the faults of a command, every `step`-th of them; return its name, the counts and the problems."""
    counts, found = Counter(), 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        faults = Enumeration(CASES[name], folder)
        for kind in [kind for kind in kinds if kind in CASES[name].kinds]:
            for n in faults.numbers(kind)[::-step]:  # the end of the run is always among them
                counts[kind] += 1
                problem = faults.problem(kind, n)
                if problem is not None:
                    found += 1
                    print(f"{name} --kind {kind!r} --n {n} ({faults.operation(n)}): {problem}", flush=True)
    print(f"{name}: {counts.total()} faults, {found} problems", flush=True)
    return name, counts, found


def store(name, counts, problems):
    """Store the counts of a command, all of whose faults were tried."""
    commands = json.loads(RESULTS.read_text())["commands"] if RESULTS.exists() else {}
    commands[name] = {"grnf": __version__, **counts, "problems": problems}
    commands = {name: commands[name] for name in CASES if name in commands}
    totals = {"faults": sum(each.get(kind, 0) for each in commands.values() for kind in KINDS)}
    totals["problems"] = sum(each["problems"] for each in commands.values())
    content = {"command": "make faults", "kinds": KINDS, **totals, "commands": commands}
    RESULTS.write_text(json.dumps(content, indent=2) + "\n")


def run_from_shell():
    """Enumerate the faults that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*CASES, []], default=[])
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--n", type=int)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    names, kinds = options.names or list(CASES), [options.kind] if options.kind else KINDS
    warm_up(names)
    if options.n is not None:
        with tempfile.TemporaryDirectory() as folder:
            faults = Enumeration(CASES[names[0]], folder)
            print(faults.operation(options.n), "->", faults.problem(kinds[0], options.n) or "as it should be")
        return
    total = problems = 0
    every = options.step == 1 and options.kind is None
    task = partial(enumerate_case, kinds=kinds, step=options.step)
    with ProcessPoolExecutor(options.jobs, get_context("fork")) as pool:
        for name, counts, found in pool.map(task, names):
            total, problems = total + counts.total(), problems + found
            if every:
                store(name, counts, found)
    print(f"{total} faults in {len(names)} commands, {problems} problems")
    sys.exit(bool(problems))


if __name__ == "__main__":
    run_from_shell()
