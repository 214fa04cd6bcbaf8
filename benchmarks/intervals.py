"""Coverage and length of intervals for d_P^2, by method and M: python benchmarks/intervals.py.

Two graphs; the truth is the mean of 2^20 terms. Results: results/intervals.json.
"""

import measure
import numpy as np

from grnf import GRNF
from grnf.datasets import make_sbm
from grnf.metric import distance

SIZES = {32: 400, 128: 400, 512: 400, 2048: 400, 8192: 128, 65_536: 16}
METHODS = ("betting", "bernstein", "clt")


def all_terms(grnf, pair, count):
    chunks = [grnf.features(pair, start, start + 2**16) for start in range(0, count, 2**16)]
    return np.concatenate([np.square(psi[0] - psi[1]) for psi in chunks])


def main():
    graphs, _ = make_sbm(10, random_state=0)
    pair = [graphs[0], graphs[2]]
    grnf = GRNF(random_state=0, dtype="float64").fit(pair)
    terms = all_terms(grnf, pair, 2**20)
    truth, found = float(terms.mean()), {}
    for M, repetitions in SIZES.items():
        held = dict.fromkeys(METHODS, 0)
        length = dict.fromkeys(METHODS, 0.0)
        for part in terms[: M * repetitions].reshape(repetitions, M):
            estimate = distance(np.zeros(M), np.sqrt(part / M))
            for method in METHODS:
                low, high = estimate.squared_interval(0.95, method)
                held[method] += low <= truth <= high
                length[method] += (high - low) / repetitions
        found[M] = {
            "repetitions": repetitions,
            "coverage": {method: held[method] / repetitions for method in METHODS},
            "length_over_truth": {method: round(length[method] / truth, 3) for method in METHODS},
        }
        print(M, found[M], flush=True)
    measure.store("intervals", {"squared_distance": truth, "delta": 0.05, "by_M": found})


if __name__ == "__main__":
    main()
