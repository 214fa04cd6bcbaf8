"""What `GRNFClassifier` costs on 20,000 molecules: CPU seconds of one core, and peak memory."""

import gzip
import resource
import time

import numpy as np

from experiments.study import Table
from grnf import GRNFClassifier

TITLE = "Cost of GRNFClassifier on 20,000 molecules"
ABOUT = "CPU seconds of fit and peak memory of the process; set OMP_NUM_THREADS=1 for seconds of one core."


def settings(study):
    return {
        "graphs": 300 if study.quick else 20_000,
        "data": "the first molecules of MOSES' test set",
        "target": "three atoms N or more in the SMILES",
    }


def run(study):
    with gzip.open(study.path("molecules", "moses_test.csv.gz"), "rt") as file:
        lines = zip(file, range(settings(study)["graphs"] + 1), strict=False)
        smiles = [line.strip() for line, _ in lines][1:]
    y = np.array([text.count("N") >= 3 for text in smiles], dtype=int)
    start = time.process_time()
    model = GRNFClassifier(random_state=0).fit(smiles, y)
    return {
        "graphs": len(smiles),
        "processor_seconds_fit": round(time.process_time() - start, 1),
        "peak_memory_MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "best_score_roc_auc": round(model.best_score_, 4),
    }


def tables(results):
    return [Table("Cost", ["", "value"], [[name, f"{value:,}"] for name, value in results.items()])]
