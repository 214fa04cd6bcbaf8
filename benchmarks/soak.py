"""Long runs: memory stays flat and results stay equal. `make soak`.

    python benchmarks/soak.py              all parts; results go to benchmarks/results/soak.json
    python benchmarks/soak.py --scale 0.1  a tenth of the sizes

Each part runs in a process of its own, which compares its memory after a tenth of the work with its memory at
the end. A part stops after `--seconds`, and the sizes that were run are stored.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np

from grnf import GRNF, __version__
from grnf.datasets import make_sbm
from grnf.io import write_graphs
from grnf.io.vectors import read_vectors
from grnf.scale import embed
from grnf.search import GraphIndex
from grnf.stats import ChangeDetector

RESULTS = Path(__file__).resolve().parent / "results" / "soak.json"
SIZES = {"embed": 1_000_000, "transforms": 500, "updates": 10_000, "threads": 200}
GROWTH = 32e6
"""Bytes by which memory may grow between a tenth of the work and its end."""
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "NUMBA")}
"""For each part: on a busy computer, threads that wait for each other take most of the time."""


def memory():
    """Return the bytes of memory that this process uses, without pages of files."""
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith("RssAnon"))
    return int(line.split()[1]) * 1024


def repeat(step, size, seconds):
    """Call a step with 0, 1, ... for some time; return how often, and the memory early and late."""
    start, early = time.monotonic(), 0
    for number in range(size):
        step(number)
        passed = time.monotonic() - start
        if not early and (number + 1 >= size / 10 or passed > seconds / 10):
            early = memory()
        if passed > seconds:
            break
    return number + 1, early, memory()


def soak_embed(size, seconds):
    """Embed the same file of small graphs again and again; it repeats 1,000 graphs."""
    graphs = make_sbm(1_000, n_nodes=8, random_state=0)[0]
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "in.g6", Path(folder) / "z"
        each = min(size // 10, 100_000)
        write_graphs(source, [graph for _ in range(each // 1_000) for graph in graphs])
        expected = GRNF(16, random_state=0).fit_transform(graphs)

        def step(number):
            target = output.with_name(f"z{number}.npy")
            embed(source, target, GRNF(16, random_state=0))
            Z = read_vectors(target).Z.reshape(-1, *expected.shape)
            assert np.allclose(Z, expected, rtol=1e-6, atol=1e-7), "another vector of the same graph"
            target.unlink()

        runs, early, late = repeat(step, size // each, seconds)
    return runs * each, early, late


def soak_transforms(size, seconds):
    """Transform the same graphs again and again."""
    graphs = make_sbm(200, random_state=0)[0]
    grnf = GRNF(64, random_state=0).fit(graphs)
    expected = grnf.transform(graphs)

    def step(_):
        assert np.array_equal(grnf.transform(graphs), expected), "another result"

    return repeat(step, size, seconds)


def soak_updates(size, seconds):
    """Update a detector graph by graph; compare its evidence with that of one update."""
    generator = np.random.default_rng(0)
    reference, stream = generator.normal(size=(200, 8)), generator.normal(size=(size, 8))
    detector = ChangeDetector(random_state=0).fit(reference)
    evidence = []
    done, early, late = repeat(
        lambda row: evidence.append(detector.update(stream[row : row + 1]).evidence[0]), size, seconds
    )
    whole = ChangeDetector(random_state=0).fit(reference).update(stream[:done]).evidence
    assert np.allclose(evidence, whole, atol=1e-6), "pieces make a difference"
    return done, early, late


def soak_threads(size, seconds):
    """Search an index from many threads at once, some times."""
    graphs = make_sbm(2_000, random_state=0)[0]
    index = GraphIndex(GRNF(32, random_state=0)).add(graphs)
    queries = [graphs[row : row + 2] for row in range(size)]
    expected = [index.search(query, n_neighbors=5).ids for query in queries]

    def step(_):
        together = Barrier(size)

        def search(row):
            together.wait()
            return index.search(queries[row], n_neighbors=5).ids

        with ThreadPoolExecutor(size) as threads:
            assert list(threads.map(search, range(size))) == expected, "another result"

    repeats, early, late = repeat(step, 20, seconds)
    return {"threads": size, "repeats": repeats}, early, late


PARTS = {
    "embed": soak_embed,
    "transforms": soak_transforms,
    "updates": soak_updates,
    "threads": soak_threads,
}


def run_from_shell():
    """Run all parts, or one of them in this process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seconds", type=float, default=600, help="of each part")
    options = parser.parse_args()
    sizes = {name: max(10, int(size * options.scale)) for name, size in SIZES.items()}
    if options.part is not None:
        start = time.process_time()
        size, early, late = PARTS[options.part](sizes[options.part], options.seconds)
        flat = bool(early and late - early < GROWTH)
        megabytes = {"at_a_tenth": round(early / 1e6, 1), "at_the_end": round(late / 1e6, 1)}
        seconds = round(time.process_time() - start, 1)
        print(json.dumps({"done": size, "megabytes": megabytes, "flat": flat, "cpu_seconds": seconds}))
        return
    results = {
        "command": "make soak",
        "grnf": __version__,
        "asked": sizes,
        "seconds": options.seconds,
        "environment": ONE_THREAD,
        "parts": {},
    }
    for name in PARTS:
        command = [sys.executable, __file__, "--part", name, "--scale", str(options.scale)]
        command += ["--seconds", str(options.seconds)]
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            text=True,
            timeout=4 * options.seconds + 600,
            env={**os.environ, **ONE_THREAD},
        )
        results["parts"][name] = json.loads(done.stdout) if done.returncode == 0 else {"failed": True}
        print(name, results["parts"][name], flush=True)
        RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    sys.exit(not all(part.get("flat") for part in results["parts"].values()))


if __name__ == "__main__":
    run_from_shell()
