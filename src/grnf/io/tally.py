"""Counting what is in a stream of graphs, in memory that does not grow with their number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grnf.io import BadGraph, RawGraph

__all__ = ["Tally"]

MOST_VALUES = 1000
MOST_CLASSES = 20
"""Classes that are all listed; of more, only some of the largest and smallest."""
SOME_CLASSES = 5
MOST_LABELS = 10_000
"""Different labels that are counted."""
MOST_BAD = 20


@dataclass
class Range:
    """Smallest, mean and largest of some numbers."""

    count: int = 0
    total: float = 0
    low: float = math.inf
    high: float = -math.inf

    def add(self, value: float) -> None:
        """Count one number."""
        self.count += 1
        self.total += value
        self.low, self.high = min(self.low, value), max(self.high, value)

    def report(self) -> dict[str, float]:
        """Return what was found."""
        if not self.count:
            return {}
        return {"min": self.low, "mean": self.total / self.count, "max": self.high, "total": self.total}


@dataclass
class Column:
    """An attribute: its types, how many values it takes, and where it is missing."""

    kinds: set[str] = field(default_factory=set)
    values: set[Any] = field(default_factory=set)
    graphs: int = 0
    missing: int = 0

    def add(self, array: Any) -> None:
        """Count the values of one graph."""
        import numpy as np

        array = np.asarray(array)
        self.graphs += 1
        if array.dtype.kind in "fiub":
            width = 1 if array.ndim == 1 else array.shape[1]
            self.kinds.add("numbers" if width == 1 else f"vectors of {width} numbers")
            self.missing += int(np.isnan(array).sum()) if array.dtype.kind == "f" else 0
            return
        self.kinds.add("categories")
        for value in array.ravel().tolist():
            if value is None:
                self.missing += 1
            elif len(self.values) <= MOST_VALUES:
                self.values.add(value)

    def report(self) -> dict[str, Any]:
        """Return what was found."""
        result: dict[str, Any] = {"type": " or ".join(sorted(self.kinds))}
        if self.values:
            many = len(self.values) > MOST_VALUES
            result["values"] = f"more than {MOST_VALUES}" if many else len(self.values)
        return result | {"graphs": self.graphs, "missing": self.missing}


class Targets:
    """Labels of graphs: how often each occurs, and the range of those that are numbers.

    Examples
    --------
    >>> targets = Targets()
    >>> for y in [*range(50), *range(50), 7]:
    ...     targets.add(y)
    >>> report = targets.report()
    >>> report["n_classes"], report["largest"]["7"], report["numbers"]["max"]
    (50, 3, 49)
    """

    def __init__(self) -> None:
        self.counts: dict[Any, int] = {}
        self.range = Range()
        self.whole = True
        self.missing = 0
        self.others = 0

    def add(self, y: Any) -> None:
        """Count one label."""
        from grnf.io.vectors.blocks import as_text, plain

        y = plain(y)
        if y is None or (isinstance(y, float) and math.isnan(y)):
            self.missing += 1
            return
        if isinstance(y, int | float):
            self.range.add(y)
            self.whole = self.whole and float(y).is_integer()
        key = y if isinstance(y, int | float | str) else as_text(y)
        if key in self.counts or len(self.counts) <= MOST_LABELS:
            self.counts[key] = self.counts.get(key, 0) + 1
        else:
            self.others += 1

    def report(self) -> dict[str, Any] | None:
        """Return what was found, None where no graph has a label; both views where either may be meant.

        Texts are classes, and so are few values, or whole numbers that occur twice or more on average. Other
        numbers are numbers, and so are many whole ones.
        """
        if not self.counts:
            return None
        n_labels = sum(self.counts.values()) + self.others
        numbers = self.range.count == n_labels
        many = len(self.counts) > MOST_CLASSES
        classes = not numbers or not many or (self.whole and 2 * len(self.counts) <= n_labels)
        found: dict[str, Any] = self._classes() if classes else {"values": self._number_of_labels()}
        if numbers and (many or not self.whole):
            found["numbers"] = {key: self.range.report()[key] for key in ("min", "mean", "max")}
        return {**found, "missing": self.missing}

    def _number_of_labels(self) -> int | str:
        return f"more than {MOST_LABELS:,}" if self.others else len(self.counts)

    def _classes(self) -> dict[str, Any]:
        if len(self.counts) <= MOST_CLASSES:
            ordered = sorted(self.counts.items(), key=lambda pair: (str(type(pair[0])), pair[0]))
            return {"classes": {str(key): count for key, count in ordered}}
        if self.others:
            return {"n_classes": self._number_of_labels()}
        ordered = sorted(self.counts.items(), key=lambda pair: -pair[1])
        some = {"largest": ordered[:SOME_CLASSES], "smallest": ordered[-SOME_CLASSES:]}
        shown = {name: {str(key): count for key, count in pairs} for name, pairs in some.items()}
        return {"n_classes": len(self.counts), **shown}


class Tally:
    """What is in a stream of graphs."""

    def __init__(self) -> None:
        self.n_items = self.n_graphs = self.n_bad = 0
        self.nodes, self.edges = Range(), Range()
        self.node_columns: dict[str, Column] = {}
        self.edge_columns: dict[str, Column] = {}
        self.y = Targets()
        self.counts = dict.fromkeys(
            ("directed_graphs", "self_loops", "repeated_edges", "isolated_nodes", "empty_graphs"), 0
        )
        self.counts["graphs_without_edges"] = 0
        self.bad: list[dict[str, Any]] = []
        self.ids: set[int] = set()
        self.repeated_ids = 0

    def add(self, item: RawGraph | BadGraph) -> None:
        """Count one graph, or one that could not be read."""
        from grnf.io import RawGraph

        name = str(self.n_items if item.graph_id is None else item.graph_id)
        self.repeated_ids += hash(name) in self.ids
        self.ids.add(hash(name))
        self.n_items += 1
        if isinstance(item, RawGraph):
            self._add_graph(item)
            return
        self.n_bad += 1
        if len(self.bad) < MOST_BAD:
            self.bad.append({"index": self.n_items - 1, "graph_id": name, "reason": item.reason})

    def _add_graph(self, graph: RawGraph) -> None:
        import numpy as np

        edges = np.asarray(graph.edges).reshape(-1, 2)
        ends = edges if graph.directed else np.sort(edges, axis=1)
        self.n_graphs += 1
        self.nodes.add(graph.n_nodes)
        self.edges.add(len(edges))
        self.y.add(graph.y)
        self.counts["directed_graphs"] += graph.directed
        self.counts["self_loops"] += int((edges[:, 0] == edges[:, 1]).sum())
        self.counts["repeated_edges"] += len(edges) - len(np.unique(ends[:, 0] * graph.n_nodes + ends[:, 1]))
        self.counts["isolated_nodes"] += graph.n_nodes - len(np.unique(edges))
        self.counts["empty_graphs"] += graph.n_nodes == 0
        self.counts["graphs_without_edges"] += len(edges) == 0
        for tally, columns in (
            (self.node_columns, graph.node_columns),
            (self.edge_columns, graph.edge_columns),
        ):
            for name, values in columns.items():
                tally.setdefault(name, Column()).add(values)

    def report(self) -> dict[str, Any]:
        """Return all that was found."""
        return {
            "graphs": self.n_graphs,
            "nodes": self.nodes.report(),
            "edges": self.edges.report(),
            **self.counts,
            "node_attributes": {name: column.report() for name, column in self.node_columns.items()},
            "edge_attributes": {name: column.report() for name, column in self.edge_columns.items()},
            "y": self.y.report(),
            "bad": self.bad,
            "problems": self._problems(),
        }

    def _problems(self) -> list[str]:
        """Say in sentences what a user should look at."""
        found = []
        if self.n_bad:
            found.append(f"{self.n_bad} graphs cannot be read")
        if 0 < self.counts["directed_graphs"] < self.n_graphs:
            found.append(
                f"{self.counts['directed_graphs']} of {self.n_graphs} graphs are directed, the rest not"
            )
        if self.counts["empty_graphs"]:
            found.append(f"{self.counts['empty_graphs']} graphs have no nodes")
        if self.counts["repeated_edges"]:
            found.append(f"{self.counts['repeated_edges']} edges repeat another; repeats are summed")
        if self.repeated_ids:
            found.append(f"{self.repeated_ids} graphs have the id of an earlier one")
        if self.y.missing and self.y.counts:
            found.append(f"{self.y.missing} graphs have no y, though others do")
        found += _column_problems("node", self.node_columns, self.n_graphs)
        found += _column_problems("edge", self.edge_columns, self.n_graphs)
        return found


def _column_problems(item: str, columns: Mapping[str, Column], n_graphs: int) -> list[str]:
    found = []
    for name, column in columns.items():
        if column.graphs < n_graphs:
            found.append(f"{item} attribute {name!r} is in {column.graphs} of {n_graphs} graphs only")
        if column.missing:
            found.append(f"{item} attribute {name!r} lacks {column.missing} values")
        if len(column.kinds) > 1:
            found.append(f"{item} attribute {name!r} is of several types: {', '.join(sorted(column.kinds))}")
    return found
