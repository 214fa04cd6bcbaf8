"""What "near" means in an index: the map from vectors to the rows that it compares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from grnf._utils.axes import principal_axes
from grnf.typing import FloatArray

__all__ = ["MAPS", "Plain", "Whitened", "make_map", "restored_map"]

ROWS = 8192


@dataclass(frozen=True, eq=False)
class Plain:
    """Vectors as they are: distances estimate d_P."""

    name: ClassVar[str] = "plain"

    def __call__(self, Z: FloatArray) -> FloatArray:
        """Return the rows of vectors."""
        return Z

    def settings(self) -> dict[str, Any]:
        """Return what goes into the head of an index."""
        return {"name": self.name}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what was learnt, by name."""
        return {}


@dataclass(frozen=True, eq=False)
class Whitened:
    """z -> V' (z - mean) / sqrt(lambda + s lambda_1): all directions count alike, down to a share s.

    Parameters
    ----------
    mean, variances, axes : arrays, shapes (M,), (M,), (M, M)
        Mean, variances lambda and principal axes V of the reference collection.
    shrinkage : float
        s.
    """

    mean: FloatArray
    variances: FloatArray
    axes: FloatArray
    shrinkage: float

    name: ClassVar[str] = "whitened"

    @classmethod
    def learnt(cls, Z: FloatArray, shrinkage: float) -> Whitened:
        """Learn the axes from a collection of vectors."""
        return cls(*principal_axes(Z), shrinkage)

    def __call__(self, Z: FloatArray) -> FloatArray:
        """Return the rows of vectors, in single precision."""
        scale = np.sqrt(self.variances + self.shrinkage * self.variances[0])
        scale = np.where(scale > 0, scale, 1.0)  # a constant collection: nothing to weigh by
        axes = self.axes / scale
        rows = np.empty(Z.shape, np.float32)
        for start in range(0, len(Z), ROWS):
            some = np.asarray(Z[start : start + ROWS], dtype=np.float64)
            rows[start : start + ROWS] = (some - self.mean) @ axes
        return rows

    def settings(self) -> dict[str, Any]:
        """Return what goes into the head of an index."""
        return {"name": self.name, "shrinkage": self.shrinkage}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what was learnt, by name."""
        return {"mean": self.mean, "variances": self.variances, "axes": self.axes}


MAPS = (Plain.name, Whitened.name)


def make_map(name: str, Z: FloatArray, shrinkage: float) -> Plain | Whitened:
    """Return the map of that name, learnt from the first vectors of an index."""
    return Plain() if name == Plain.name else Whitened.learnt(Z, shrinkage)


def restored_map(settings: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Plain | Whitened:
    """Return the map that `settings` and `arrays` were made of."""
    if settings["name"] == Plain.name:
        return Plain()
    if settings["name"] != Whitened.name:
        raise ValueError(f"an unknown map {settings['name']!r}")
    return Whitened(arrays["mean"], arrays["variances"], arrays["axes"], float(settings["shrinkage"]))
