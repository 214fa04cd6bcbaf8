"""Exact search among many molecules, compared with faiss and RDKit: python benchmarks/search.py TRAIN TEST.

TRAIN and TEST are tables of SMILES, with vectors in the same folder, made by

    grnf embed train.csv.gz -o train.npy -m 512 --seed 0

(MOSES: `pip download molsets==0.3.1` has both tables.) faiss-cpu and rdkit must be installed. Every query is
asked of all one after the other, so that a noisy moment hits all of them. Results: results/search.json.
"""

import argparse
import csv
import gzip
import json
import os
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import peak_memory, store

from grnf.search import GraphIndex

RECALL = 0.99


def timed(call, *arguments):
    start = time.perf_counter()
    answer = call(*arguments)
    return answer, time.perf_counter() - start


def spread(seconds):
    return {
        "median_ms": round(1e3 * float(np.median(seconds)), 3),
        "p99_ms": round(1e3 * float(np.quantile(seconds, 0.99)), 3),
    }


def own_index(Z, folder):
    """Build, save and open again; the opened one answers."""
    made = GraphIndex()
    memory, building = timed(peak_memory, lambda: made.add(Z))
    _, saving = timed(made.save, folder)
    made = None
    opened, opening = timed(GraphIndex.load, folder)
    disk = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    about = {
        "build_seconds": round(building, 1),
        "save_seconds": round(saving, 1),
        "open_seconds": round(opening, 2),
        "build_peak_over_vectors": round(1e6 * memory / Z.nbytes, 2) if memory else None,
        "disk_over_vectors": round(disk / Z.nbytes, 3),
    }
    return opened, about


def approximate(Z, hnsw):
    """Yield (name, index, setting, values to try) of the approximate indexes of faiss."""
    import faiss

    sample = np.ascontiguousarray(Z[np.linspace(0, len(Z) - 1, 40_000).astype(int)])
    ivf = faiss.index_factory(Z.shape[1], f"IVF{1024 if len(Z) > 500_000 else 512},Flat")
    start = time.perf_counter()
    ivf.cp.niter = 10
    ivf.train(sample)
    for first in range(0, len(Z), 100_000):
        ivf.add(np.ascontiguousarray(Z[first : first + 100_000]))
    yield "faiss IVF", ivf, "nprobe", (1, 2, 4, 8, 16, 32, 64, 128, 256), time.perf_counter() - start
    if hnsw is not None and hnsw.exists():
        yield (
            "faiss HNSW",
            faiss.read_index(str(hnsw)),
            "efSearch",
            (16, 32, 64, 128, 256, 512, 1024, 2048),
            None,
        )


def tuned(index, setting, values, Q, true, k):
    """Set the cheapest value whose recall on the queries is high enough; return it and the recall."""
    for value in values:
        if setting == "nprobe":
            index.nprobe = value
        else:
            index.hnsw.efSearch = max(value, k)
        _, found = index.search(Q, k)
        recall = np.mean([len(set(a) & set(b)) / k for a, b in zip(found.tolist(), true, strict=True)])
        if recall >= RECALL:
            return value, float(recall)
    return value, float(recall)


def searched(own, flat, others, Q, k):
    """Ask all about each query in turn; then all queries at once."""
    _, true = flat.search(Q, k)
    true = true.tolist()
    settings = {name: tuned(index, what, values, Q, true, k) for name, index, what, values, _ in others}
    calls = {"grnf": lambda q: own.search(q, k), "faiss flat": lambda q: flat.search(q, k)}
    calls |= {name: (lambda q, index=index: index.search(q, k)) for name, index, *_ in others}
    seconds = {name: [] for name in calls}
    for call in calls.values():
        call(Q)
    for row in range(len(Q)):
        for name, call in calls.items():
            seconds[name].append(timed(call, Q[row : row + 1])[1])
    at_once = {name: 1e3 * timed(call, Q)[1] / len(Q) for name, call in calls.items()}
    result = {name: {**spread(seconds[name]), "at_once_ms": round(at_once[name], 3)} for name in calls}
    for name, (value, recall) in settings.items():
        result[name] |= {"setting": value, "recall": round(recall, 4)}
    result["grnf"]["recall"] = exactness(own, Q, true, k)
    base = result["grnf"]["median_ms"]
    for row in result.values():
        row["over_grnf"] = round(row["median_ms"] / base, 1)
        row["at_once_over_grnf"] = round(row["at_once_ms"] / result["grnf"]["at_once_ms"], 1)
    return result


