"""Nearest neighbors: accuracy of 1 and 3 of them in several vector spaces, on TU datasets and molecules."""

import csv
import time

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import StratifiedKFold

from experiments.sets import load_graphs
from experiments.study import Table
from grnf import GRNF, JointFeatures, WLFingerprint
from grnf.collection import fit_encode
from grnf.estimators.histograms import LabelColumns, label_pairs, wl_labels
from grnf.io.encode import AttributeEncoder
from grnf.search.whitening import space_map

TITLE = "Nearest neighbors: accuracy by vector space"
ABOUT = (
    "Each graph gets the class of its nearest graph, and of the majority of the nearest three (of the "
    "nearest one if they disagree), among the other four folds; five folds, three times. Equal distances "
    "come in a random order. At most 2,000 "
    "graphs of a dataset, drawn at random. Axes and scales are fitted on all of them without classes, as in "
    "an index. "
    "WL-OA is the exact histogram intersection kernel of WL labels of depths 0 to 4, normalized."
)
PLACES = ("neighbors",)

SETS = (
    "AIDS", "BZR", "COLLAB", "DHFR", "ENZYMES", "Fingerprint", "IMDB-BINARY", "IMDB-MULTI", "KKI",
    "Letter-high", "MUTAG", "NCI1", "NCI109", "PROTEINS_full", "PTC_MR", "SYNTHETICnew", "Tox21_AR-LBD",
)  # fmt: skip
TABLES = {
    "bbbp": ("molnet/bbbp.csv", "smiles", "p_np"),
    "clintox": ("molnet/clintox.csv", "smiles", "CT_TOX"),
    **{
        name: (f"tdc/{name}_train.csv", "Drug", "Y")
        for name in (
            "AMES", "BBB_Martins", "Bioavailability_Ma", "CYP2C9_Substrate_CarbonMangels", "CYP2C9_Veith",
            "CYP2D6_Substrate_CarbonMangels", "CYP2D6_Veith", "CYP3A4_Substrate_CarbonMangels",
            "CYP3A4_Veith", "DILI", "HIA_Hou", "Pgp_Broccatelli", "hERG",
        )
    },
}  # fmt: skip
MOST, REPEATS, DEEP, CANDIDATES = 2000, 3, 4, 60
EQUAL = 1e-9
"""Distances are equal if they differ by less than this share of their mean: many graphs are duplicates."""
METHODS = {
    "plain": "GRNF, plain",
    "whitened": "GRNF, whitened",
    "hashed": "hashed WL labels, 512",
    "wl_oa": "exact WL-OA",
    "morgan": "Morgan, Tanimoto",
    "joint": "joint, 192",
}


def distances(Z):
    """Return squared distances between all rows."""
    Z = np.asarray(Z, dtype=np.float64)
    squares = np.square(Z).sum(axis=1)
    return squares[:, np.newaxis] + squares - 2 * Z @ Z.T


def wl_oa(batch):
    """Return 1 - the normalized histogram intersection kernel."""
    columns = (
        LabelColumns.of(batch.node_attr, batch.node_codes),
        LabelColumns.of(batch.edge_attr, batch.edge_codes),
    )
    keys = np.concatenate(
        [label_pairs(batch, own, t)[0] for t, own in enumerate(wl_labels(batch, DEEP, *columns))]
    )
    rows = np.tile(np.repeat(np.arange(len(batch)), batch.sizes), DEEP + 1)
    kinds, columns = np.unique(keys, return_inverse=True)
    members = sp.csr_array(
        (np.ones(len(keys), np.float32), (rows, columns.ravel())), shape=(len(batch), max(len(kinds), 1))
    )
    shared = (members @ members.T).toarray() + 1  # a key that all graphs have
    size = np.sqrt(np.diagonal(shared))
    return 1 - shared / size[:, np.newaxis] / size


def tanimoto(smiles):
    """Return 1 - the Tanimoto similarity of Morgan fingerprints."""
    F = morgan_bits(smiles)
    shared, size = F @ F.T, F.sum(axis=1)
    return 1 - shared / np.maximum(size[:, np.newaxis] + size - shared, 1)


def morgan_bits(smiles):
    """Return the Morgan fingerprints (radius 2, 2,048 bits) of molecules."""
    from rdkit.Chem import MolFromSmiles, rdFingerprintGenerator

    made = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    return np.stack([made.GetFingerprintAsNumPy(MolFromSmiles(one)) for one in smiles]).astype(np.float32)


def read_table(path, smiles, target=None, most=None):
    """Return the SMILES that RDKit reads, of `most` rows at random, and their classes."""
    import gzip

    from rdkit import RDLogger
    from rdkit.Chem import MolFromSmiles

    RDLogger.DisableLog("rdApp.*")
    with gzip.open(path, "rt") if path.suffix == ".gz" else open(path, newline="") as file:
        rows = [row for row in csv.DictReader(file) if target is None or row[target] != ""]
    if most is not None:
        chosen = np.random.default_rng(0).permutation(len(rows))[:most]
        rows = [rows[place] for place in chosen]
    mols = [MolFromSmiles(row[smiles]) for row in rows]
    good = [row for row, mol in zip(rows, mols, strict=True) if mol is not None and mol.GetNumAtoms()]
    y = None if target is None else np.array([float(row[target]) for row in good])
    return [row[smiles] for row in good], y


