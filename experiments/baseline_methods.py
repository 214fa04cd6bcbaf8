"""What users have today: kernels and fingerprints with SVMs, counts with forests.

A method is prepared once per set (kernels, counts: no labels), then learns from the training part of a fold:
settings are chosen there, by five folds or from 2,000 graphs on by a hold-out of a tenth, as `GRNFClassifier`
does it.
"""

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit
from sklearn.svm import SVC, SVR

from grnf import GRNFClassifier, GRNFRegressor
from grnf.lifts.base import adjacency, arcs

DEPTHS = (2, 4)
GRID_C = (0.1, 1.0, 10.0, 100.0)
MANY = 2_000
TREES = 300


def score(measure, y, values):
    """Accuracy or ROC-AUC in percent; minus the root mean squared error, so that more is better."""
    if measure == "accuracy":
        return 100 * float(np.mean(y == values))
    if measure == "roc_auc":
        return 100 * float(roc_auc_score(y, values))
    return -float(np.sqrt(np.mean((y - values) ** 2)))


def predicted(model, measure, graphs):
    """Predictions of a fitted model, as `score` takes them."""
    return model.predict_proba(graphs)[:, 1] if measure == "roc_auc" else model.predict(graphs)


class KernelMethod:
    """An SVM on precomputed kernels: which of them, and C, are chosen inside."""

    def __init__(self, kernels, data):
        self.kernels, self.data = kernels, data

    def __call__(self, train, test):
        data, y = self.data, self.data.y[train].astype(float)
        mean, scale = (0, 1) if data.classify else (y.mean(), y.std() or 1.0)
        y = (y - mean) / scale
        best, chosen = -np.inf, None
        splits = inner_splits(y, data.classify)
        for index, K in enumerate(self.kernels):
            part = K[np.ix_(train, train)]
            for C in GRID_C:
                found = []
                for kept, out in splits:
                    known, unknown = part[np.ix_(kept, kept)], part[np.ix_(out, kept)]
                    found.append(score(data.measure, y[out], self._answer(known, unknown, y[kept], C)))
                if np.mean(found) > best:
                    best, chosen = np.mean(found), (index, C)
        K, C = self.kernels[chosen[0]], chosen[1]
        values = self._answer(K[np.ix_(train, train)], K[np.ix_(test, train)], y, C)
        return values * scale + mean, {"kernel": chosen[0], "C": C}

    def _answer(self, K, unknown, y, C):
        if not self.data.classify:
            return SVR(kernel="precomputed", C=C, epsilon=0.05).fit(K, y).predict(unknown)
        machine = SVC(kernel="precomputed", C=C, cache_size=500).fit(K, y)
        return (
            machine.decision_function(unknown) if self.data.measure == "roc_auc" else machine.predict(unknown)
        )


class ForestMethod:
    """A random forest on columns."""

    def __init__(self, columns, data):
        self.columns, self.data = np.asarray(columns, np.float32), data

    def __call__(self, train, test):
        kind = RandomForestClassifier if self.data.classify else RandomForestRegressor
        options = {} if self.data.classify else {"max_features": 1 / 3}
        forest = kind(TREES, random_state=0, **options).fit(self.columns[train], self.data.y[train])
        return predicted(forest, self.data.measure, self.columns[test]), {}


class OurMethod:
    """A model of this library."""

    def __init__(self, data, **settings):
        self.data = data
        kind = GRNFClassifier if data.classify else GRNFRegressor
        if data.measure == "roc_auc" and "scoring" in kind().get_params():
            settings["scoring"] = "roc_auc"
        self.model = kind(**settings)

    def __call__(self, train, test):
        from sklearn.base import clone

        model = clone(self.model).fit(self.data.raw.take(train), self.data.y[train])
        chosen = {name: str(value) for name, value in getattr(model, "best_params_", {}).items()}
        return predicted(model, self.data.measure, self.data.raw.take(test)), chosen


def inner_splits(y, classify):
    if classify:
        fewest = np.unique(y, return_counts=True)[1].min()
        if len(y) >= MANY and fewest >= 10:
            return list(StratifiedShuffleSplit(1, test_size=0.1, random_state=0).split(y, y))
        return list(StratifiedKFold(int(min(5, max(fewest, 2))), shuffle=True, random_state=0).split(y, y))
    if len(y) >= MANY:
        return list(ShuffleSplit(1, test_size=0.1, random_state=0).split(y))
    return list(KFold(5, shuffle=True, random_state=0).split(y))


# -- Weisfeiler-Lehman


