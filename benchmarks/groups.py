"""Self-join and clusters of many graphs: python benchmarks/groups.py [join] [random] [cluster] [bblean].

Each part is added to results/groups.json. `bblean` needs that package (PyPI) in the Python given by
--bblean-python, with rdkit. Times are wall and CPU seconds: CPU seconds / 2 estimates the time on two quiet
cores. The data are the 176,074 molecules of MOSES in the shared folder, and random graphs.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import DATA, RESULTS, exponent, store, stored

from grnf import GRNF, Graph, JointFeatures
from grnf.io import read_graphs
from grnf.search.self_join import SelfJoin

MOSES = DATA / "molecules" / "moses_test.csv.gz"
RADIUS = {"d_P": 0.018, "joint": 0.6}
"""About the median distance to the nearest neighbor."""
MOST = {"d_P": 10**7, "joint": 100_000}
"""Rows up to which the nearest neighbors of all are measured."""


def timed(call):
    wall, cpu = time.perf_counter(), time.process_time()
    answer = call()
    return answer, {"wall": round(time.perf_counter() - wall, 1), "cpu": round(time.process_time() - cpu, 1)}


def vectors(space, folder):
    """Vectors of MOSES, made once."""
    file = folder / f"{space}.npy"
    if not file.exists():
        graphs = list(read_graphs(MOSES))
        makers = {"joint": JointFeatures(random_state=0, n_jobs=1), "d_P": GRNF(random_state=0, n_jobs=1)}
        np.save(file, makers[space].fit_transform(graphs))
    return np.load(file)


def joined(Z, radius, most, k=10):
    """Times of both joins, the nearest neighbors only up to a number of rows."""
    SelfJoin(Z[:600]).pairs(radius), SelfJoin(Z[:600]).nearest(k)  # compiles
    join, building = timed(lambda: SelfJoin(Z))
    expected = join.estimate(radius)
    pairs = [0]

    def count(first, *_):
        pairs[0] += len(first)

    row = {"rows": len(Z), "numbers": Z.shape[1], "radius": radius, "build": building}
    row["expected_seconds"], row["expected_pairs"] = round(expected[0], 1), round(expected[1])
    row["within"] = timed(lambda: join.each(radius, count))[1] | {"pairs": pairs[0]}
    if len(Z) <= most:
        row[f"nearest_{k}"] = timed(lambda: join.nearest(k))[1]
    print(row, flush=True)
    return row


def measure_join(folder):
    result = {}
    for space, radius in RADIUS.items():
        Z = vectors(space, folder)
        order = np.random.default_rng(0).permutation(len(Z))
        rows = [joined(Z[np.sort(order[:n])], radius, MOST[space]) for n in (44_018, 88_037, len(Z))]
        result[space] = {"measured": rows}
        for what in ("within", "nearest_10"):
            some = [(row["rows"], max(row[what]["cpu"], 0.1)) for row in rows if what in row]
            power = exponent(*zip(*some, strict=True))
            result[space][what] = {"exponent": round(power, 2)} | {
                f"extrapolated_cpu_{n}": round(some[-1][1] * (n / some[-1][0]) ** max(power, 1))
                for n in (len(Z), 1_000_000, 1_584_663)
            }
    return result


def random_batch(n, generator):
    """Random trees of 10 to 27 nodes with one of 5 labels per node."""
    sizes = generator.integers(10, 28, n)
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    local = np.arange(ptr[-1]) - np.repeat(ptr[:-1], sizes)
    parents = np.floor(generator.random(len(local)) * np.minimum(local, 6)).astype(np.int64)
    trees = np.stack([local, local - 1 - parents], axis=1)[local > 0]
    return (
        sizes,
        trees,
        np.eye(5, dtype=np.float32)[generator.choice(5, len(local), p=[0.7, 0.1, 0.1, 0.05, 0.05])],
    )


def measure_random(_):
    """The join of a million random graphs, in the space of GRNF."""

    generator = np.random.default_rng(0)
    blocks, grnf = [], None
    for _ in range(20):
        sizes, trees, labels = random_batch(50_000, generator)
        nodes, edges, graphs = 0, 0, []
        for n in sizes.tolist():
            graphs.append(Graph(n, trees[edges : edges + n - 1], labels[nodes : nodes + n]))
            nodes, edges = nodes + n, edges + n - 1
        grnf = grnf or GRNF(random_state=0, n_jobs=1).fit(graphs)
        blocks.append(grnf.transform(graphs))
    Z = np.concatenate(blocks)
    del blocks
    join = SelfJoin(Z[:100_000])
    return joined(Z, join.usual_distance(), len(Z))


def measure_cluster(folder):
    """`grnf cluster` from the file of SMILES to the table of clusters, and its steps after embedding."""
    result = {}
    for space in RADIUS:
        command = [sys.executable, "-m", "grnf", "cluster", str(MOSES), "--space", space, "--n-jobs", "1"]
        command += ["--output", str(folder / "clusters.csv"), "--force"]
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        out, err = done.communicate()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        result[space] = {
            "command": "grnf cluster moses_test.csv.gz --space " + space,
            "wall": round(time.perf_counter() - start, 1), "cpu": round(cpu, 1),
            "peak_megabytes_so_far": round(after.ru_maxrss / 1e3), "output": out.partition(":")[0],
            "messages": [line for line in err.splitlines() if "compiling" not in line],
        }  # fmt: skip
        print(result[space], flush=True)
    return result


BBLEAN = """
import sys, time, gzip, csv, json
import numpy as np, bblean
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator
with gzip.open(sys.argv[1], "rt") as file:
    smiles = [row["SMILES"] for row in csv.DictReader(file)]
wall, cpu = time.perf_counter(), time.process_time()
fps = bblean.fps_from_smiles(smiles, kind="ecfp4", pack=True, n_features=2048)
made = [time.perf_counter() - wall, time.process_time() - cpu]
result = {"version": bblean.__version__}
result["fingerprints"] = {"wall": round(made[0], 1), "cpu": round(made[1], 1)}
for threshold in (0.65,):
    wall, cpu = time.perf_counter(), time.process_time()
    tree = bblean.BitBirch(branching_factor=254, threshold=threshold, merge_criterion="diameter")
    tree.fit(fps, n_features=2048)
    clusters = tree.get_cluster_mol_ids()
    result[f"threshold {threshold}"] = {
        "wall": round(time.perf_counter() - wall, 1), "cpu": round(time.process_time() - cpu, 1),
        "clusters": len(clusters), "alone": sum(len(c) == 1 for c in clusters)}
print(json.dumps(result))
"""


def measure_bblean(python):

    done = subprocess.run([python, "-c", BBLEAN, str(MOSES)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["join", "random", "cluster"])
    parser.add_argument("--folder", type=Path, help="folder of vectors that are made once")
    parser.add_argument("--bblean-python", default=sys.executable)
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp())
    measures = {"join": measure_join, "random": measure_random, "cluster": measure_cluster}
    measures["bblean"] = lambda _: measure_bblean(given.bblean_python)
    for part in given.parts:
        result = stored("groups") if (RESULTS / "groups.json").exists() else {}
        result.pop("made_with", None)
        result |= {"threads": 1, "cores": os.cpu_count(), part: measures[part](folder)}
        store("groups", result)


if __name__ == "__main__":
    main()
