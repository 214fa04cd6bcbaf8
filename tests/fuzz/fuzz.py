"""Damaged files for every reader and loader, and random options for every command: `make fuzz MINUTES=10`.

    python tests/fuzz/fuzz.py --minutes 10            all; counts are added to benchmarks/results/fuzz.json
    python tests/fuzz/fuzz.py reader-gml --seed 17    one case again

A reader gives graphs or a `GraphError`. A loader works or raises one error, of one line, that names the file.
A command ends with an exit code and without a traceback. Each case takes at most 20 seconds and 4 GB. A seed
stands for one case, and a run begins with the seeds after those of the last run.
"""

import argparse
import hashlib
import io
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from functools import partial
from pathlib import Path

import numpy as np

for library in ("OPENBLAS", "OMP", "NUMBA"):
    os.environ[f"{library}_NUM_THREADS"] = "1"  # threads do not survive a fork
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from test_saved import GRAPHS, VALUES, check, join, split  # noqa: E402
from typer.main import get_command  # noqa: E402

from grnf import GRNF, GRNFClassifier, GRNFRegressor, __version__  # noqa: E402
from grnf.cli import main  # noqa: E402
from grnf.cli.app import app  # noqa: E402
from grnf.estimators.model_file import HEAD  # noqa: E402
from grnf.io import write_graphs  # noqa: E402
from grnf.io.vectors import read_vectors  # noqa: E402
from grnf.maps import GraphMap, map_graphs  # noqa: E402
from grnf.scale import embed  # noqa: E402
from grnf.search import GraphIndex, segments  # noqa: E402
from grnf.stats import ChangeDetector  # noqa: E402
from readers import FORMATS, damaged, read_all, valid_bytes  # noqa: E402

RESULTS = HERE.parents[1] / "benchmarks" / "results" / "fuzz.json"
SLICE, LONGEST, MEMORY = 2, 20, 4 * 2**30
"""Seconds of a target until the next one, and seconds and bytes of a case."""
TEXTS = [
    "", "x", "-1", "0", "3", "1e999", "nan", "auto", "4GB", ".", ",", "a=b", "1:2/3,2:1/3", "csv:x=1", "1,2",
    "edge-list:directed", "none", "all", "t.csv", "t.parquet", "gone/t.json", "[", "ü", "\x1b[31m",
]  # fmt: skip


class TooSlow(BaseException):
    """A case took too long."""


def altered(value, chance):
    """Return a JSON value in which one field, at any depth, is another or absent."""
    if not isinstance(value, dict | list) or not value or chance.random() < 0.1:
        return chance.choice(VALUES)
    keys = list(value) if isinstance(value, dict) else range(len(value))
    key, value = chance.choice(keys), value.copy()
    if chance.random() < 0.1:
        del value[key]
    else:
        value[key] = altered(value[key], chance)
    return value


def reader(name):
    """Return a case for the reader of a format."""
    valid = valid_bytes(name)
    return lambda chance: read_all(name, damaged(valid, chance), os.getcwd())


def loader(path, load, *, is_head=False):
    """Return a case for a loader: a file with other bytes or other fields."""
    valid, is_vectors = path.read_bytes(), path.stem == "z"

    def case(chance):
        path.write_bytes(valid)
        if is_vectors or chance.random() < 0.3:
            path.write_bytes(damaged(valid, chance))
        elif path.suffix == ".npz":
            head, arrays = split(path)
            join(path, altered(head, chance), arrays)
        else:
            head = json.loads(valid)
            content = altered({key: value for key, value in head.items() if key != "checksum"}, chance)
            if is_head and isinstance(content, dict):
                content["checksum"] = segments._checksum(content)
            path.write_text(json.dumps(content))
        check(load, path.parent if is_head or path.name == "_manifest.json" else path)

    return case


