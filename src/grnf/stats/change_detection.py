"""Changes in a stream of graphs, with a bound on the probability of any false alarm, and in a list of graphs.

A detector is saved as one .npz file of plain arrays, of which one is JSON. There is no pickle in it:

    head                 UTF-8 text: format, version, parameters, seed, counts, alarm, ids, transformer, notes
    scores_*             learned from the reference: mean, axes, deviations, known, units
    calibration          scores of the held-out graphs
    rows, numbers        scores of the last graphs of the stream, and their numbers in it

Rows since the last epoch but one are enough: the wealth of every betting strategy follows from them. The file
is written under another name and renamed, so a crash leaves either the old state or the new one.

A list is scanned over all splits, and so are its parts. For each split of n rows into the first k and the
rest,

    T(k) = k (n - k) / n |mean of the first - mean of the rest|^2

in whitened axes: in few of them, in all, and in numbers that measure how far out a graph lies (a distribution
may spread without moving). Each scan is compared with those of permuted lists, and the smallest of the
p-values is calibrated by the same permutations. If the list has no change at all, the probability of finding
one is at most alpha, exactly, for any distribution and any n. The ends of parts depend on the data, so later
p-values are approximate.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import KW_ONLY, asdict, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from grnf._utils.arrays import principal_axes
from grnf._utils.estimator import GraphInput
from grnf._utils.files import atomic_write
from grnf._utils.random import SEED_RULES, draw_seed, page_generator
from grnf._utils.rules import Int, OneOf, Real, checked, checked_parameters, param
from grnf._utils.saved import (
    COUNT,
    NUMBER,
    OBJECT,
    TEXT,
    TEXTS,
    Array,
    Optional,
    check_version,
    damaged,
    read_arrays,
    validate,
    validate_arrays,
)  # fmt: skip
from grnf.collection import vectors_of
from grnf.errors import GraphError, invalid
from grnf.estimators import GRNF
from grnf.stats.conformal import LENGTH_AXES, ReferenceScores, n_kept_axes, rounded_scores
from grnf.stats.strategies import EPOCH, TEMPER, Strategies, Strategy, likely_interval, since
from grnf.typing import FloatArray, IntArray

CONFIDENCE = 0.95
"""Of intervals for the time of a change."""

MOST_CONTRIBUTIONS = 10
LAST_IDS = 2 * EPOCH
"""Names that are kept: at least as many as rows."""

FORMAT, VERSION = "grnf-monitor", 2
LEARNED = ("mean", "axes", "deviations", "known", "units")
"""Arrays of the scores that are saved."""

STATE: dict[str, Any] = {
    "parameters": {
        "alpha": Real(1), "mean_time": Optional(Real()), "n_axes": Int(1), "n_neighbors": Int(1, 2**20),
        "on_error": OneOf("raise", "skip"),
    },
    "seed": Int(0), "width": Int(1), "count": COUNT, "n_seen": COUNT, "evidence": Optional(NUMBER),
    "alarm": Optional({
        "graph": COUNT, "id": TEXT, "change": COUNT, "interval": [COUNT], "confidence": Real(1),
        "evidence": NUMBER, "threshold": NUMBER, "score": TEXT,
        "contributions": [{"graph": COUNT, "id": TEXT, "factor": NUMBER, "distance": NUMBER}],
    }),
    "ids": TEXTS, "transformer": Optional(TEXT), "notes": OBJECT,
}  # fmt: skip
"""The schema of a saved head."""

ARRAYS = {
    "scores_mean": Array("f", ("M",)), "scores_axes": Array("f", ("M", "d")),
    "scores_deviations": Array("f", ("d",)), "scores_known": Array("f", ("n", "d")),
    "scores_units": Array("f", (4,)), "calibration": Array("f", ("held out", "scores")),
    "rows": Array("f", ("rows", "scores")), "numbers": Array("iu", ("numbers",)),
}  # fmt: skip
"""The schema of the saved arrays."""

MOST_AXES = 32
BYTES = 2**26
"""Of the permuted rows that are held at a time."""


@dataclass(frozen=True)
class Contribution:
    """A graph after the change: its number and id, the factor by which it raised the evidence, and its score.

    `distance` is the mean distance to the nearest graphs of the reference, in units in which 1 is typical.
    """

    graph: int
    id: str
    factor: float
    distance: float


@dataclass(frozen=True)
class Alarm:
    """A change of the stream.

    Parameters
    ----------
    graph, id : int, str
        The graph after which the alarm was raised.
    change : int
        Estimate of the first graph after the change.
    interval : (int, int)
        First and last graph that may be it, with a probability of about `confidence`.
    confidence : float
    evidence : float
        Logarithm of the evidence. The alarm is raised at `threshold`.
    threshold : float
    score : str
        The score that changed: see `grnf.stats.conformal`, or a direction that earlier graphs showed.
    contributions : list of Contribution
        The graphs that raised the evidence most, strongest first.
    """

    graph: int
    id: str
    change: int
    interval: tuple[int, int]
    confidence: float
    evidence: float
    threshold: float
    score: str
    contributions: list[Contribution]

    def to_dict(self) -> dict[str, Any]:
        """Return the alarm as plain values."""
        return {**asdict(self), "interval": list(self.interval)}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Alarm:
        """Return the alarm of plain values."""
        low, high = record["interval"]
        graphs = [Contribution(**graph) for graph in record["contributions"]]
        return cls(**{**record, "interval": (int(low), int(high)), "contributions": graphs})


@dataclass(frozen=True, eq=False)
class Update:
    """The result of some graphs of a stream.

    Parameters
    ----------
    graphs, ids : array of int, list of str
        Numbers in the stream, from 0, and names of the graphs that could be used.
    evidence, pvalues : arrays
        After each graph, the logarithm of the evidence that the stream has changed, and the p-value of "no
        change until now", valid at any time, or NaN with `mean_time`.
    alarm : Alarm or None
        If it was raised by one of these graphs.
    errors : list of (int, str)
        Numbers and reasons of graphs that could not be used.
    """

    graphs: IntArray
    ids: list[str]
    evidence: FloatArray
    pvalues: FloatArray
    alarm: Alarm | None
    errors: list[tuple[int, str]]


@dataclass(eq=False, repr=False)
class ChangeDetector(GraphInput):
    """Monitor a stream of graphs, and raise an alarm if its distribution differs from that of a reference.

    Half of the reference determines axes and neighbors, the other half is held out. As long as the graphs of
    the stream have the distribution of the reference (and are exchangeable with it), no bet against that has
    an expected gain (`grnf.stats.strategies`), for any M and any number of graphs.

    Parameters
    ----------
    transformer : GRNF or another object with `transform`, optional
        Makes vectors of graphs; a copy is fitted on the reference if it is not fitted yet. By default
        ``GRNF()``. Not needed for vectors.
    alpha : float, default=0.05
        Probability of any false alarm, for a stream of any length.
    mean_time : float, optional
        Instead of `alpha`: mean number of graphs until a false alarm, at least. (The probability of one
        within t graphs is then at most t / (2 mean_time), for every t.)
    n_axes : int, default=32
        Principal axes that are monitored, at most.
    n_neighbors : int, default=5
        Nearest graphs of the reference for mean distances.
    on_error : "raise" or "skip", default="raise"
        A graph that cannot be used is an error, or is left out and reported.
    random_state : int, numpy Generator or RandomState, optional
        For halving the reference, and for ties.

    Attributes
    ----------
    n_seen_ : int
        Graphs of the stream so far, bad ones included.
    threshold_ : float
        Evidence at which the alarm is raised.
    evidence_ : float
        The largest so far.
    alarm_ : Alarm or None
        The first since `fit` or `reset`.
    notes_ : dict
        Plain values of your own, such as a position in a file; they are saved with the rest.

    Examples
    --------
    >>> from grnf import GRNF
    >>> from grnf.datasets import make_sbm
    >>> graphs, y = make_sbm(800, random_state=0)
    >>> usual, other = [g for g, c in zip(graphs, y) if c == 0], [g for g, c in zip(graphs, y) if c == 1]
    >>> detector = ChangeDetector(GRNF(64, random_state=0), random_state=0).fit(usual[:300])
    >>> detector.update(usual[300:]).alarm is None
    True
    >>> alarm = detector.update(other[:50]).alarm
    >>> alarm.interval[0] <= 100 <= alarm.interval[1], alarm.graph < 130
    (True, True)
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/stream.npz"
    >>> detector.reset().save(path)  # a new stream
    >>> ChangeDetector.load(path).update(usual[300:]).alarm is None
    True
    """

    transformer: Any = None
    _: KW_ONLY
    alpha: float = param(0.05, Real(1))
    mean_time: float | None = param(None, Real(), OneOf(None))
    n_axes: int = param(32, Int(1))
    n_neighbors: int = param(5, Int(1))
    on_error: str = param("raise", OneOf("raise", "skip"))
    random_state: Any = param(None, *SEED_RULES)

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Fit the detector to a reference collection.

        Parameters
        ----------
        X : collection of graphs of any kind, or array of vectors, shape (n, M)
        y : ignored

        Returns
        -------
        self : ChangeDetector
        """
        settings = checked_parameters(self)
        self.seed_ = draw_seed(self.random_state)
        transformer = GRNF(random_state=self.seed_) if self.transformer is None else self.transformer
        reference = vectors_of(X, transformer, name="the reference", on_error=self.on_error)
        self.transformer_, self.errors_ = reference.transformer, reference.errors
        Z = np.asarray(reference.vectors, dtype=np.float64)
        least = 2 * settings["n_neighbors"]
        if len(Z) < least:
            raise GraphError(
                f"half of the reference must be n_neighbors={settings['n_neighbors']} graphs or more, got a "
                f"reference of {len(Z)} graphs",
                cure=f"Give {least} or more graphs, or a smaller n_neighbors",
            )
        order = page_generator(self.seed_, 0, stream=2).permutation(len(Z))
        half = -(-len(order) // 2)
        shown, held_out = np.sort(order[:half]), np.sort(order[half:])
        scores = ReferenceScores.learned(Z[shown], settings["n_axes"], settings["n_neighbors"])
        self.notes_: dict[str, Any] = {}
        self._begin(scores, scores(Z[held_out]), Z.shape[1])
        return self

    def _begin(self, scores: ReferenceScores, calibration: FloatArray, width: int) -> None:
        self.scores_, self.n_features_in_ = scores, width
        self.threshold_ = math.log(1 / self.alpha if self.mean_time is None else 2 * self.mean_time)
        self._strategies = Strategies(calibration, self.seed_, self.mean_time is None, calibration[:0])
        self._numbers: IntArray = np.zeros(0, dtype=np.int64)
        self._ids: list[str] = []
        self.n_seen_, self.evidence_ = 0, -math.inf
        self.alarm_: Alarm | None = None

    def reset(self, seen: int = 0) -> Self:
        """Start a new stream with the same reference, for example after an alarm.

        The false-alarm probability then holds for each stream by itself.

        Parameters
        ----------
        seen : int, default=0
            The number of the next graph.

        Returns
        -------
        self : ChangeDetector
        """
        check_is_fitted(self, "scores_")
        self._begin(self.scores_, self._strategies.calibration, self.n_features_in_)
        self.n_seen_ = seen
        return self

    def update(self, X: Any, ids: Sequence[str] | None = None) -> Update:
        """Take the next graphs of the stream, in pieces of any size.

        Parameters
        ----------
        X : collection of graphs of any kind, or array of vectors
        ids : sequence of str, optional
            Names of the graphs; by default their own, or their numbers.

        Returns
        -------
        Update
            With `alarm`, `evidence` and `pvalues` after each graph, and `errors`.
        """
        check_is_fitted(self, "scores_")
        first = self.n_seen_
        options: dict[str, Any] = {"on_error": self.on_error, "width": self.n_features_in_}
        piece = vectors_of(X, self.transformer_, name="the stream", ids=ids, start=first, **options)
        Z, names = np.asarray(piece.vectors, dtype=np.float64), piece.ids
        rows = self.scores_(Z) if len(Z) else self._strategies.rows[:0]
        numbers = first + piece.rows
        evidence, alarm = np.empty(len(rows)), None
        for start in range(0, len(rows), EPOCH):
            stop = min(start + EPOCH, len(rows))
            self._numbers = np.append(self._numbers, numbers[start:stop])[-LAST_IDS:]
            self._ids = [*self._ids, *names[start:stop]][-LAST_IDS:]
            held = self._strategies.rows
            evidence[start:stop], by = self._strategies.advance(rows[start:stop])
            over = np.flatnonzero(evidence[start:stop] >= self.threshold_)
            if len(over) and self.alarm_ is None:
                row = int(over[0])
                seen = np.concatenate([held, rows[start : start + row + 1]])
                back = stop - start - row - 1
                self.alarm_ = alarm = self._alarm(float(evidence[start + row]), *by[row], seen, back)
        self.n_seen_ += piece.n_rows
        running = np.maximum.accumulate(np.append(self.evidence_, evidence))[1:]
        self.evidence_ = float(running[-1]) if len(running) else self.evidence_
        p = np.exp(-np.maximum(running, 0.0)) if self.mean_time is None else np.full(len(running), np.nan)
        errors = [(first + row, why) for row, why in piece.errors]
        return Update(numbers, names, evidence, p, alarm, errors)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write reference and stream to one file (its format: `grnf.stats.change_detection`), atomically.

        Parameters
        ----------
        path : path
        """
        check_is_fitted(self, "scores_")
        head = {
            "format": FORMAT,
            "version": VERSION,
            "parameters": {name: getattr(self, name) for name in STATE["parameters"]},
            "seed": self.seed_,
            "width": self.n_features_in_,
            "count": self._strategies.count,
            "n_seen": self.n_seen_,
            "evidence": self.evidence_ if math.isfinite(self.evidence_) else None,
            "alarm": None if self.alarm_ is None else self.alarm_.to_dict(),
            "ids": self._ids,
            "transformer": self.transformer_.to_json() if isinstance(self.transformer_, GRNF) else None,
            "notes": self.notes_,
        }
        arrays: dict[str, npt.NDArray[Any]] = {
            "head": np.frombuffer(json.dumps(head, default=_plain).encode(), dtype=np.uint8),
            "calibration": self._strategies.calibration,
            "rows": self._strategies.rows,
            "numbers": self._numbers,
            **{f"scores_{name}": getattr(self.scores_, name) for name in LEARNED},
        }
        with atomic_write(path, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, transformer: Any = None) -> Self:
        """Load a saved detector; the next `update` continues after the last one.

        Parameters
        ----------
        path : path
        transformer : optional
            Instead of the saved one; needed if that could not be saved (it is not a GRNF).

        Returns
        -------
        ChangeDetector
        """
        head, arrays = read_arrays(path, "the state of a detector")
        check_version(head, FORMAT, VERSION, "the state of a detector", path)
        validate(head, STATE, path)
        validate_arrays(arrays, ARRAYS, path, M=head["width"], rows=head["count"] - since(head["count"]))
        if len(arrays["numbers"]) != len(head["ids"]) or len(head["ids"]) < len(arrays["rows"]):
            raise damaged(f"ids must have {len(arrays['numbers'])} entries, got {len(head['ids'])}", path)
        detector = cls(random_state=head["seed"])
        detector.seed_, detector.errors_, detector.notes_ = head["seed"], [], head["notes"]
        learned = {name: arrays[f"scores_{name}"] for name in LEARNED}
        try:
            detector.set_params(**head["parameters"])
            if transformer is None and head["transformer"] is not None:
                transformer = GRNF.from_json(head["transformer"])
            detector.transformer = detector.transformer_ = transformer
            scores = ReferenceScores(**learned, n_neighbors=detector.n_neighbors)
            detector._begin(scores, arrays["calibration"], head["width"])
            detector._strategies.resume(arrays["rows"], head["count"])
            detector.alarm_ = None if head["alarm"] is None else Alarm.from_dict(head["alarm"])
        except (TypeError, ValueError) as error:
            raise damaged(str(error), path) from None
        detector._numbers, detector._ids, detector.n_seen_ = arrays["numbers"], head["ids"], head["n_seen"]
        detector.evidence_ = -math.inf if head["evidence"] is None else float(head["evidence"])
        return detector

    def _alarm(self, evidence: float, strategy: Strategy, kind: int, rows: FloatArray, back: int) -> Alarm:
        """Return the alarm for rows of scores, whose last is that of the graph that raised it."""
        end = len(self._ids) - back
        rows = rows[-end:]
        change, low, high, gains = strategy.located(kind, rows, CONFIDENCE)
        numbers, names = self._numbers[end - len(rows) : end].tolist(), self._ids[end - len(rows) : end]
        after = np.arange(change, len(rows))
        strongest = after[np.argsort(-gains[after], kind="stable")][:MOST_CONTRIBUTIONS]
        contributions = [
            Contribution(numbers[row], names[row], float(np.exp(gains[row])), float(rows[row, 1]))
            for row in strongest.tolist()
            if gains[row] > 0
        ]
        place = numbers[change], (numbers[low], numbers[high]), CONFIDENCE
        found = evidence, self.threshold_, strategy.names[kind]
        return Alarm(numbers[-1], names[-1], *place, *found, contributions)


def _plain(value: Any) -> Any:
    """Turn numpy numbers into JSON values."""
    if hasattr(value, "item"):
        return value.item()
    raise invalid("notes_", "hold plain values", f"a {type(value).__name__}", "Convert it to numbers or text")


@dataclass(frozen=True)
class ChangePoint:
    """A change in a list of graphs.

    Parameters
    ----------
    index, id : int, str
        The first graph after the change.
    pvalue : float
        Of "no change between `segment[0]` and `segment[1]`".
    interval : (int, int)
        First and last graph that may be the first one after the change, with a probability of about 95 %.
    segment : (int, int)
        The part of the list that was scanned: from the first number up to, not including, the second.

    Examples
    --------
    >>> from grnf import GRNF
    >>> from grnf.datasets import make_sbm
    >>> graphs = make_sbm(40, random_state=0)[0] + make_sbm(40, n_nodes=16, random_state=0)[0]
    >>> (point,) = change_points(graphs, transformer=GRNF(64, random_state=0), random_state=0)
    >>> point.index, point.interval, point.pvalue
    (40, (36, 43), 0.003)
    """

    index: int
    id: str
    pvalue: float
    interval: tuple[int, int]
    segment: tuple[int, int]


def change_points(
    X: Any,
    *,
    transformer: Any = None,
    alpha: float = 0.05,
    min_size: int = 5,
    n_resamples: int = 999,
    ids: Sequence[str] | None = None,
    random_state: Any = None,
) -> list[ChangePoint]:
    """Find the changes of a list of graphs, in order.

    Parameters
    ----------
    X : collection of graphs of any kind, or array of vectors, shape (n, M)
        In their order in time.
    transformer : GRNF or another object with `transform`, optional
        Makes vectors of graphs. By default ``GRNF()``.
    alpha : float, default=0.05
        Probability of finding a change if there is none.
    min_size : int, default=5
        Smallest number of graphs between changes.
    n_resamples : int, default=999
        Permutations. P-values are multiples of 1 / (n_resamples + 1).
    ids : sequence of str, optional
    random_state : int, numpy Generator or RandomState, optional

    Returns
    -------
    list of ChangePoint

    Examples
    --------
    >>> from grnf import GRNF
    >>> from grnf.datasets import make_sbm
    >>> graphs = make_sbm(60, random_state=0)[0] + make_sbm(60, n_nodes=16, random_state=0)[0]
    >>> points = change_points(graphs, transformer=GRNF(64, random_state=0), random_state=0)
    >>> [point.index for point in points]
    [60]
    """
    alpha = checked(alpha, "alpha", Real(1))
    min_size = checked(min_size, "min_size", Int(1))
    n_resamples = checked(n_resamples, "n_resamples", Int(1))
    if 1 / (1 + n_resamples) > alpha:
        requirement = f"be at least {math.ceil(1 / alpha - 1)} for alpha={alpha:g}"
        raise invalid("n_resamples", requirement, str(n_resamples))
    seed = draw_seed(random_state)
    collection = vectors_of(X, GRNF(random_state=seed) if transformer is None else transformer, ids=ids)
    names, (rows, groups) = collection.ids, _scan_rows(collection.vectors)
    points: list[ChangePoint] = []
    pending = [(0, len(rows))]
    while pending:
        start, stop = pending.pop()
        if stop - start < 2 * min_size:
            continue
        p, split, low, high = _scan(rows[start:stop], groups, min_size, n_resamples, (seed, start, stop))
        if p > alpha:
            continue
        index = start + split
        points.append(ChangePoint(index, names[index], p, (start + low, start + high), (start, stop)))
        pending += [(start, index), (index, stop)]
    return sorted(points, key=lambda point: point.index)


def _scan_rows(Z: FloatArray) -> tuple[FloatArray, list[slice]]:
    """Return whitened numbers of each graph, and the columns of each scan.

    They are learned from all graphs together, whatever their order, so permutations stay exact.
    """
    mean, variances, axes = principal_axes(Z)
    d = n_kept_axes(variances, len(Z), MOST_AXES)
    if d == 0:
        return np.zeros((len(Z), 1)), [slice(0, 1)]
    along = (np.asarray(Z, dtype=np.float64) - mean) @ axes[:, :d] / np.sqrt(variances[:d])
    far = np.column_stack([np.linalg.norm(along[:, :LENGTH_AXES], axis=1), np.linalg.norm(along, axis=1)])
    spread = far.std(axis=0)
    far = (far - far.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    groups = [slice(2, 2 + d), slice(0, 1), slice(1, 2)]
    groups += [slice(2, 2 + LENGTH_AXES)] if d > LENGTH_AXES else []
    return rounded_scores(np.hstack([far, along])), groups


def _scan(
    rows: FloatArray, groups: list[slice], min_size: int, n_resamples: int, key: tuple[int, int, int]
) -> tuple[float, int, int, int]:
    """Return the p-value of the best split, the split, and its interval."""
    statistics = _statistics(rows[None], groups, min_size)[0]
    largest = [statistics.max(axis=1)]
    seed, start, stop = key
    generator = page_generator(seed, start, stream=3, channel=stop)
    at_a_time = max(1, BYTES // rows.nbytes)
    for first in range(0, n_resamples, at_a_time):
        count = min(at_a_time, n_resamples - first)
        orders = np.array([generator.permutation(len(rows)) for _ in range(count)])
        largest.extend(_statistics(rows[orders], groups, min_size).max(axis=2))
    columns = np.array(largest).T
    at_least = [len(c) - np.searchsorted(np.sort(c), c, side="left") for c in columns]
    p_of_groups = np.column_stack(at_least) / (1 + n_resamples)
    smallest = p_of_groups.min(axis=1)
    p = float((smallest <= smallest[0]).mean())
    best = statistics[int(np.lexsort((-statistics.max(axis=1), p_of_groups[0]))[0])]
    split, low, high = likely_interval(TEMPER * best / 2, CONFIDENCE)
    return p, min_size + split, min_size + low, min_size + high


def _statistics(rows: FloatArray, groups: list[slice], min_size: int) -> FloatArray:
    """Return T(k) of each list and each group for k = min_size .. n - min_size, shape (lists, groups, k)."""
    n = rows.shape[1]
    k = np.arange(min_size, n - min_size + 1)
    sums = np.cumsum(rows, axis=1)
    squares = (sums[:, k - 1] - (k / n)[:, None] * sums[:, -1:]) ** 2  # of k (n - k) / n times a difference
    values = [squares[:, :, group].sum(axis=2) * (n / (k * (n - k))) for group in groups]
    return rounded_scores(np.stack(values, axis=1))
