"""Change detection in a stream of graphs, with a bound on the probability of any false alarm.

A detector is saved as one .npz file of plain arrays, of which one is JSON; there is no pickle in it:

    head                 UTF-8 text: format, version, parameters, seed, counts, alarm, ids, transformer, notes
    scores_*             learned from the reference: mean, axes, deviations, known, units
    calibration          scores of the held-out graphs
    rows, numbers        scores of the last graphs of the stream, and their numbers in it

Rows since the last epoch but one are enough: the wealth of every betting strategy follows from them. The file
is written under another name and renamed, so a crash leaves either the old state or the new one.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from grnf._utils.files import atomic_write
from grnf._utils.random import SEED_RULES, draw_seed, page_generator
from grnf._utils.rules import Int, OneOf, Real, Table, checked_parameters
from grnf.collection import vectors_of
from grnf.errors import GraphError
from grnf.estimators import GRNF
from grnf.stats.betting import EPOCH, Strategies, Strategy
from grnf.stats.stream_scores import Scores
from grnf.typing import FloatArray, IntArray

__all__ = ["Alarm", "ChangeDetector", "Driver", "Update"]

COVERAGE = 0.95
MOST_DRIVERS = 10
LAST_IDS = 2 * EPOCH
"""Names that are kept: at least as many as rows."""

FORMAT, VERSION = "grnf-monitor", 1
SAVED = ("alpha", "mean_time", "n_axes", "n_neighbors", "on_error")
"""Parameters that are saved."""


@dataclass(frozen=True)
class Driver:
    """A graph after the change that raised the evidence: its number and id, by what factor, and its score.

    `distance` is the mean distance to the nearest graphs of the reference; 1 is typical.
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
        First and last graph that may be it, with a probability of about `coverage`.
    coverage : float
    evidence : float
        Logarithm of the evidence; the alarm is raised at `threshold`.
    threshold : float
    score : str
        What changed: see `grnf.stats.stream_scores`, or a direction that earlier graphs showed.
    drivers : list of Driver
        The graphs that raised the evidence most, strongest first.
    """

    graph: int
    id: str
    change: int
    interval: tuple[int, int]
    coverage: float
    evidence: float
    threshold: float
    score: str
    drivers: list[Driver]

    def record(self) -> dict[str, Any]:
        """Return the alarm as plain values."""
        return {**asdict(self), "interval": list(self.interval)}

    @classmethod
    def of_record(cls, record: dict[str, Any]) -> Alarm:
        """Return the alarm that a record was made of."""
        low, high = record["interval"]
        drivers = [Driver(**driver) for driver in record["drivers"]]
        return cls(**{**record, "interval": (int(low), int(high)), "drivers": drivers})


@dataclass(frozen=True, eq=False)
class Update:
    """What some graphs of a stream said.

    Parameters
    ----------
    graphs : array of int, shape (n,)
        Numbers in the stream, from 0, of the graphs that could be used.
    ids : list of str
    evidence : array, shape (n,)
        After each graph, the logarithm of the evidence that the stream has changed.
    p_values : array, shape (n,)
        After each graph the p-value of "no change until now", which may be looked at at any time; NaN where
        `mean_time` was asked for.
    alarm : Alarm or None
        If it was raised by one of these graphs.
    errors : list of (int, str)
        Numbers and reasons of graphs that could not be used.
    """

    graphs: IntArray
    ids: list[str]
    evidence: FloatArray
    p_values: FloatArray
    alarm: Alarm | None
    errors: list[tuple[int, str]]


class ChangeDetector(BaseEstimator):  # type: ignore[misc]
    """Watch a stream of graphs, and raise an alarm when they come from another law than a reference.

    Half of the reference shows axes and neighbours, the other half is held out. As long as the graphs of the
    stream come from the same law as the reference (and are exchangeable with it), each bet against that has
    no gain to expect (`grnf.stats.betting`), for any M and any number of graphs.

    Parameters
    ----------
    transformer : GRNF or another object with `transform`, optional
        Makes vectors of graphs; a copy is fitted on the reference if it is not fitted yet. By default GRNF as
        it is. Not needed for vectors.
    alpha : float, default=0.05
        Probability of a false alarm, ever: however long the stream, and however often it is looked at.
    mean_time : float, optional
        In place of `alpha`: graphs until a false alarm, on average, at least. (The chance of one within t
        graphs is then at most t / (2 mean_time), for every t.)
    n_axes : int, default=32
        Principal axes that are watched, at most.
    n_neighbors : int, default=5
        Graphs of the reference that a distance is taken to.
    on_error : "raise" or "skip", default="raise"
        A graph that cannot be used is an error, or is left out and reported.
    random_state : int, numpy Generator or RandomState, default=0
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
        Plain values of your own, such as a place in a file; they are saved with the rest.

    Examples
    --------
    >>> from grnf import GRNF
    >>> from grnf.datasets import make_sbm
    >>> graphs, y = make_sbm(800, random_state=0)
    >>> usual, other = [g for g, c in zip(graphs, y) if c == 0], [g for g, c in zip(graphs, y) if c == 1]
    >>> detector = ChangeDetector(GRNF(64, random_state=0)).fit(usual[:300])
    >>> detector.update(usual[300:]).alarm is None
    True
    >>> alarm = detector.update(other[:50]).alarm
    >>> alarm.interval[0] <= 100 <= alarm.interval[1], alarm.graph < 130
    (True, True)
    """

    n_seen_: int
    evidence_: float
    alarm_: Alarm | None
    notes_: dict[str, Any]
    _strategies: Strategies
    _numbers: IntArray
    _ids: list[str]
    _rules: ClassVar[Table] = {
        "alpha": [Real(1)],
        "mean_time": [Real(), OneOf(None)],
        "n_axes": [Int(1)],
        "n_neighbors": [Int(1)],
        "on_error": [OneOf("raise", "skip")],
        "random_state": SEED_RULES,
    }

    def __init__(
        self,
        transformer: Any = None,
        *,
        alpha: float = 0.05,
        mean_time: float | None = None,
        n_axes: int = 32,
        n_neighbors: int = 5,
        on_error: str = "raise",
        random_state: Any = 0,
    ) -> None:
        self.transformer = transformer
        self.alpha = alpha
        self.mean_time = mean_time
        self.n_axes = n_axes
        self.n_neighbors = n_neighbors
        self.on_error = on_error
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn what is usual from a reference collection.

        Parameters
        ----------
        X : collection of graphs of any kind, or array of vectors, shape (n, M)
        y : ignored
        """
        settings = checked_parameters(self, self._rules)
        self.seed_ = draw_seed(self.random_state)
        transformer = GRNF(random_state=self.seed_) if self.transformer is None else self.transformer
        given = vectors_of(X, transformer, name="the reference", on_error=self.on_error)
        self.transformer_, self.errors_ = given.transformer, given.errors
        Z = np.asarray(given.vectors, dtype=np.float64)
        least = 2 * settings["n_neighbors"]
        if len(Z) < least:
            raise GraphError(
                f"the reference has {len(Z)} graphs; half of them must be n_neighbors="
                f"{settings['n_neighbors']} or more: give {least} or more, or a smaller n_neighbors"
            )
        order = page_generator(self.seed_, 0, stream=2).permutation(len(Z))
        half = -(-len(order) // 2)
        shown, held_out = np.sort(order[:half]), np.sort(order[half:])
        scores = Scores.learned(Z[shown], settings["n_axes"], settings["n_neighbors"])
        self.notes_ = {}
        self._begin(scores, scores(Z[held_out]), Z.shape[1])
        return self

    def reset(self, seen: int = 0) -> Self:
        """Begin a new stream with the same reference, as after an alarm that was looked into.

        The promise is then made for each stream by itself.

        Parameters
        ----------
        seen : int, default=0
            The number of the next graph.
        """
        check_is_fitted(self, "scores_")
        self._begin(self.scores_, self._strategies.calibration, self.n_features_in_)
        self.n_seen_ = seen
        return self

    def update(self, X: Any, ids: Sequence[str] | None = None) -> Update:
        """Take the next graphs of the stream.

        In how many pieces a stream comes makes no difference.

        Parameters
        ----------
        X : collection of graphs of any kind, or array of vectors
        ids : sequence of str, optional
            What they are called; by default as they call themselves, or by their numbers.
        """
        check_is_fitted(self, "scores_")
        first = self.n_seen_
        given = vectors_of(
            X, self.transformer_, name="the stream", on_error=self.on_error, ids=ids, start=first
        )
        Z, names = np.asarray(given.vectors, dtype=np.float64), given.ids
        if Z.shape[1] != self.n_features_in_ and len(Z):
            raise GraphError(
                f"vectors of length {Z.shape[1]}, and the reference has length {self.n_features_in_}: "
                "all must come from one transformer"
            )
        rows = self.scores_(Z) if len(Z) else np.zeros((0, self._strategies.rows.shape[1]))
        numbers = first + given.rows
        evidence, alarm = np.empty(len(rows)), None
        for start in range(0, len(rows), EPOCH):
            stop = min(start + EPOCH, len(rows))
            self._numbers = np.append(self._numbers, numbers[start:stop])[-LAST_IDS:]
            self._ids = [*self._ids, *names[start:stop]][-LAST_IDS:]
            held = self._strategies.rows
            evidence[start:stop], by = self._strategies.advance(rows[start:stop])
            over = np.flatnonzero(evidence[start:stop] >= self.threshold_)
            if len(over) and self.alarm_ is None:
                place = int(over[0])
                seen = np.concatenate([held, rows[start : start + place + 1]])
                back = stop - start - place - 1
                self.alarm_ = alarm = self._alarm(float(evidence[start + place]), *by[place], seen, back)
        self.n_seen_ += given.n_rows
        running = np.maximum.accumulate(np.append(self.evidence_, evidence))[1:]
        self.evidence_ = float(running[-1]) if len(running) else self.evidence_
        p = np.exp(-np.maximum(running, 0.0)) if self.mean_time is None else np.full(len(running), np.nan)
        errors = [(first + row, why) for row, why in given.errors]
        return Update(numbers, names, evidence, p, alarm, errors)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write reference and stream to one file (its format: `grnf.stats.monitor`), all or nothing."""
        check_is_fitted(self, "scores_")
        head = {
            "format": FORMAT,
            "version": VERSION,
            "parameters": {name: getattr(self, name) for name in SAVED},
            "seed": self.seed_,
            "width": self.n_features_in_,
            "count": self._strategies.count,
            "n_seen": self.n_seen_,
            "evidence": self.evidence_ if math.isfinite(self.evidence_) else None,
            "alarm": None if self.alarm_ is None else self.alarm_.record(),
            "ids": self._ids,
            "transformer": self.transformer_.to_json() if isinstance(self.transformer_, GRNF) else None,
            "notes": self.notes_,
        }
        arrays: dict[str, npt.NDArray[Any]] = {
            "head": np.frombuffer(json.dumps(head, default=_plain).encode(), dtype=np.uint8),
            "calibration": self._strategies.calibration,
            "rows": self._strategies.rows,
            "numbers": self._numbers,
            **{f"scores_{name}": array for name, array in self.scores_.arrays().items()},
        }
        with atomic_write(path, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, transformer: Any = None) -> Self:
        """Open what `save` wrote; the next `update` continues after the last one.

        Parameters
        ----------
        path : path
        transformer : optional
            Instead of the saved one; needed if that could not be saved (it is not a GRNF).
        """
        head, arrays = _read(path)
        detector = cls()
        try:
            detector._restore(head, arrays, transformer)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise GraphError(f"{path} is damaged: {error!r}") from None
        return detector

    def _restore(self, head: dict[str, Any], arrays: dict[str, npt.NDArray[Any]], transformer: Any) -> None:
        self.set_params(**head["parameters"], random_state=int(head["seed"]))
        self.seed_, self.errors_ = int(head["seed"]), []
        if transformer is None and head["transformer"] is not None:
            transformer = GRNF.from_json(head["transformer"])
        self.transformer = self.transformer_ = transformer
        learned = {name.removeprefix("scores_"): array for name, array in arrays.items()}
        scores = Scores.restored(learned, int(head["parameters"]["n_neighbors"]))
        self._begin(scores, arrays["calibration"], int(head["width"]))
        whole = self.mean_time is None
        self._strategies = Strategies.resumed(
            arrays["calibration"], self.seed_, whole, arrays["rows"], int(head["count"])
        )
        self._numbers, self._ids = arrays["numbers"], [str(name) for name in head["ids"]]
        self.n_seen_, self.notes_ = int(head["n_seen"]), dict(head["notes"])
        self.evidence_ = -math.inf if head["evidence"] is None else float(head["evidence"])
        self.alarm_ = None if head["alarm"] is None else Alarm.of_record(head["alarm"])

    def _begin(self, scores: Scores, calibration: FloatArray, width: int) -> None:
        whole = self.mean_time is None
        self.scores_, self.n_features_in_ = scores, width
        self.threshold_ = math.log(1 / self.alpha if self.mean_time is None else 2 * self.mean_time)
        self._strategies = Strategies(calibration, self.seed_, whole, calibration[:0])
        self._numbers = np.zeros(0, dtype=np.int64)
        self._ids = []
        self.n_seen_, self.evidence_, self.alarm_ = 0, -math.inf, None

    def _alarm(self, evidence: float, strategy: Strategy, kind: int, rows: FloatArray, back: int) -> Alarm:
        """Look back from an alarm over rows of scores, whose last is that of the graph that raised it."""
        end = len(self._ids) - back
        rows = rows[-end:]
        change, low, high, gains = strategy.located(kind, rows, COVERAGE)
        offset = end - len(rows)
        after = np.arange(change, len(rows))
        strongest = after[np.argsort(-gains[after], kind="stable")][:MOST_DRIVERS]

        def number(row: int) -> int:
            return int(self._numbers[offset + row])

        drivers = [
            Driver(number(row), self._ids[offset + row], float(np.exp(gains[row])), float(rows[row, 1]))
            for row in strongest.tolist()
            if gains[row] > 0
        ]
        return Alarm(
            number(len(rows) - 1),
            self._ids[end - 1],
            number(change),
            (number(low), number(high)),
            COVERAGE,
            evidence,
            self.threshold_,
            strategy.names[kind],
            drivers,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        head = json.loads(bytes(arrays.pop("head")).decode())
    except FileNotFoundError:
        raise GraphError(f"{path} does not exist") from None
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error, AttributeError) as error:
        raise GraphError(f"{path} is not the state of a detector, or damaged: {error}") from None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise GraphError(f"{path} is not the state of a detector: its 'format' is not {FORMAT!r}")
    if head.get("version") != VERSION:
        raise GraphError(
            f"{path} has version {head.get('version')!r} of the format; this release reads {VERSION}: "
            "fit again"
        )
    return head, arrays


def _plain(value: Any) -> Any:
    """Turn numpy numbers into what JSON can hold."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"cannot save a value of type {type(value).__name__}")