def members(path):
    """Return the content of the files in an archive."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def other_array(array, chance):
    """Return an array of another shape, of another type or with other values."""
    flat = array.reshape(-1)
    kind = chance.randrange(6)
    if kind == 0:
        return array[: chance.randint(0, len(array))] if array.ndim else array[None]
    if kind == 1:
        return array[None] if chance.random() < 0.5 else flat
    if kind == 2:
        return array.astype(chance.choice(["i1", "i4", "i8", "u8", "f4", "f8", "?"]))
    if kind == 3:
        return flat[np.array([chance.randrange(flat.size) for _ in range(flat.size)], int)].reshape(
            array.shape
        )
    changed = array.copy()
    if changed.size:
        low, high = (-1, 2**31 - 1) if array.dtype.kind in "iu" else (-1e308, 1e308)
        with np.errstate(all="ignore"):
            values = np.array([low, 0, 1, high]).astype(array.dtype)
        changed.reshape(-1)[chance.randrange(changed.size)] = chance.choice(values)
    return changed


def altered_text(value, chance):
    """Return JSON with one change, which can be in a text that is JSON itself."""
    if isinstance(value, dict) and "views" in value and chance.random() < 0.5:
        return {**value, "views": json.dumps(altered(json.loads(value["views"]), chance))}
    return altered(value, chance)


def model_file(path, use):
    """Return a case for a file of models: other bytes, other fields, or other arrays with their checksums."""
    valid, parts = path.read_bytes(), members(path)
    head = json.loads(parts[HEAD])

    def case(chance):
        kind = chance.random()
        if kind < 0.2:
            path.write_bytes(damaged(valid, chance))
        else:
            content, changed = dict(head), dict(parts)
            if kind < 0.6:
                content["models"] = [altered_text(model, chance) for model in head["models"]]
            else:
                number = chance.randrange(len(head["arrays"]))
                array = np.load(io.BytesIO(parts[f"{number}.npy"]))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of values that a type cannot hold
                    array = other_array(array, chance)
                file = io.BytesIO()
                np.save(file, array)
                changed[f"{number}.npy"] = file.getvalue()
                digests = [*head["arrays"]]
                digests[number] = hashlib.sha256(file.getvalue()).hexdigest()
                content["arrays"] = digests
            changed[HEAD] = json.dumps(content).encode()
            with zipfile.ZipFile(path, "w") as archive:
                for name, data in changed.items():
                    archive.writestr(name, data)
        use()

    return case


def models(folder):
    """Return the cases of saved models, by `load` and by `grnf predict`."""
    write_graphs(folder / "new.g6", GRAPHS[:3])
    classes = np.array(["one", "two"])[np.arange(len(GRAPHS)) % 2]
    numbers = np.array([graph.n_edges for graph in GRAPHS], float)
    made = {
        "classifier": GRNFClassifier(8, random_state=0).fit(GRAPHS, classes),
        "regressor": GRNFRegressor(8, random_state=0).fit(GRAPHS, numbers),
        "linear": GRNFClassifier(8, estimator="linear", random_state=0).fit(GRAPHS, classes),
        "ridge": GRNFRegressor(8, estimator="linear", random_state=0).fit(GRAPHS, numbers),
    }
    cases = {}
    for name, model in made.items():
        path = folder / f"{name}.grnf"
        model.save(path)
        cases[f"load-{name}"] = model_file(path, partial(check, partial(use_model, type(model), path), path))
        predict = ["predict", path.name, "new.g6", "-o", "-"]
        cases[f"predict-{name}"] = model_file(path, partial(command, predict))
    return cases


def use_model(kind, path):
    """Load a model and call all that predicts."""
    model = kind.load(path)
    model.predict(GRAPHS[:3])
    model.applicability(GRAPHS[:3])
    sure = model.predict_set if kind is GRNFClassifier else model.predict_interval
    sure(GRAPHS[:3])


def loaders(folder):
    """Return the cases of loaders, whose files are made in a folder."""
    write_graphs(folder / "in.g6", GRAPHS[:10])
    transformer, state, index = folder / "transformer.json", folder / "state.npz", folder / "x.index"
    vectors, layout = folder / "vectors", folder / "layout.npz"
    fitted = GRNF(8, random_state=0).fit(GRAPHS)
    fitted.save(transformer)
    ChangeDetector(GRNF(8, random_state=0), random_state=0).fit(GRAPHS[:30]).save(state)
    GraphIndex(GRNF(8, random_state=0), keep_graphs=True).add(GRAPHS[:10]).save(index)
    embed(folder / "in.g6", vectors, GRNF(8, random_state=0), shard_size=5)
    made = [folder / f"z.{suffix}" for suffix in ("npy", "npz", "csv", "parquet")]
    for path in made:
        embed(folder / "in.g6", path, GRNF(8, random_state=0))
    map_graphs(GRAPHS, transformer=fitted, layout="pca").save(layout)
    return {
        "load-transformer": loader(transformer, lambda: GRNF.load(transformer)),
        "load-state": loader(
            state, lambda: ChangeDetector.load(state, transformer=fitted).update(GRAPHS[:3])
        ),
        "load-index": loader(
            index / "index.json",
            lambda: GraphIndex.load(index).search(GRAPHS[:1], n_neighbors=2),
            is_head=True,
        ),
        "load-vectors": loader(vectors / "_manifest.json", lambda: read_vectors(vectors)),
        **{f"load-{path.suffix[1:]}": loader(path, lambda path=path: read_vectors(path)) for path in made},
        "load-layout": loader(layout, lambda: GraphMap.load(layout).html()),
    }


def command(arguments):
    """Run a command in this process: it ends with an exit code of ours and without a traceback."""
    sys.argv, sys.stdout, sys.stderr = ["grnf", *arguments], io.StringIO(), io.StringIO()
    try:
        main()
    except SystemExit as end:
        if end.code not in (None, 0, 1, 2):
            raise AssertionError(f"{arguments}: exit code {end.code}") from end
    except Exception as error:
        raise AssertionError(f"{arguments}: {error!r}") from error
    finally:
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__


def options(name, entry):
    """Return a case for the options of a command, whose input does not exist."""
    names = [option for each in entry.params for option in each.opts if option.startswith("-")]
    names = [option for option in names if option not in ("--dask", "--help")]

    def case(chance):
        arguments = ["gone.g6"] * chance.randint(0, 3)
        for _ in range(chance.randint(1, 5)):
            arguments.append(chance.choice(names))
            arguments += [chance.choice(TEXTS)] * (chance.random() < 0.7)
        command([name, *arguments])

    return case


def targets(folder):
    """Return all cases by name."""
    commands = {name: each for name, each in get_command(app).commands.items() if name != "demo"}
    return (
        {f"reader-{name}": reader(name) for name in FORMATS}
        | loaders(folder)
        | models(folder)
        | {f"options-{name}": options(name, entry) for name, entry in commands.items()}
    )


def problem(case, seed):
    """Run one case; return what is wrong, or None."""

    def stop(*_):
        raise TooSlow(f"more than {LONGEST} s")

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, LONGEST)
    try:
        case(random.Random(seed))
    except BaseException:
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return None


def some_seconds(case, seed, notes):
    """Run cases in a process of their own; return the next seed and the problems by seed."""
    notes.write_text("")
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        end = time.monotonic() + SLICE
        with notes.open("w", buffering=1) as file:
            while time.monotonic() < end:
                file.write(json.dumps([seed]) + "\n")
                found = problem(case, seed)
                if found is not None:
                    file.write(json.dumps([seed, found]) + "\n")
                seed += 1
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    lines = [json.loads(line) for line in notes.read_text().splitlines()]
    last, problems = lines[-1][0], dict(line for line in lines if len(line) == 2)
    return last + 1, problems | ({last: f"ended with {code}"} if code else {})


def run_from_shell():
    """Run the cases that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--minutes", type=float, default=10)
    arguments = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results = {"command": "make fuzz", "cpu_hours": 0.0, "cases": {}, "cpu_hours_by_version": {}} | results
    before, found = sum(results["cases"].values()), []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["HOME"] = folder
        sys.stdin = open(os.devnull)  # noqa: SIM115
        cases = targets(Path(folder))
        names = arguments.names or list(cases)
        if arguments.seed is not None:
            print(problem(cases[names[0]], arguments.seed) or "as it should be")
            return
        start = time.monotonic()
        while time.monotonic() < start + 60 * arguments.minutes:
            for name in names:
                if time.monotonic() > start + 60 * arguments.minutes:
                    break
                seed, problems = some_seconds(cases[name], results["cases"].get(name, 0), Path("notes"))
                results["cases"][name] = seed
                found += [name] * len(problems)
                for number, text in problems.items():
                    print(f"{name} --seed {number}: {text}", flush=True)
        os.chdir("/")
    spent = os.times()
    hours = (spent.children_user + spent.children_system) / 3600
    cases = sum(results["cases"].values())
    results["last_run"] = {"cases": cases - before, "problems": len(found)}
    results["cpu_hours"] = round(results["cpu_hours"] + hours, 3)
    by_version = results["cpu_hours_by_version"]
    by_version[__version__] = round(by_version.get(__version__, 0.0) + hours, 3)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    print(f"{cases} cases in {results['cpu_hours']} CPU hours so far, {len(found)} problems now")
    sys.exit(bool(found))


if __name__ == "__main__":
    run_from_shell()
