"""Errors and warnings that users see."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

__all__ = [
    "CostWarning",
    "DiskFullError",
    "GraphError",
    "GrnfWarning",
    "OrderTooLargeError",
    "invalid",
]


class GraphError(ValueError):
    """A graph, or a collection of graphs, that cannot be used.

    The text is put together from the parts: ``{where}[{index}]: {reason}. {cure}``.

    Parameters
    ----------
    reason : str
        What is wrong, and what was found.
    index : int, optional
        Position of the graph in its collection, from 0.
    where : str, optional
        The name of the argument, or the file and the line.
    cure : str, optional
        What to do about it: a full sentence without its period.

    Examples
    --------
    >>> error = GraphError("node 7 has no position", index=3, where="X", cure="Add it")
    >>> error
    GraphError('X[3]: node 7 has no position. Add it')
    >>> error.located(index=103, where="graphs.csv").index
    103
    >>> GraphError("2 columns, expected 3", where="line 12").located(where="graphs.csv")
    GraphError('graphs.csv, line 12: 2 columns, expected 3')
    """

    def __init__(
        self, reason: str, *, index: int | None = None, where: str | None = None, cure: str | None = None
    ) -> None:
        self.reason, self.index, self.where, self.cure = reason, index, where, cure
        super().__init__(str(self))

    def located(self, *, index: int | None = None, where: str | None = None) -> Self:
        """Return this error with a position that its caller knows; `where` comes before the known place.

        Parameters
        ----------
        index : int, optional
            Number of the graph.
        where : str, optional
            Name of the file or argument.

        Returns
        -------
        GraphError
        """
        place = ", ".join(part for part in (where, self.where) if part) or None
        index = self.index if index is None else index
        return type(self)(self.reason, index=index, where=place, cure=self.cure)

    def __str__(self) -> str:
        place = self.where or ""
        if self.index is not None:
            if place.isidentifier():  # an argument
                place = f"{place}[{self.index}]"
            else:
                place = f"{place}, graph {self.index}" if place else f"graph {self.index}"
        return f"{place}{': ' if place else ''}{self.explanation}"

    @property
    def explanation(self) -> str:
        """The text without the position."""
        return self.reason if self.cure is None else f"{self.reason}. {self.cure}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), index=self.index, where=self.where, cure=self.cure), (self.reason,)


def invalid(name: str, requirement: str, found: str = "", cure: str = "") -> ValueError:
    """Return the error about an argument: ``{name} must {requirement}, got {found}. {cure}``.

    Examples
    --------
    >>> invalid("K", "be a square matrix", "shape (3, 4)", cure="Pass the Gram matrix")
    ValueError('K must be a square matrix, got shape (3, 4). Pass the Gram matrix')
    """
    return ValueError(f"{name} must {requirement}{found and f', got {found}'}{cure and f'. {cure}'}")


class DiskFullError(OSError):
    """A file that does not fit on its disk, in its quota or in the largest size that files may have."""


class CostWarning(UserWarning):
    """Work that was asked for will take very long."""


class OrderTooLargeError(ValueError):
    """A hidden order so large that one feature has more parameters than memory holds."""


class GrnfWarning(UserWarning):
    """Something in the input is not used, or not all of it."""
