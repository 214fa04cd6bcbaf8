"""Lower bounds on distances between distributions: validity, growth, tightness, molecules."""

import itertools
import time
from dataclasses import asdict
from importlib.util import find_spec

import numpy as np
from scipy.stats import spearmanr

from experiments.study import Table
from experiments.two_sample import OURS, embedded, score
from experiments.two_sample_sets import Random, powerlaw, rewired_pools
from grnf import Graph
from grnf.datasets import make_sbm
from grnf.graphs import GraphBatch
from grnf.stats import GraphDescriptor, evaluate
from grnf.stats.evaluation import separate_graphs

TITLE = "Lower bounds on the distance between generated and reference graphs"
ABOUT = (
    "Mixtures with weight w of two populations are compared with one of them. Graphs with five nodes come "
    "from a stochastic block model (blocks of 3 and 2 nodes, probabilities 0.8 and 0.2) and from G(n, 1/2): "
    "all 1,024 graphs are enumerated, so both distances are known. SBM graphs with 12 and 13 nodes have "
    "disjoint supports, so the total variation is w. PolyGraph Discrepancy (PGD) has logistic regression. "
    "Bounds have confidence 95 %."
)
PLACES = ("validity", "growth", "tightness", "moses")

RUNS, GRAPHS = 200, 150
"""Runs with known distances, and graphs of each sample in them."""

NODES, BLOCKS = 5, (0, 0, 0, 1, 1)
PAIRS = list(itertools.combinations(range(NODES), 2))


def small_graphs():
    """All graphs with five nodes, and their probabilities under both models."""
    graphs, block, even = [], [], []
    for kept in itertools.product((False, True), repeat=len(PAIRS)):
        chances = [0.8 if BLOCKS[i] == BLOCKS[j] else 0.2 for i, j in PAIRS]
        block.append(np.prod([p if on else 1 - p for p, on in zip(chances, kept, strict=True)]))
        even.append(0.5 ** len(PAIRS))
        graphs.append(Graph(NODES, [pair for pair, on in zip(PAIRS, kept, strict=True) if on]))
    return graphs, np.array(block), np.array(even)


def isomorphism_classes(graphs):
    """A number for each graph, equal for isomorphic graphs."""
    orders = list(itertools.permutations(range(NODES)))
    forms = []
    for graph in graphs:
        edges = np.asarray(graph.edges).reshape(-1, 2).tolist()
        forms.append(
            min(sum(1 << NODES * min(o[i], o[j]) + max(o[i], o[j]) for i, j in edges) for o in orders)
        )
    return np.unique(forms, return_inverse=True)[1]


def true_distances(P, Q):
    """Total variation and Jensen-Shannon distance of two arrays of probabilities."""
    M = (P + Q) / 2
    bits = sum((A[A > 0] * np.log2(A[A > 0] / M[A > 0])).sum() / 2 for A in (P, Q))
    return float(abs(P - Q).sum() / 2), float(np.sqrt(max(bits, 0)))


def populations(count):
    """Graphs, functions that draw rows of both populations, and distances of a mixture, by name."""
    graphs, block, even = small_graphs()
    kind = isomorphism_classes(graphs)
    P, Q = np.bincount(kind, block), np.bincount(kind, even)
    draws = [lambda random, n, p=p: random.choice(len(graphs), n, p=p / p.sum()) for p in (block, even)]
    yield "SBM, 5 nodes", graphs, draws, lambda w: true_distances(w * P + (1 - w) * Q, Q)
    sides = [make_sbm(2 * count, n_nodes=n, random_state=n)[0] for n in (12, 13)]
    draws = [lambda random, n, k=k: 2 * count * k + random.permutation(2 * count)[:n] for k in (0, 1)]
    disjoint = np.array([[1.0, 0], [0, 1.0]])
    truth = lambda w: true_distances(w * disjoint[0] + (1 - w) * disjoint[1], disjoint[1])  # noqa: E731
    yield "SBM, 12 and 13 nodes", sides[0] + sides[1], draws, truth


def mixed(random, draws, w, n):
    """Rows of a mixture and of the second population; no graph of a finite pool is drawn twice."""
    changed = random.binomial(n, w)
    others = draws[1](random, 2 * n - changed)
    return np.concatenate([draws[0](random, changed), others[: n - changed]]), others[n - changed :]


def bounds(batch, rows, reference, seed):
    """What `evaluate` makes of some of the graphs."""
    both = batch.take(np.concatenate([rows, reference]))
    return separate_graphs((len(rows), len(reference)), both, GraphDescriptor(random_state=seed), seed)