def accuracies(D, y, repeats):
    """Return the accuracy of 1 and of 3 nearest neighbors in %, from distances between all graphs.

    Equal distances (up to rounding) come in a random order, the same for all methods.
    """
    n, unit = len(y), EQUAL * np.mean(D)
    D = np.round(D / unit) + np.random.default_rng(0).random((n, n))
    np.fill_diagonal(D, np.inf)
    count = min(CANDIDATES, n - 1)
    near = np.argpartition(D, count - 1, axis=1)[:, :count]
    order = np.lexsort((near, np.take_along_axis(D, near, axis=1)), axis=1)
    near = np.take_along_axis(near, order, axis=1)
    found = []
    for repeat in range(repeats):
        fold = np.empty(n, np.int64)
        cuts = StratifiedKFold(5, shuffle=True, random_state=repeat).split(y, y)
        for number, (_, judged) in enumerate(cuts):
            fold[judged] = number
        known = fold[near] != fold[:, np.newaxis]
        first = np.argsort(~known, axis=1, kind="stable")[:, :3]
        votes = y[np.take_along_axis(near, first, axis=1)]
        majority = np.where(votes[:, 1] == votes[:, 2], votes[:, 1], votes[:, 0])
        found.append([(votes[:, 0] == y).mean(), (majority == y).mean()])
    return (100 * np.mean(found, axis=0)).round(2).tolist()


def cpu_seconds(transformer, batch):
    """Return the CPU time of `transform`, the smallest of three runs."""
    times = []
    for _ in range(3):
        start = time.process_time()
        transformer.transform(batch)
        times.append(time.process_time() - start)
    return min(times)


def measured(graphs, y, most, repeats, smiles=None):
    """Return accuracies by method, and CPU times of two transformers."""
    chosen = np.sort(np.random.default_rng(0).permutation(len(y))[:most])
    y = np.unique(y[chosen], return_inverse=True)[1]
    if smiles is None:
        batch = graphs.take(chosen)
    else:
        smiles = [smiles[row] for row in chosen]
        batch = fit_encode(smiles, AttributeEncoder())[1].batch
    plain = GRNF(random_state=0).fit(batch)
    hashed = WLFingerprint().fit(batch)
    wide = GRNF(1024, random_state=0).fit_transform(batch)
    spaces = {
        "plain": lambda: distances(plain.transform(batch)),
        "whitened": lambda: distances(space_map("whitened", wide)(wide)),
        "hashed": lambda: distances(hashed.transform(batch)),
        "wl_oa": lambda: wl_oa(batch),
        "joint": lambda: distances(JointFeatures(random_state=0).fit_transform(batch)),
    }
    if smiles is not None:
        spaces["morgan"] = lambda: tanimoto(smiles)
    return {
        "graphs": len(y),
        "accuracy": {name: accuracies(space(), y, repeats) for name, space in spaces.items()},
        "cpu_seconds": {"WLFingerprint": cpu_seconds(hashed, batch), "GRNF": cpu_seconds(plain, batch)},
    }


def summary(results):
    """Return means over datasets: gains over plain GRNF, shortfalls from the best of the other methods."""
    rows = [found["accuracy"] for found in results.values()]
    joint = np.array([row["joint"] for row in rows])
    plain = np.array([row["plain"] for row in rows])
    best = np.array([np.max([row[name] for name in row if name != "joint"], axis=0) for row in rows])
    short = np.maximum(best - joint, 0)
    return {
        "gain over plain GRNF": (joint - plain).mean(axis=0),
        "the same for the best other method of each dataset, known afterwards": (best - plain).mean(axis=0),
        "shortfall from the best other method": short.mean(axis=0),
        "largest shortfall": short.max(axis=0),
    }


def tables(results):
    shown, groups = [], {}
    for title, names in (("TU datasets", SETS), ("molecules", TABLES)):
        found = {name: results[name] for name in names if name in results}
        if not found:
            continue
        groups[title] = found
        methods = [name for name in METHODS if any(name in row["accuracy"] for row in found.values())]
        rows = []
        for name, row in found.items():
            best = np.max(list(row["accuracy"].values()), axis=0)
            cells = [_cell(row["accuracy"].get(method), best) for method in methods]
            rows.append([name, f"{row['graphs']:,}", *cells])
        ratio = np.median(
            [row["cpu_seconds"]["WLFingerprint"] / row["cpu_seconds"]["GRNF"] for row in found.values()]
        )
        note = f"WLFingerprint took {ratio:.2f} times the CPU time of GRNF with 512 features (median)."
        shown.append(
            Table(f"{title}: 1 / 3 neighbors, %", ["", "graphs", *map(METHODS.get, methods)], rows, note)
        )
    columns = [summary(found) for found in (*groups.values(), results)]
    rows = [[name, *(_two(column[name]) for column in columns)] for name in columns[0]]
    shown.append(Table("Joint vectors, mean over datasets, points", ["", *groups, "all"], rows))
    return shown


def _two(values):
    return " / ".join(f"{value:.1f}" for value in values)


def _cell(values, best):
    if values is None:
        return ""
    marked = [f"**{v:.1f}**" if v >= top - 0.005 else f"{v:.1f}" for v, top in zip(values, best, strict=True)]
    return " / ".join(marked)


def settings(study):
    return {"graphs, at most": 60 if study.quick else MOST, "repeats": 1 if study.quick else REPEATS}


def run(study):
    most, repeats = settings(study).values()
    results = {}
    for name in ("ENZYMES",) if study.quick else SETS:
        study.tell(name)
        what = {"experiment": "neighbors", "set": name, "most": most, "repeats": repeats}
        results[name] = study.cached(what, lambda: measured(*load_graphs(name, study), most, repeats))
    for name, (path, smiles, target) in ({} if study.quick else TABLES).items():
        study.tell(name)
        what = {"experiment": "neighbors", "set": name, "most": most, "repeats": repeats}

        def compute():
            molecules, y = read_table(study.path("molecules", path), smiles, target)
            return measured(None, y, most, repeats, molecules)

        results[name] = study.cached(what, compute)
    return results
