"""Summary of a stream of graphs, in memory that does not grow with their number."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grnf._utils.words import counted
from grnf.io.raw import ABSENT, BadGraph, RawGraph
from grnf.io.vectors.blocks import as_text, plain

MOST_VALUES = 10_000
"""Different values of a column that are counted."""
MOST_CLASSES = 20
"""Classes that are all listed; of more, only some of the largest and smallest."""
SOME_CLASSES = 5
MOST_BAD = 20
MISSING_WORDS = "words for missing values"
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

    def add(self, value: float, times: int = 1) -> None:
        """Count one number."""
        self.count += times
        self.total += value * times
        self.low, self.high = min(self.low, value), max(self.high, value)

    def report(self) -> dict[str, float]:
        """Return the summary as JSON values."""
        if not self.count:
            return {}
        return {"min": self.low, "mean": self.total / self.count, "max": self.high, "total": self.total}


@dataclass
class Values:
    """How often each of some values occurs, up to a number of them, how many are missing, and the range."""

    counts: Counter[Any] = field(default_factory=Counter)
    others: int = 0
    """Values beyond those that are counted."""
    missing: int = 0
    kinds: set[str] = field(default_factory=set)
    numbers: Range = field(default_factory=Range)

    def add(self, value: Any, times: int = 1) -> None:
        """Count a value: a number, a text, a list or None."""
        if value is None or value != value:
            self.missing += times
            return
        if isinstance(value, int | float):
            self.numbers.add(value, times)
        key = value if isinstance(value, str | int | float) else as_text(value)
        if key in self.counts:
            self.counts[key] += times
        elif len(self.counts) < MOST_VALUES:
            self.counts[key] = times
            self.kinds.add(kind_of(value))
        else:
            self.others += times

    @property
    def total(self) -> int:
        """Number of values that are not missing."""
        return self.counts.total() + self.others

    @property
    def n_different(self) -> int | str:
        """Number of different values, as a text if they are too many to be counted."""
        return f"more than {MOST_VALUES:,}" if self.others else len(self.counts)

    def classes(self) -> dict[str, int]:
        """Return how often each value occurs, numbers before texts."""
        ordered = sorted(self.counts.items(), key=lambda pair: (isinstance(pair[0], str), pair[0]))
        return {str(key): count for key, count in ordered}


def kind_of(value: Any) -> str:
    """Return what a value is, as a user would call it."""
    if isinstance(value, bool):
        return "truth values"
    if isinstance(value, int):
        return "whole numbers"
    if isinstance(value, float):
        return "whole numbers" if value.is_integer() else "numbers"
    if isinstance(value, str):
        return MISSING_WORDS if value.lower() in ABSENT else "text"
    return "lists"


@dataclass
class Attribute:
    """An attribute: its types, its categories, and the number of missing values."""

    kinds: set[str] = field(default_factory=set)
    values: Values = field(default_factory=Values)
    graphs: int = 0

    def add(self, array: Any) -> None:
        """Count the values of a graph."""
        array = np.asarray(array)
        self.graphs += 1
        if array.dtype.kind in "fiub":
            width = 1 if array.ndim == 1 else array.shape[1]
            self.kinds.add("numbers" if width == 1 else f"vectors of {width} numbers")
            self.values.missing += int(np.isnan(array).sum()) if array.dtype.kind == "f" else 0
            return
        self.kinds.add("categories")
        for value, times in Counter(array.ravel().tolist()).items():
            self.values.add(value, times)

    def report(self) -> dict[str, Any]:
        """Return the summary as JSON values."""
        different = {"values": self.values.n_different} if self.values.counts else {}
        types = " or ".join(sorted(self.kinds))
        return {"type": types, **different, "graphs": self.graphs, "missing": self.values.missing}


def about_targets(values: Values) -> dict[str, Any] | None:
    """Return classes or a range of numbers, or both if either may be meant, or None without labels.

    Texts are classes, and so are few values, or whole numbers that occur twice or more on average. Other
    numbers are numbers, and so are many whole ones.
    """
    if not values.counts:
        return None
    numeric, whole = values.numbers.count == values.total, values.kinds <= {"whole numbers", "truth values"}
    many = len(values.counts) > MOST_CLASSES
    result: dict[str, Any]
    if not many:
        result = {"classes": values.classes()}
    elif numeric and not (whole and 2 * len(values.counts) <= values.total):
        result = {"values": values.n_different}
    else:
        result = {"n_classes": values.n_different}
        if not values.others:
            ordered = [(str(key), count) for key, count in values.counts.most_common()]
            result |= {"largest": dict(ordered[:SOME_CLASSES]), "smallest": dict(ordered[-SOME_CLASSES:])}
    if numeric and (many or not whole):
        result["numbers"] = {key: values.numbers.report()[key] for key in ("min", "mean", "max")}
    return {**result, "missing": values.missing}


class Tally:
    """Numbers of graphs, nodes and edges, attributes, labels and problems of a stream of graphs."""

    def __init__(self) -> None:
        self.n_items = self.n_graphs = self.n_bad = 0
        self.nodes, self.edges = Range(), Range()
        self.attributes: dict[str, dict[str, Attribute]] = {"node": {}, "edge": {}}
        self.y = Values()
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
        self.y.add(plain(graph.y))
        self.counts["directed_graphs"] += graph.directed
        self.counts["self_loops"] += int((edges[:, 0] == edges[:, 1]).sum())
        self.counts["repeated_edges"] += len(edges) - len(np.unique(ends[:, 0] * graph.n_nodes + ends[:, 1]))
        self.counts["isolated_nodes"] += graph.n_nodes - len(np.unique(edges))
        self.counts["empty_graphs"] += graph.n_nodes == 0
        self.counts["graphs_without_edges"] += len(edges) == 0
        for item, columns in (("node", graph.node_columns), ("edge", graph.edge_columns)):
            for name, values in columns.items():
                self.attributes[item].setdefault(name, Attribute()).add(values)

    def report(self) -> dict[str, Any]:
        """Return the summary as JSON values."""
        return {
            "graphs": self.n_graphs,
            "nodes": self.nodes.report(),
            "edges": self.edges.report(),
            **self.counts,
            **{
                f"{item}_attributes": {name: own.report() for name, own in columns.items()}
                for item, columns in self.attributes.items()
            },
            "y": about_targets(self.y),
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
        for item, columns in self.attributes.items():
            for name, own in columns.items():
                title = f"{item} attribute {name!r}"
                if own.graphs < n_graphs:
                    problems.append(f"{title} is in {own.graphs} of {n_graphs} graphs only")
                if own.values.missing:
                    problems.append(f"{title} lacks {counted(own.values.missing, 'values')}")
                if len(own.kinds) > 1:
                    problems.append(f"{title} is of several types: {', '.join(sorted(own.kinds))}")
        return problems
