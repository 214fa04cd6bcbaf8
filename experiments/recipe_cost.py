"""What `GRNFClassifier` costs on 20,000 molecules: processor seconds of one core, and peak memory.

Run: OMP_NUM_THREADS=1 python experiments/recipe_cost.py
"""

import gzip
import resource
import time

import numpy as np
from common import parser, save

from grnf import GRNFClassifier


def main(arguments=None):
    options = parser(__doc__).parse_args(arguments)
    count = 300 if options.tiny else 20_000
    path = options.data.parent / "molecules" / "moses_test.csv.gz"
    with gzip.open(path, "rt") as file:
        smiles = [line.strip() for line, _ in zip(file, range(count + 1), strict=False)][1:]
    y = np.array([text.count("N") >= 3 for text in smiles], dtype=int)
    start = time.process_time()
    model = GRNFClassifier().fit(smiles, y)
    results = {
        "graphs": len(smiles),
        "processor_seconds_fit": round(time.process_time() - start, 1),
        "peak_memory_MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "accuracy_inside": round(model.best_score_, 4),
    }
    print(results)
    settings = {
        "data": "the first molecules of MOSES' test set",
        "target": "three atoms N or more in the SMILES",
    }
    save("recipe_cost", options.output, settings, results)


if __name__ == "__main__":
    main()