def validity(study):
    runs, n = (4, 40) if study.quick else (RUNS, GRAPHS)
    records = []
    for name, graphs, draws, truth in populations(2 * n):
        batch = GraphBatch.from_graphs(graphs)
        for w in (0.0, 0.3, 1.0):

            def measure(draws=draws, batch=batch, w=w):
                random, found = np.random.default_rng(0), []
                for seed in range(runs):
                    result = bounds(batch, *mixed(random, draws, w, n), seed)
                    found.append([result.total_variation, result.jensen_shannon])
                return found

            study.tell(f"{name}, weight {w}")
            what = {
                "experiment": "generators",
                "part": "validity",
                "case": name,
                "w": w,
                "quick": study.quick,
            }
            found, true = np.array(study.cached(what, measure)), truth(w)
            above = (found > np.array(true) + 1e-9).sum(axis=0)
            records.append({
                "case": name, "weight": w, "runs": runs, "n": n, "truth": list(true),
                "above": above.tolist(), "median": np.median(found, axis=0).tolist(),
            })  # fmt: skip
    return records


def growth(study):
    """Rank correlations with the share of rewired edges, and with the weight of a mixture of SBM classes."""

    def measure():
        n, repeats, steps = (16, 2, 3) if study.quick else (100, 3, 6)
        found = []
        for title, shares in (
            ("rewired edges, 0 to 10 %", np.linspace(0, 0.1, steps).round(3).tolist()),
            ("rewired edges, 0 to 100 %", np.linspace(0, 1, steps).round(3).tolist()),
            ("weight of a mixture, 0 to 1", np.linspace(0, 1, steps).round(3).tolist()),
        ):
            if title.startswith("rewired"):
                family, graphs, pools = rewired_pools(shares, 2 * n)
            else:
                family = Random("SBM", powerlaw, {})
                graphs, y = make_sbm(6 * n, random_state=0)
                pools = {None: np.flatnonzero(np.asarray(y) == 0), 1: np.flatnonzero(np.asarray(y) == 1)}
            batch = GraphBatch.from_graphs(graphs)
            vectors, _ = embedded(family, graphs)
            del vectors["random GIN"]
            random, ranks = np.random.default_rng(0), {}
            for seed in range(repeats):
                own = random.permutation(pools[None])
                values = {}
                for share in shares:
                    if title.startswith("rewired"):
                        rows = random.permutation(pools[share])[:n]
                    else:
                        k = round(share * n)
                        rows = np.concatenate([random.permutation(pools[1])[:k], own[n : 2 * n - k]])
                    result = bounds(batch, rows, own[:n], seed)
                    values.setdefault("total variation, bound", []).append(result.total_variation)
                    values.setdefault("Jensen-Shannon, bound", []).append(result.jensen_shannon)
                    for name, views in vectors.items():
                        label = "energy distance" if name == OURS else f"MMD, {name}"
                        values.setdefault(label, []).append(score(name, views, rows, own[:n]))
                for name, each in values.items():
                    rank = spearmanr(shares, each)[0] if len(set(each)) > 1 else 0.0
                    ranks.setdefault(name, []).append(float(rank))
            found.append({"change": title, "n": n, "draws": repeats,
                          "rank": {name: float(np.mean(each)) for name, each in ranks.items()}})  # fmt: skip
        return found

    study.tell("growth")
    return study.cached({"experiment": "generators", "part": "growth", "quick": study.quick}, measure)


def tightness(study):
    """Bounds, estimates and processor seconds next to polygraph-benchmark on the same graphs."""

    def measure():
        n, found = (40 if study.quick else 200), []
        random = np.random.default_rng(0)
        cases = {}
        for name, graphs, draws, truth in populations(2 * n):
            for w in (0.0, 0.5, 1.0):
                rows = mixed(random, draws, w, n)
                cases[f"{name}, weight {w:g}"] = [[graphs[i] for i in some] for some in rows], truth(w)
        _, graphs, pools = rewired_pools((0.03,), n)
        cases["powerlaw, 3 % of edges rewired"] = (
            [[graphs[i] for i in pools[side]] for side in (0.03, None)],
            None,
        )
        evaluate(*cases["SBM, 5 nodes, weight 0"][0], random_state=0)  # compiles
        for name, ((generated, reference), truth) in cases.items():
            start = time.process_time()
            batch = GraphBatch.from_graphs([*generated, *reference])
            result = bounds(batch, np.arange(n), n + np.arange(n), 0)
            record = {"case": name, "n": n, "truth": truth, **asdict(result)}
            record["seconds"] = time.process_time() - start
            found.append(record | polygraph(generated, reference))
        return found

    study.tell("tightness")
    return study.cached({"experiment": "generators", "part": "tightness", "quick": study.quick}, measure)


def polygraph(generated, reference):
    """PolyGraph Discrepancy of both variants by logistic regression, and processor seconds of one."""
    if find_spec("polygraph") is None:
        return {}
    import networkx as nx
    from polygraph.metrics import StandardPGD
    from sklearn.linear_model import LogisticRegression

    sides = []
    for graphs in (reference, generated):
        sides.append([nx.empty_graph(graph.n_nodes) for graph in graphs])
        for made, graph in zip(sides[-1], graphs, strict=True):
            made.add_edges_from(np.asarray(graph.edges).reshape(-1, 2).tolist())
    found = {}
    for variant in ("informedness", "jsd"):
        start = time.process_time()
        metric = StandardPGD(sides[0], variant=variant, classifier=LogisticRegression(max_iter=1000))
        found[f"polygraph_{variant}"] = float(metric.compute(sides[1])["pgd"])
        found["polygraph_seconds"] = time.process_time() - start
    return found