def exactness(own, Q, true, k):
    """Share of the k nearest by faiss flat that are found; a graph as near as the last one counts."""
    hits, shares = own.search(Q, k), []
    for query, names, far, wanted in zip(Q, hits.ids, hits.distances, true, strict=True):
        missed = set(map(str, wanted)) - set(names)
        rows = np.array([own.row(name) for name in missed], dtype=np.float64).reshape(-1, Q.shape[1])
        nearer = np.linalg.norm(rows - query, axis=1) < far[-1] * (1 - 1e-12)
        shares.append(1 - nearer.sum() / k)
    return float(np.mean(shares))


def tanimoto(train, test, count, most):
    """RDKit's bulk similarity on Morgan fingerprints, one query at a time."""
    from rdkit import Chem, DataStructs
    from rdkit.Chem import rdFingerprintGenerator

    make = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    prints = [make.GetFingerprint(Chem.MolFromSmiles(text)) for text in smiles(train)[:most]]
    asked = [make.GetFingerprint(Chem.MolFromSmiles(text)) for text in smiles(test)[:count]]
    seconds = []
    for query in asked:

        def nearest(query=query):
            similar = np.asarray(DataStructs.BulkTanimotoSimilarity(query, prints))
            return np.argpartition(similar, -10)[-10:]

        seconds.append(timed(nearest)[1])
    return {"molecules": len(prints), "queries": count, **spread(seconds)}


def smiles(path):
    with gzip.open(path, "rt") as file:
        return [row["SMILES"] for row in csv.DictReader(file)]


def main():
    import faiss

    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("train", type=Path, help="NAME.csv.gz, with NAME.npy in the same folder")
    options.add_argument("test", type=Path)
    options.add_argument("--queries", type=int, default=100)
    options.add_argument("--hnsw", type=Path, help="an HNSW index of the same vectors, written by faiss")
    options.add_argument("--fingerprints", type=int, help="molecules for RDKit; by default all, 0 for none")
    given = options.parse_args()
    Z, T = (np.load(str(path).replace(".csv.gz", ".npy")) for path in (given.train, given.test))
    Q = np.ascontiguousarray(T[np.linspace(0, len(T) - 1, given.queries).astype(int)])
    folder = Path(tempfile.mkdtemp(dir=given.train.parent)) / "index"
    try:
        own, about = own_index(Z, folder)
        own.n_jobs = os.cpu_count()
        about["opened_over_vectors"] = round(1e6 * peak_memory(lambda: own.search(Q, 10)) / Z.nbytes, 3)
        result = {"vectors": list(Z.shape), "queries": len(Q), "cores": os.cpu_count(), "index": about}
        print(json.dumps(result), flush=True)
        flat = faiss.IndexFlatL2(Z.shape[1])
        flat.add(Z)
        others = list(approximate(Z, given.hnsw))
        result["approximate_build_seconds"] = {name: seconds for name, *_, seconds in others}
        del Z
        for k in (10, 1000):
            result[f"k={k}"] = searched(own, flat, others, Q, k)
            print(json.dumps(result[f"k={k}"]), flush=True)
            store("search", result)
        del flat, others
        if given.fingerprints != 0:
            result["tanimoto"] = tanimoto(given.train, given.test, 20, given.fingerprints)
        store("search", result)
        print(json.dumps(result, indent=2))
    finally:
        shutil.rmtree(folder.parent)


if __name__ == "__main__":
    main()