def refined(batch, depth):
    """Colors of all nodes at each depth; labels of edges count, and degrees where nodes have none."""
    sources, targets, numbers = arcs(batch)
    n_nodes = int(batch.node_ptr[-1])
    order = np.argsort(sources, kind="stable")
    sources, targets = sources[order], targets[order]
    edge = numbered(batch.edge_codes.values)[numbers[order]]
    degrees = np.bincount(sources, minlength=n_nodes)
    color = (
        numbered(batch.node_codes.values) if batch.node_codes.values.shape[1] else numbered(degrees[:, None])
    )
    colors = [color]
    starts = np.concatenate([[0], np.cumsum(degrees)])
    for _ in range(depth):
        around = np.lexsort((edge, color[targets], sources))
        pairs = numbered(np.column_stack([edge, color[targets]])[around])
        table = {}
        lists, own = pairs.tolist(), color.tolist()
        color = np.array(
            [
                table.setdefault((own[v], *lists[starts[v] : starts[v + 1]]), len(table))
                for v in range(n_nodes)
            ],
            dtype=np.int64,
        )
        colors.append(color)
    return colors


def numbered(rows):
    """Equal rows are equal numbers."""
    if rows.shape[1] == 0:
        return np.zeros(len(rows), np.int64)
    if rows.shape[1] == 1:
        return np.unique(rows, return_inverse=True)[1].ravel()
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel()


def counts(groups, values, n_groups):
    """How often each value occurs in each group: a sparse matrix."""
    shape = (n_groups, int(values.max(initial=-1)) + 1)
    return sp.csr_array((np.ones(len(values), np.float32), (groups, values)), shape=shape)


def unary(matrix):
    """0/1 columns (value, t) for t = 1 .. count, whose products are sums of minima."""
    matrix = sp.csr_array(matrix)
    matrix.sum_duplicates()
    times = matrix.data.astype(np.int64)
    rows = np.repeat(np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), times)
    ends = np.cumsum(times)
    step = np.arange(len(rows)) - np.repeat(ends - times, times)
    columns = np.repeat(matrix.indices.astype(np.int64), times) * (int(times.max(initial=0)) + 1) + step
    return counts(rows, numbered(columns[:, None]), matrix.shape[0])


def minima(matrix):
    """Sums of minima of all pairs of rows."""
    ones = unary(matrix)
    return (ones @ ones.T).toarray()


def normalised(K):
    diagonal = np.sqrt(np.maximum(np.diag(K), 1e-12))
    return K / diagonal[:, None] / diagonal


def wl_oa(data):
    """The optimal assignment kernel on colors (Kriege, Giscard, Wilson, NIPS 2016)."""
    batch = data.symbols
    graph = np.repeat(np.arange(len(batch)), batch.sizes)
    K, kernels = 0, []
    for depth, color in enumerate(refined(batch, max(DEPTHS))):
        K = K + minima(counts(graph, color, len(batch)))
        if depth in DEPTHS:
            kernels.append(normalised(K))
    return KernelMethod(kernels, data)


# -- fingerprints


def morgan(smiles):
    """Counts of Morgan's environments of radius 2, folded to 2,048 columns."""
    from rdkit import Chem, RDLogger
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    RDLogger.DisableLog("rdApp.*")
    make = GetMorganGenerator(radius=2, fpSize=2048)
    return np.array(
        [make.GetCountFingerprintAsNumPy(Chem.MolFromSmiles(text)) for text in smiles], np.float32
    )


def tanimoto(data):
    found = morgan(data.smiles)
    least, total = minima(sp.csr_array(found)), found.sum(axis=1)
    return KernelMethod([least / np.maximum(total[:, None] + total - least, 1)], data)


# -- counts with forests


def histogram(data):
    """Counts of labels and degrees, sizes, means and spreads of numbers."""
    batch = data.batch
    graph = np.repeat(np.arange(len(batch)), batch.sizes)
    edge_graph = np.repeat(np.arange(len(batch)), np.diff(batch.edge_ptr))
    n_nodes = int(batch.node_ptr[-1])
    degree = np.bincount(arcs(batch)[0], minlength=n_nodes)
    parts = [np.column_stack([batch.sizes, np.diff(batch.edge_ptr)])]
    parts.append(counts(graph, np.minimum(degree, 50), len(batch)).toarray())
    for groups, codes, numbers in (
        (graph, batch.node_codes, batch.node_attr),
        (edge_graph, batch.edge_codes, batch.edge_attr),
    ):
        parts += [counts(groups, column, len(batch)).toarray() for column in codes.values.T]
        for column in numbers.T:
            size = np.maximum(np.bincount(groups, minlength=len(batch)), 1)
            mean = np.bincount(groups, column, len(batch)) / size
            square = np.bincount(groups, column**2, len(batch)) / size
            parts.append(np.column_stack([mean, np.sqrt(np.maximum(square - mean**2, 0)), mean * size]))
    return ForestMethod(np.hstack(parts), data)


