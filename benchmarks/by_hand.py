"""Pieces of `grnf.estimators` written by hand beside what a library has: seconds, and whether answers agree.

python benchmarks/by_hand.py kernel_machine; python benchmarks/by_hand.py cache
"""

import json
import platform
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parent))

import measure

from grnf import GRNF, GRNFClassifier
from grnf.datasets import load_folds, load_tu
from grnf.estimators.cache import EmbeddingCache, embedded_once, graph_hashes
from grnf.estimators.kernel_machine import GRID_C, GRID_GAMMA, KernelSVC, _squared_distances, _votes
from grnf.estimators.views import View

RESULTS = Path(__file__).parent / "results" / "by_hand_models.json"
N_FOLDS = 3


class ByHand(KernelSVC):
    """The search as a loop: every kernel is computed once, every machine is fitted once."""

    def _fit(self, X, y, machine):  # noqa: ARG002
        X = self._scaled_fit(np.asarray(X, dtype=np.float32))
        distances, splits, best = _squared_distances(X, X), self._splits(y), (-np.inf, None)
        for gamma in GRID_GAMMA:
            K = np.exp(np.float32(-gamma) * distances)
            for C in GRID_C:
                left_out, scores = [], []
                for train, test in splits:
                    one = SVC(C=C, kernel="precomputed", cache_size=500)
                    one.fit(K[np.ix_(train, train)].astype(np.float64), y[train])
                    output = one.decision_function(K[np.ix_(test, train)].astype(np.float64))
                    left_out.append((output, y[test]))
                    scores.append(np.mean(one.classes_[_votes(output)] == y[test]))
                if np.mean(scores) > best[0]:
                    best = np.mean(scores), {"C": C, "gamma": gamma}, K, left_out
        self.best_params_ = best[1]
        last = SVC(C=best[1]["C"], kernel="precomputed", cache_size=500).fit(best[2].astype(np.float64), y)
        self.machine_, self.n_fit_, self.support_rows_ = last, len(X), X[last.support_]
        return best[3]

    def _output(self, X):
        X = (np.asarray(X, dtype=np.float32) - self.mean_) * self.factor_
        K = np.zeros((len(X), self.n_fit_))
        support = self.machine_.support_
        K[:, support] = np.exp(
            np.float32(-self.best_params_["gamma"]) * _squared_distances(X, self.support_rows_)
        )
        return self.machine_.decision_function(K)


def calibrated(machine, X, y):
    """Return a call of `CalibratedClassifierCV` for what was chosen; it fits all machines of folds again."""
    X = (X - machine.mean_) * machine.factor_
    K = np.exp(np.float32(-machine.best_params_["gamma"]) * _squared_distances(X, X)).astype(np.float64)
    chosen = SVC(C=machine.best_params_["C"], kernel="precomputed", cache_size=500)
    splits = machine._splits(np.unique(y, return_inverse=True)[1])
    return lambda: CalibratedClassifierCV(chosen, cv=splits, ensemble=False).fit(K, y)


def kernel_machine():
    rows = {}
    for name, repeats in (("ENZYMES", 7), ("NCI1", 3)):
        data, folds = load_tu(name, data=measure.DATA), load_folds(name, data=measure.DATA)
        model = GRNFClassifier(estimator=DummyClassifier(), n_jobs=-1)
        found = []
        for fold in folds[:N_FOLDS]:
            rest = np.concatenate([fold.train, fold.validation])
            model.fit(data.graphs.take(rest), data.y[rest])
            X, test = model.transform(data.graphs.take(rest)), model.transform(data.graphs.take(fold.test))
            machines = {"by_hand": ByHand([1024] * 7), "GridSearchCV": KernelSVC([1024] * 7)}
            calls = {way: partial(machine.fit, X, data.y[rest]) for way, machine in machines.items()}
            seconds = cpu_seconds(repeats, calls)
            try:
                again = cpu_seconds(1, {"seconds": calibrated(machines["by_hand"], X, data.y[rest])})[
                    "seconds"
                ]
            except ValueError as error:
                again = str(error)
            P = [machine.predict_proba(test) for machine in machines.values()]
            found.append(
                {
                    "cpu_seconds": seconds,
                    "GridSearchCV_over_by_hand": seconds["GridSearchCV"] / seconds["by_hand"],
                    "CalibratedClassifierCV": again,
                    "best_params": {way: machine.best_params_ for way, machine in machines.items()},
                    "accuracy": {
                        way: machine.score(test, data.y[fold.test]) for way, machine in machines.items()
                    },
                    "largest_difference_of_probabilities": float(np.abs(P[0] - P[1]).max()),
                }
            )
        rows[name] = found
    return rows


def cpu_seconds(repeats, calls):
    """Median processor seconds of each call, the calls taking turns; others may be at work meanwhile."""
    times = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.process_time()
            call()
            times[name].append(time.process_time() - start)
    return {name: float(np.median(values)) for name, values in times.items()}


def cache():
    rows = {}
    for name in ("ENZYMES", "NCI1"):
        batch = load_tu(name, data=measure.DATA).graphs
        view = View([], GRNF(1024, random_state=0), batch)
        view.embed(batch, EmbeddingCache(0))
        store = EmbeddingCache(10**9)
        with tempfile.TemporaryDirectory() as folder:
            memory = joblib.Memory(folder, verbose=0)

            def one(key, graph, row):  # noqa: ARG001
                return row

            kept, Z = memory.cache(one, ignore=["row"]), view._embed(batch)

            def by_graph():
                return np.stack(
                    [kept(view.key, key, row) for key, row in zip(graph_hashes(batch), Z, strict=True)]
                )

            rows[name] = {
                "graphs": len(batch),
                "components": 1024,
                "seconds": {"embed": once(lambda: view._embed(batch))},
            }
            for way, call in {
                "by hand": lambda: store.rows(view.key, batch, lambda some: Z[: len(some)]),
                "joblib.Memory, whole collections": lambda: embedded_once(
                    memory, view.key, batch, lambda _: Z
                ),
                "joblib.Memory, graph by graph": by_graph,
            }.items():
                rows[name]["seconds"][f"{way}: to keep"] = once(call)
                rows[name]["seconds"][f"{way}: to find"] = once(call)
    return rows


def once(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    piece = sys.argv[1]
    with threadpool_limits(1):
        rows = {"kernel_machine": kernel_machine, "cache": cache}[piece]()
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    found[piece] = {
        "command": f"python benchmarks/by_hand.py {piece}",
        "machine": {"cores": joblib.cpu_count(), "python": platform.python_version()},
        "versions": {"scikit-learn": sklearn.__version__, "joblib": joblib.__version__},
        "rows": rows,
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(rows, indent=1))
