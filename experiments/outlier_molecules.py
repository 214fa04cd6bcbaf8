"""Outliers: molecules of another chemistry, compared with the largest Morgan/Tanimoto similarity."""

import numpy as np
from sklearn.metrics import roc_auc_score

from experiments.neighbors import morgan_bits, read_table
from experiments.study import Table
from grnf import GRNF
from grnf.stats import GRNFOutlierDetector

TITLE = "Outliers: molecules of another chemistry"
ABOUT = (
    "1,000 molecules of a table are the reference. 500 others of it and 500 molecules of another table are "
    "judged. AUC: how well scores separate the two. Morgan: 1 - the largest Tanimoto similarity to a "
    "reference molecule (radius 2, 2,048 bits). Flagged: share of molecules of the other table at a false "
    "discovery rate of 0.1, and share of inliers among all that are flagged. Level: share of inliers with "
    "p <= 0.05."
)
PLACES = ("outlier-molecules",)

FILES = {
    "esol": ("molnet/esol.csv", "smiles"),
    "bbbp": ("molnet/bbbp.csv", "smiles"),
    "hiv": ("hiv_train.csv.gz", "smiles"),
    "moses": ("moses_test.csv.gz", "SMILES"),
    "CYP2C9": ("tdc/CYP2C9_Veith_train.csv", "Drug"),
    "AMES": ("tdc/AMES_train.csv", "Drug"),
    "Pgp": ("tdc/Pgp_Broccatelli_train.csv", "Drug"),
}
TRIALS = (
    ("moses", "hiv"), ("moses", "bbbp"), ("CYP2C9", "hiv"), ("CYP2C9", "moses"), ("CYP2C9", "Pgp"),
    ("bbbp", "moses"), ("AMES", "CYP2C9"), ("AMES", "esol"), ("hiv", "moses"), ("hiv", "CYP2C9"),
    ("hiv", "bbbp"), ("esol", "CYP2C9"),
)  # fmt: skip
REFERENCE, JUDGED = 1000, 500


def drawn(study, name, count, generator):
    """Return molecules of a table at random."""
    path, column = FILES[name]
    smiles = study.cached(
        {"experiment": "outlier_molecules", "table": name},
        lambda: sorted(set(_some(study.path("molecules", path), column))),
    )
    return [smiles[place] for place in generator.permutation(len(smiles))[:count]]


def _some(path, column):
    smiles, _ = read_table(path, column, most=5000)
    return smiles


def measure(usual, other):
    """Return AUC of Morgan and of two detectors, and what the default flags."""
    reference, rest = usual[:REFERENCE], usual[REFERENCE:]
    other = [one for one in other if one not in set(usual)]
    judged, truth = [*rest, *other], np.repeat([0, 1], [len(rest), len(other)])
    bits, known = morgan_bits(judged), morgan_bits(reference)
    shared = bits @ known.T
    similarity = shared / (bits.sum(axis=1)[:, np.newaxis] + known.sum(axis=1) - shared)
    detector = GRNFOutlierDetector(random_state=0).fit(reference)
    report = detector.detect(judged)
    before = GRNFOutlierDetector(GRNF(random_state=0), space="whitened", n_neighbors=5, random_state=0)
    flagged = report.outliers
    return {
        "auc": {
            "morgan": float(roc_auc_score(truth, -similarity.max(axis=1))),
            "joint": float(roc_auc_score(truth, report.scores)),
            "whitened": float(roc_auc_score(truth, -before.fit(reference).score_samples(judged))),
        },
        "flagged": float(flagged[truth == 1].mean()),
        "false": float((flagged & (truth == 0)).sum() / max(flagged.sum(), 1)),
        "level": float((report.pvalues[truth == 0] <= 0.05).mean()),
    }


def tables(results):
    rows = []
    for name, row in results.items():
        auc = [f"{row['auc'][method]:.3f}" for method in ("whitened", "joint", "morgan")]
        rows.append([name, *auc, *(f"{100 * row[key]:.1f}" for key in ("flagged", "false", "level"))])
    means = [
        np.mean([r["auc"][method] for r in results.values()]) for method in ("whitened", "joint", "morgan")
    ]
    shares = [100 * np.mean([r[key] for r in results.values()]) for key in ("flagged", "false", "level")]
    rows.append(["mean", *(f"{v:.3f}" for v in means), *(f"{v:.1f}" for v in shares)])
    header = ["reference, others", "GRNF, whitened", "joint (default)", "Morgan", "flagged, %"]
    return [Table("AUC", [*header, "inliers among them, %", "inliers with p <= 0.05, %"], rows)]


def settings(_study):
    return {"reference": REFERENCE, "judged": 2 * JUDGED, "fdr": 0.1}


def run(study):
    results = {}
    for usual, other in TRIALS[:1] if study.quick else TRIALS:
        study.tell(f"{usual}, {other}")

        def compute():
            generator = np.random.default_rng(study.seed)
            return measure(
                drawn(study, usual, REFERENCE + JUDGED, generator), drawn(study, other, JUDGED, generator)
            )

        what = {"experiment": "outlier_molecules", "usual": usual, "other": other, "seed": study.seed}
        results[f"{usual}, {other}"] = study.cached(what, compute)
    return results
