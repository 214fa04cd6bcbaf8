"""A search for the settings of a blend of kernels that takes a fraction of the fits of a whole grid."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from scipy.stats import rankdata

from grnf.typing import FloatArray

__all__ = ["START", "Config", "Search", "blended", "config_of"]

START = {"colours": 0.5, "gamma": 0.3, "C": 10.0}
"""The middle of the road."""

Settings: TypeAlias = dict[str, float]
Config: TypeAlias = tuple[float, float, float]


class Search:
    """Scores of settings on samples that are left out; each is computed once."""

    def __init__(self, parts: tuple[FloatArray, ...], y: Any, splits: Any, solve: Any, score: Any) -> None:
        self.parts, self.y, self.splits, self.solve, self.score = parts, y, splits, solve, score
        self.found: dict[Config, list[float]] = {}
        self.outputs: dict[Config, list[tuple[FloatArray, Any]]] = {}
        self.order: list[Config] = []
        self._kernel: tuple[Any, Any] = (None, None)

    def mean(self, settings: Settings) -> float:
        """Return the mean score of some settings over the splits."""
        config = config_of(settings)
        if config not in self.found:
            self.found[config] = list(self._scores(config))
            self.order.append(config)
        return float(np.mean(self.found[config]))

    def better(self, now: Settings, tried: Settings) -> Settings:
        """Return what was tried if it is better; of equals what was there before."""
        return tried if self.mean(tried) > self.mean(now) else now

    def climbed(self, now: Settings, name: str, grid: list[float]) -> Settings:
        """Walk along a grid, up and else down, as long as it gets better."""
        start = grid.index(now[name])
        for steps in (grid[start + 1 :], grid[:start][::-1]):
            before = now
            for value in steps:
                after = self.better(now, {**now, name: value})
                if after is now:
                    break
                now = after
            if now is not before:
                break
        return now

    def _scores(self, config: Config) -> Iterator[float]:
        if self._kernel[0] != config[:2]:
            self._kernel = config[:2], blended(self.parts[0], self.parts[1], config[0], config[1])
        K = self._kernel[1]
        for train, test in self.splits:
            machine = self.solve(K[np.ix_(train, train)], self.y[train], config[2])
            output = machine.output(K[np.ix_(test, train)])
            self.outputs.setdefault(config, []).append((output, self.y[test]))
            yield self.score(output, self.y[test])

    def results(self) -> dict[str, Any]:
        """Return all that was tried as `GridSearchCV` has it."""
        scores = np.array([self.found[config] for config in self.order])
        params = [dict(zip(START, config, strict=True)) for config in self.order]
        table: dict[str, Any] = {
            f"param_{name}": np.array([entry[name] for entry in params]) for name in START
        }
        table |= {f"split{number}_test_score": column for number, column in enumerate(scores.T)}
        mean = scores.mean(axis=1)
        rank = rankdata(-mean, method="min").astype(np.int32)
        return {
            **table,
            "params": params,
            "mean_test_score": mean,
            "std_test_score": scores.std(axis=1),
            "rank_test_score": rank,
        }


def config_of(settings: Settings) -> Config:
    """Return settings as a tuple."""
    return settings["colours"], settings["gamma"], settings["C"]


def blended(by_colours: FloatArray, by_numbers: FloatArray, colours: float, gamma: float) -> FloatArray:
    """Return the kernel exp(-gamma (w D_c + (1 - w) D_n)), w being the say of colours."""
    if colours == 1:
        K = by_colours * np.float32(-gamma)
    elif colours == 0:
        K = by_numbers * np.float32(-gamma)
    else:
        K = by_colours * np.float32(-gamma * colours)
        K -= by_numbers * np.float32(gamma * (1 - colours))
    return np.asarray(np.exp(K, out=K))
