"""Summary of a stream of graphs, in memory that does not grow with their number."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grnf._utils.words import counted
from grnf.io.raw import BadGraph, RawGraph
from grnf.io.vectors.blocks import as_text, plain

__all__ = ["Tally"]

MOST_VALUES = 1000
MOST_CLASSES = 20
"""Classes that are all listed; of more, only some of the largest and smallest."""
SOME_CLASSES = 5
MOST_LABELS = 10_000
"""Different labels that are counted."""
MOST_BAD = 20
COUNTS = (
    "directed_graphs", "self_loops", "repeated_edges", "isolated_nodes", "empty_graphs",
    "graphs_without_edges",
)  # fmt: skip


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
        """Return the summary as JSON values."""
        if not self.count:
            return {}
        return {"min": self.low, "mean": self.total / self.count, "max": self.high, "total": self.total}


@dataclass
class Column:
    """An attribute: its types, the number of its values, and of missing ones."""

    kinds: set[str] = field(default_factory=set)
    values: set[Any] = field(default_factory=set)
    graphs: int = 0
    missing: int = 0

    def add(self, array: Any) -> None:
        """Count the values of a graph."""
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
        """Return the summary as JSON values."""
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
        self.counts: Counter[Any] = Counter()
        self.range = Range()
        self.whole = True
        self.missing = 0
        self.others = 0

    def add(self, y: Any) -> None:
        """Count one label."""
        y = plain(y)
        if y is None or (isinstance(y, float) and math.isnan(y)):
            self.missing += 1
            return
        if isinstance(y, int | float):
            self.range.add(y)
            self.whole = self.whole and float(y).is_integer()
        key = y if isinstance(y, int | float | str) else as_text(y)
        if key in self.counts or len(self.counts) <= MOST_LABELS:
            self.counts[key] += 1
        else:
            self.others += 1

    def report(self) -> dict[str, Any] | None:
        """Return classes or a range of numbers, or both if either may be meant, or None without labels.

        Texts are classes, and so are few values, or whole numbers that occur twice or more on average. Other
        numbers are numbers, and so are many whole ones.
        """
        if not self.counts:
            return None
        n_labels = self.counts.total() + self.others
        numbers = self.range.count == n_labels
        many = len(self.counts) > MOST_CLASSES
        classes = not numbers or not many or (self.whole and 2 * len(self.counts) <= n_labels)
        result: dict[str, Any] = self._classes() if classes else {"values": self._number_of_labels()}
        if numbers and (many or not self.whole):
            result["numbers"] = {key: self.range.report()[key] for key in ("min", "mean", "max")}
        return {**result, "missing": self.missing}

    def _number_of_labels(self) -> int | str:
        return f"more than {MOST_LABELS:,}" if self.others else len(self.counts)

    def _classes(self) -> dict[str, Any]:
        if len(self.counts) <= MOST_CLASSES:
            ordered = sorted(self.counts.items(), key=lambda pair: (str(type(pair[0])), pair[0]))
            return {"classes": {str(key): count for key, count in ordered}}
        if self.others:
            return {"n_classes": self._number_of_labels()}
        ordered = self.counts.most_common()
        some = {"largest": ordered[:SOME_CLASSES], "smallest": ordered[-SOME_CLASSES:]}
        shown = {name: {str(key): count for key, count in pairs} for name, pairs in some.items()}
        return {"n_classes": len(self.counts), **shown}


class Tally:
    """Numbers of graphs, nodes and edges, attributes, labels and problems of a stream of graphs."""

    def __init__(self) -> None:
        self.n_items = self.n_graphs = self.n_bad = 0
        self.nodes, self.edges = Range(), Range()
        self.node_columns: dict[str, Column] = {}
        self.edge_columns: dict[str, Column] = {}
        self.y = Targets()
        self.counts = dict.fromkeys(COUNTS, 0)
        self.bad: list[dict[str, Any]] = []
        self.ids: set[int] = set()
        self.repeated_ids = 0

    def add(self, item: RawGraph | BadGraph) -> None:
        """Count one graph, or one that could not be read."""
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
        """Return the summary as JSON values."""
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
        """Return sentences about what a user should check."""
        directed, n_graphs = self.counts["directed_graphs"], self.n_graphs
        repeated, mixed = self.counts["repeated_edges"], directed if directed < n_graphs else 0
        no_y = self.y.missing
        counts = {
            f"{counted(self.n_bad, 'graphs')} that cannot be read": self.n_bad,
            f"{directed} of {n_graphs} graphs are directed, the rest not": mixed,
            f"{counted(self.counts['empty_graphs'], 'graphs')} without nodes": self.counts["empty_graphs"],
            f"{counted(repeated, 'edges')} repeating another (repeats are summed)": repeated,
            f"{counted(self.repeated_ids, 'graphs')} with the id of an earlier one": self.repeated_ids,
            f"{counted(no_y, 'graphs')} without y, though others have one": no_y if self.y.counts else 0,
        }
        problems = [text for text, count in counts.items() if count]
        for item, columns in (("node", self.node_columns), ("edge", self.edge_columns)):
            for name, column in columns.items():
                title = f"{item} attribute {name!r}"
                if column.graphs < n_graphs:
                    problems.append(f"{title} is in {column.graphs} of {n_graphs} graphs only")
                if column.missing:
                    problems.append(f"{title} lacks {counted(column.missing, 'values')}")
                if len(column.kinds) > 1:
                    problems.append(f"{title} is of several types: {', '.join(sorted(column.kinds))}")
        return problems
