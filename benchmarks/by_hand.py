"""Pieces of `grnf.estimators` written by hand beside what a library has: seconds, and whether answers agree.

python benchmarks/by_hand.py kernel_machine; python benchmarks/by_hand.py cache
"""

import json
import platform
import sys
import tempfile
import time
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


class Calibrated(KernelSVC):
    """`CalibratedClassifierCV` after the search, which fits the machines of the folds once more."""

    def _fit(self, X, y, machine):
        super()._fit(X, y, machine)
        distances = _squared_distances(self._scaled_fit(X), self._scaled_fit(X))
        chosen = SVC(C=self.best_params_["C"], kernel="precomputed", cache_size=500)
        K = np.exp(np.float32(-self.best_params_["gamma"]) * distances).astype(np.float64)
        try:
            CalibratedClassifierCV(chosen, cv=self._splits(y), ensemble=False).fit(K, y)
        except ValueError as error:
            self.refused = str(error)
        return []


def kernel_machine():
    rows = {}
    for name, repeats in (("ENZYMES", 7), ("NCI1", 3)):
        data, folds = load_tu(name, data=measure.DATA), load_folds(name, data=measure.DATA)
        model = GRNFClassifier(estimator=DummyClassifier(), n_jobs=-1)
        ways = {"by_hand": ByHand, "GridSearchCV": KernelSVC, "CalibratedClassifierCV": Calibrated}
        seconds, accuracy, chosen = ({way: [] for way in ways} for _ in range(3))
        refused = None
        for fold in folds[:N_FOLDS]:
            rest = np.concatenate([fold.train, fold.validation])
            model.fit(data.graphs.take(rest), data.y[rest])
            X, test = model.transform(data.graphs.take(rest)), model.transform(data.graphs.take(fold.test))
            fitted = {}

            def fit(way, X=X, y=data.y[rest], fitted=fitted):
                fitted[way] = ways[way]([1024] * 7).fit(X, y)

            # processor time, since others may be at work
            times = cpu_seconds(repeats, {way: (lambda way=way: fit(way)) for way in ways})
            for way, machine in fitted.items():
                seconds[way].append(times[way])
                accuracy[way].append(float(np.mean(machine.predict(test) == data.y[fold.test])))
                chosen[way].append(machine.best_params_)
            refused = getattr(fitted["CalibratedClassifierCV"], "refused", None)
            same = [fitted[way].predict_proba(test) for way in ("by_hand", "GridSearchCV")]
        rows[name] = {
            "cpu_seconds_of_a_fold": {way: float(np.mean(values)) for way, values in seconds.items()},
            "over_by_hand": {
                way: float(np.mean(np.divide(values, seconds["by_hand"]))) for way, values in seconds.items()
            },
            "accuracy": {way: float(np.mean(values)) for way, values in accuracy.items()},
            "same_choices": chosen["by_hand"] == chosen["GridSearchCV"],
            "largest_difference_of_probabilities": float(np.abs(same[0] - same[1]).max()),
            "CalibratedClassifierCV_refuses": refused,
        }
    return rows


def cpu_seconds(repeats, calls):
    """Median processor seconds of each call, the calls taking turns."""
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