def perturbed(smiles, random):
    """A molecule with one of its carbon atoms replaced by nitrogen; unchanged if none can be."""
    from rdkit import Chem, RDLogger

    RDLogger.DisableLog("rdApp.*")
    molecule = Chem.MolFromSmiles(smiles)
    carbons = [a.GetIdx() for a in molecule.GetAtoms() if a.GetSymbol() == "C" and a.GetTotalNumHs()]
    for place in random.permutation(carbons)[:10].tolist():
        other = Chem.RWMol(molecule)
        other.GetAtomWithIdx(place).SetAtomicNum(7)
        if Chem.SanitizeMol(other, catchErrors=True) == Chem.SanitizeFlags.SANITIZE_NONE:
            return Chem.MolToSmiles(other)
    return smiles


def molecules(study):
    """Halves of a sample of MOSES test, the first one with a share of its molecules perturbed."""
    path = study.path("molecules", "moses_test.csv.gz")
    if not path.exists():
        return []

    def measure():
        import gzip

        with gzip.open(path, "rt") as file:
            smiles = [line.strip().split(",")[0] for line in itertools.islice(file, 1, None)]
        n, random = (30 if study.quick else 500), np.random.default_rng(0)
        some = [smiles[i] for i in random.permutation(len(smiles))[: 2 * n]]
        changed, found = [perturbed(text, random) for text in some[:n]], []
        for share in (0.0, 0.1, 0.25, 0.5, 1.0):
            k = round(share * n)
            start = time.process_time()
            result = evaluate(changed[:k] + some[k:n], some[n:], n_resamples=99, random_state=0)
            seconds = time.process_time() - start
            found.append({"share": share, "n": n, "pvalue": result.pvalue, "seconds": seconds,
                          **asdict(result.separation)})  # fmt: skip
        return found

    study.tell("molecules")
    return study.cached({"experiment": "generators", "part": "molecules", "quick": study.quick}, measure)


def run(study):
    return {
        "validity": validity(study),
        "growth": growth(study),
        "tightness": tightness(study),
        "molecules": molecules(study),
    }


def _pair(values):
    return [f"{value:.3f}" for value in values]


def tables(results):
    rows = [
        [
            r["case"],
            f"{r['weight']:g}",
            str(r["runs"]),
            *_pair(r["truth"]),
            *_pair(r["median"]),
            *map(str, r["above"]),
        ]
        for r in results["validity"]
    ]
    header = ["populations", "weight", "runs", "TV", "JS", "median TV bound", "median JS bound",
              "TV exceeded", "JS exceeded"]  # fmt: skip
    names = list(results["growth"][0]["rank"])
    grown = [[r["change"], *[f"{r['rank'][name]:.3f}" for name in names]] for r in results["growth"]]
    tight = [
        [
            r["case"], *(_pair(r["truth"]) if r["truth"] else ["", ""]),
            *_pair([r["total_variation"], r["estimates"]["total_variation"]]),
            *(_pair([r["polygraph_informedness"]]) if "polygraph_jsd" in r else [""]),
            *_pair([r["jensen_shannon"], r["estimates"]["jensen_shannon"]]),
            *(_pair([r["polygraph_jsd"]]) if "polygraph_jsd" in r else [""]),
            f"{r['seconds']:.2f}", f"{r['polygraph_seconds']:.2f}" if "polygraph_jsd" in r else "",
        ]
        for r in results["tightness"]
    ]  # fmt: skip
    header_tight = [
        "graphs", "TV", "JS", "TV bound", "TV estimate", "PGD informedness", "JS bound", "JS estimate", "PGD",
        "seconds", "PGD seconds",
    ]  # fmt: skip
    moses = [
        [f"{100 * r['share']:g} %", *_pair([r["total_variation"], r["jensen_shannon"]]),
         *_pair([r["detectable"]["total_variation"]]), f"{r['pvalue']:.2f}", f"{r['seconds']:.1f}"]
        for r in results["molecules"]
    ]  # fmt: skip
    made = [
        Table("Bounds and known distances", header, rows),
        Table("Rank correlation", ["", *names], grown),
        Table("Bounds next to PolyGraph Discrepancy", header_tight, tight),
    ]
    if moses:
        columns = ["perturbed", "TV bound", "JS bound", "detectable TV", "p", "seconds"]
        made.append(Table("MOSES", columns, moses))
    return made


def settings(_study):
    return {"runs": RUNS, "graphs of each sample": GRAPHS, "confidence": 0.95}
