"""What an experiment is given (settings, and a cache for interrupted runs), and what it returns (tables)."""

from __future__ import annotations

import hashlib
import json
import subprocess
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from grnf._utils.files import atomic_write, write_array
from grnf._version import __version__
from grnf.datasets.benchmarks import data_folder
from grnf.typing import FloatArray

__all__ = ["Study", "Table", "made_with", "markdown", "over_folds"]


@dataclass(frozen=True)
class Table:
    """A table of a report or of the documentation: header and rows of text, and a note below."""

    title: str
    header: list[str]
    rows: list[list[str]]
    note: str = ""


@dataclass
class Study:
    """Settings of a run, and its cache.

    Attributes
    ----------
    output : Path
        Folder of results; the cache is inside.
    data : path, optional
        Folder of the datasets, with tu/, splits/, brec/ and molecules/ in it.
    seed : int
    quick : bool
        A small version of each experiment, to see that all works.
    tell : function
        Called with what is being done.
    fresh : bool
        Compute again what the cache holds.
    saved : float
        Seconds that what came from the cache had taken.
    """

    output: Path
    data: Path | None = None
    seed: int = 0
    quick: bool = False
    tell: Callable[[str], Any] = field(default=lambda text: None)  # noqa: ARG005
    fresh: bool = False
    saved: float = field(default=0.0, init=False)

    def cached(self, what: dict[str, Any], compute: Callable[[], Any]) -> Any:
        """Return the result of `compute`, from the cache if it was computed with the same settings before.

        Parameters
        ----------
        what : dict
            Everything the result depends on, as JSON knows it.
        compute : function
            Gives something that JSON can hold.
        """
        path = self._place(what, ".json")
        if path.is_file() and not self.fresh:
            entry = json.loads(path.read_text(encoding="utf-8"))
            self.saved += entry["seconds"]
            return entry["result"]
        start, saved = time.perf_counter(), self.saved
        result = compute()
        seconds = time.perf_counter() - start + self.saved - saved
        with atomic_write(path) as file:
            json.dump({"what": what, "seconds": seconds, "result": result}, file)
        return result

    def cached_array(self, what: dict[str, Any], compute: Callable[[], FloatArray]) -> FloatArray:
        """Do the same for an array, which is kept as a .npy file."""
        path = self._place(what, ".npy")
        if path.is_file() and not self.fresh:
            return np.asarray(np.load(path, allow_pickle=False))
        array = compute()
        with atomic_write(path, "wb") as file:
            write_array(file, array)
        return array

    def path(self, *parts: str) -> Path:
        """Return the path of a file in the folder of datasets."""
        return data_folder(self.data).joinpath(*parts)

    def _place(self, what: dict[str, Any], suffix: str) -> Path:
        text = json.dumps({**what, "grnf": __version__}, sort_keys=True)
        folder = self.output / "cache"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{what['experiment']}-{hashlib.sha256(text.encode()).hexdigest()[:20]}{suffix}"


def made_with() -> str:
    """Return the version of the library, and the commit if this is a repository."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return f"grnf {__version__}"
    return f"grnf {__version__}, commit {found.stdout.strip()}"


def markdown(table: Table) -> str:
    """Return a table in Markdown, its note below.

    Examples
    --------
    >>> print(markdown(Table("accuracy", ["", "SVM"], [["MUTAG", "0.9"]])))
    | accuracy | SVM |
    |---|---|
    | MUTAG | 0.9 |
    """
    header = [table.header[0] or table.title, *table.header[1:]]
    lines = [f"| {' | '.join(row)} |" for row in (header, *table.rows)]
    lines.insert(1, "|---" * len(header) + "|")
    if table.note:
        lines += ["", *textwrap.wrap(table.note, 118)]
    return "\n".join(lines)


def over_folds(folds: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return mean and standard deviation of the test accuracies of folds, in percent.

    Examples
    --------
    >>> over_folds([{"test": 0.5}, {"test": 0.75}])
    {'mean': 62.5, 'std': 12.5}
    """
    tests = 100 * np.array([fold["test"] for fold in folds])
    return {"mean": float(tests.mean()), "std": float(tests.std())}