def topology(data, bins=32):
    """Histograms of local descriptors: degrees, degrees around, triangles, overlaps along edges."""
    batch = data.batch
    A = adjacency(batch)
    A.data[:] = 1
    A.setdiag(0)
    A.eliminate_zeros()
    degree = np.asarray(A.sum(axis=1)).ravel()
    graph = np.repeat(np.arange(len(batch)), batch.sizes)
    rows, columns = A.nonzero()
    common = np.asarray((A @ A).multiply(A).tocsr()[rows, columns]).ravel()
    triangles = np.bincount(rows, common, len(degree)) / 2
    possible = np.maximum(degree * (degree - 1) / 2, 1)
    around = [np.zeros(len(degree)) for _ in range(2)]
    np.maximum.at(around[0], rows, degree[columns])
    around[1] = np.bincount(rows, degree[columns], len(degree)) / np.maximum(degree, 1)
    lowest = np.full(len(degree), np.inf)
    np.minimum.at(lowest, rows, degree[columns])
    lowest[degree == 0] = 0
    square = np.bincount(rows, degree[columns] ** 2, len(degree)) / np.maximum(degree, 1)
    spread = np.sqrt(np.maximum(square - around[1] ** 2, 0))
    jaccard = common / np.maximum(degree[rows] + degree[columns] - common, 1)
    nodes = [degree, *around, lowest, spread, triangles, triangles / possible]
    parts = [np.column_stack([batch.sizes, np.diff(batch.edge_ptr)])]
    for groups, values in [(graph, column) for column in nodes] + [(graph[rows], jaccard)]:
        values = np.log1p(values)
        places = np.minimum(values / (values.max(initial=0) or 1) * bins, bins - 1).astype(int)
        found = counts(groups, places, len(batch)).toarray()
        parts.append(found)
    return ForestMethod(np.hstack(parts), data)


# -- GraKeL


def _for_grakel(batch):
    """Graphs as GraKeL takes them, with labels, or degrees where there are none."""
    from grakel import Graph

    codes = batch.node_codes.values
    degrees = np.bincount(arcs(batch)[0], minlength=int(batch.node_ptr[-1]))
    labels = (numbered(codes) if codes.shape[1] else degrees).tolist()
    graphs = []
    for g in range(len(batch)):
        start, stop = int(batch.node_ptr[g]), int(batch.node_ptr[g + 1])
        ends = batch.edges[batch.edge_ptr[g] : batch.edge_ptr[g + 1]].tolist()
        edges = {v: {} for v in range(max(stop - start, 1))}
        for u, v in ends:
            edges[u][v] = edges[v][u] = 1.0
        names = dict(enumerate(labels[start:stop])) or {0: -1}  # GraKeL refuses graphs without nodes
        graphs.append(Graph(edges, node_labels=names, graph_format="dictionary"))
    return graphs


def grakel_wl(data):
    from grakel.kernels import VertexHistogram, WeisfeilerLehman

    graphs = _for_grakel(data.symbols)
    made = [
        WeisfeilerLehman(n_iter=depth, base_graph_kernel=VertexHistogram, normalize=True) for depth in DEPTHS
    ]
    return KernelMethod([np.nan_to_num(kernel.fit_transform(graphs)) for kernel in made], data)


def grakel_sp(data):
    from grakel.kernels import ShortestPath

    K = ShortestPath(normalize=True, with_labels=True).fit_transform(_for_grakel(data.symbols))
    return KernelMethod([np.nan_to_num(K)], data)


def plain(data):
    """Plain GRNF: 1,024 features, and the kernel model of the classifier on them."""
    return OurMethod(data, lifts=None)


METHODS = {
    "GRNF": OurMethod,
    "WL-OA": wl_oa,
    "Morgan + Tanimoto": tanimoto,
    "Morgan + forest": lambda data: ForestMethod(morgan(data.smiles), data),
    "histogram + forest": histogram,
    "topology + forest": topology,
    "plain GRNF": plain,
    "WL (GraKeL)": grakel_wl,
    "shortest path (GraKeL)": grakel_sp,
}
NEED_SMILES = ("Morgan + Tanimoto", "Morgan + forest")
NEED_GRAKEL = ("WL (GraKeL)", "shortest path (GraKeL)")
