"""A detector in one file: a .npz of plain arrays, one of which is a head in JSON.

    head                 UTF-8 text: format, version, parameters, seed, counts, alarm, ids, transformer, notes
    scores_*             what was learnt from the reference: mean, axes, deviations, known, units
    calibration          scores of the held-out graphs
    rows, numbers        scores of the last graphs of the stream, and their numbers in it

Rows since the last epoch but one are enough: the capital of every watcher follows from them. The file is
written aside and renamed, so that a crash leaves the old state or the new one. No pickle.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from grnf._utils.files import atomic_write
from grnf.errors import GraphError
from grnf.estimators import GRNF
from grnf.stats.location import Alarm
from grnf.stats.stream_scores import Scores
from grnf.stats.watch import Bank

if TYPE_CHECKING:
    from grnf.stats.monitor import ChangeDetector

__all__ = ["opened", "saved"]

FORMAT, VERSION = "grnf-monitor", 1
PARAMETERS = ("alpha", "mean_time", "n_axes", "n_neighbors", "on_error")


def saved(detector: ChangeDetector, path: str | os.PathLike[str]) -> None:
    """Write the state of a fitted detector."""
    bank = detector._bank
    head = {
        "format": FORMAT,
        "version": VERSION,
        "parameters": {name: getattr(detector, name) for name in PARAMETERS},
        "seed": detector.seed_,
        "width": detector.n_features_in_,
        "count": bank.count,
        "n_seen": detector.n_seen_,
        "evidence": detector.evidence_ if math.isfinite(detector.evidence_) else None,
        "alarm": None if detector.alarm_ is None else detector.alarm_.record(),
        "ids": detector._ids,
        "transformer": _json(detector.transformer_),
        "notes": detector.notes_,
    }
    arrays: dict[str, npt.NDArray[Any]] = {
        "head": np.frombuffer(json.dumps(head, default=_plain).encode(), dtype=np.uint8),
        "calibration": bank.calibration,
        "rows": bank.rows,
        "numbers": detector._numbers,
        **{f"scores_{name}": array for name, array in detector.scores_.arrays().items()},
    }
    with atomic_write(path, "wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def opened(detector: ChangeDetector, path: str | os.PathLike[str], transformer: Any) -> None:
    """Bring a detector into the state that was written."""
    head, arrays = _read(Path(path))
    try:
        detector.set_params(**head["parameters"], random_state=int(head["seed"]))
        detector.seed_, detector.errors_ = int(head["seed"]), []
        detector.transformer_ = _transformer(head["transformer"], transformer)
        detector.transformer = detector.transformer_
        learnt = {name.removeprefix("scores_"): array for name, array in arrays.items()}
        scores = Scores.restored(learnt, int(head["parameters"]["n_neighbors"]))
        detector._begin(scores, arrays["calibration"], int(head["width"]))
        detector._bank = Bank.resumed(
            arrays["calibration"],
            detector.seed_,
            detector.mean_time is None,
            arrays["rows"],
            int(head["count"]),
        )
        detector._numbers, detector._ids = arrays["numbers"], [str(name) for name in head["ids"]]
        detector.n_seen_, detector.notes_ = int(head["n_seen"]), dict(head["notes"])
        detector.evidence_ = -math.inf if head["evidence"] is None else float(head["evidence"])
        detector.alarm_ = None if head["alarm"] is None else Alarm.of_record(head["alarm"])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise GraphError(f"{path} is damaged: {error!r}") from None


def _read(path: Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        head = json.loads(bytes(arrays.pop("head")).decode())
    except FileNotFoundError:
        raise GraphError(f"{path} does not exist") from None
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error, AttributeError) as error:
        raise GraphError(f"{path} is no state of a detector, or damaged: {error}") from None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise GraphError(f"{path} is no state of a detector: its 'format' is not {FORMAT!r}")
    if head.get("version") != VERSION:
        raise GraphError(
            f"{path} has version {head.get('version')!r} of the format; this release reads {VERSION}: "
            "fit again"
        )
    return head, arrays


def _json(transformer: Any) -> str | None:
    return transformer.to_json() if isinstance(transformer, GRNF) else None


def _transformer(text: str | None, given: Any) -> Any:
    return GRNF.from_json(text) if given is None and text is not None else given


def _plain(value: Any) -> Any:
    """Turn numpy numbers into what JSON knows."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"cannot save a value of type {type(value).__name__}")
