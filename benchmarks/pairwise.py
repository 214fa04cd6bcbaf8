"""`pairwise_distances` of vectors that are equal or nearly so, of distinct ones, and by scikit-learn.

    python benchmarks/pairwise.py

prints seconds and ratios as JSON. One thread each: more would measure the scheduler.
"""

import json
import time

import numpy as np
from sklearn.metrics import pairwise_distances as of_scikit_learn
from threadpoolctl import threadpool_limits

from grnf.metric import pairwise_distances

N, M, CENTRES, NOISE = 10_000, 512, 10, 1e-7


def bench_pairwise(n=N, m=M, rounds=2):
    """Return seconds, shortest of some rounds, and how they compare."""
    generator = np.random.default_rng(0)
    distinct = generator.normal(size=(n, m))
    copies = distinct[generator.integers(0, CENTRES, n)]
    near = copies * (1 + NOISE * generator.normal(size=(n, m)))
    half = np.concatenate([near[: n // 2], near[: n - n // 2]])
    cases = {
        "distinct": distinct,
        f"{CENTRES} distinct": copies,
        f"{CENTRES} centres and noise": near,
        "noise, each twice": half,
        f"{CENTRES} distinct, float32": copies.astype(np.float32),
    }
    found = {name: {"seconds": np.inf, "scikit_learn": np.inf} for name in cases}
    with threadpool_limits(1):
        for _ in range(rounds):
            for name, Z in cases.items():
                for key, function in (("seconds", pairwise_distances), ("scikit_learn", of_scikit_learn)):
                    start = time.perf_counter()
                    function(Z)
                    found[name][key] = min(found[name][key], time.perf_counter() - start)
    for each in found.values():
        each["to_distinct"] = each["seconds"] / found["distinct"]["seconds"]
        each["to_scikit_learn"] = each["seconds"] / each["scikit_learn"]
    return {"n": n, "M": m, "cases": found}


if __name__ == "__main__":
    print(json.dumps(bench_pairwise(), indent=2))
