"""DOT of Graphviz: graphs and digraphs with attributes, defaults and subgraphs, one or more in a file.

Values that look like numbers are numbers, and a label that repeats the name of its node is dropped. Ports are
ignored. Subgraphs group nodes: they scope defaults, and an edge to one is an edge to each of its nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

from grnf._utils.memory import VALUE, check_memory
from grnf.errors import GraphError
from grnf.io.files.file import File, decoded
from grnf.io.files.limits import DEEPEST_NESTING, MOST_PRODUCTS
from grnf.io.files.values import graph_of_rows, number
from grnf.io.raw import RawGraph

TOKEN = re.compile(
    r"""\s+ | ^\#[^\n]* | //[^\n]* | /\*.*?\*/
    | "(?P<text>[^"\\]*(?:\\.[^"\\]*)*)"
    | <(?P<html>(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*)>
    | (?P<name>-?(?:\.\d+|\d+(?:\.\d*)?)(?![\w.]) | [^\W\d]\w*)
    | (?P<mark>->|--|[{}\[\]=;,:+]) | (?P<wrong>.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
JOINED = re.compile(r"\\\r?\n")
"""A line that continues on the next."""
KEYWORDS = ("graph", "digraph", "node", "edge", "subgraph", "strict")
Values = dict[str, Any]


def read_dot(file: File) -> Iterator[RawGraph]:
    """Yield the graphs of a DOT file, which is held in memory as a whole."""
    parser = _Parser(decoded(file.whole(), str(file)).removeprefix("\ufeff"))
    while parser.kind != "end":
        try:
            graph = parser.graph()
        except GraphError as error:
            line = parser.text.count("\n", 0, parser.start) + 1
            raise error.located(where=f"{file}, line {line}") from None
        yield graph


class _Parser:
    """Takes graphs from a text. `kind` is a mark, a keyword, or what the next token is otherwise."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.word = text, TOKEN.finditer(text), ""
        self.next()

    def next(self) -> str:
        """Go to the next token. Return the word of this one."""
        word = self.word
        self.kind, self.word, self.start = "end", "the end of the file", len(self.text)
        for token in self.tokens:
            if token.lastgroup is not None:
                self.start, self.word = token.start(), token[token.lastgroup]
                is_mark = token.lastgroup == "mark"
                is_keyword = token.lastgroup == "name" and self.word.lower() in KEYWORDS
                self.kind = self.word.lower() if is_mark or is_keyword else token.lastgroup
                break
        return word

    def take(self, *kinds: str) -> bool:
        """Go on if the next token is one of these."""
        return self.kind in kinds and self.next() is not None

    def unexpected(self, expected: str) -> GraphError:
        return GraphError(f"expected {expected}, got {self.word[:40]!r}")

    def graph(self) -> RawGraph:
        """Take one graph."""
        self.nodes: dict[str, Values] = {}
        self.edges: list[tuple[str, str, Values]] = []
        self.groups: dict[str, dict[str, None]] = {}
        self.copied = 0
        strict, self.directed = self.take("strict"), self.kind == "digraph"
        if not self.take("graph", "digraph"):
            raise self.unexpected("'graph' or 'digraph'")
        name = self.name() if self.kind != "{" else None
        defaults: dict[str, Values] = {"graph": {}, "node": {}, "edge": {}}
        self.block(defaults, 1)
        if strict:  # each edge once, with the values of all
            once: dict[Any, tuple[str, str, Values]] = {}
            for source, target, values in self.edges:
                key = (source, target) if self.directed else frozenset((source, target))
                once.setdefault(key, (source, target, {}))[2].update(values)
            self.edges = list(once.values())
        for node, values in self.nodes.items():
            if "label" in values and values["label"] in ("\\N", node, number(node)):
                del values["label"]
        y = defaults["graph"].get("y")
        return graph_of_rows(list(self.nodes.items()), self.edges, directed=self.directed, graph_id=name, y=y)

    def block(self, defaults: dict[str, Values], level: int) -> dict[str, None]:
        """Take statements between braces. Return the nodes that they name."""
        if level > DEEPEST_NESTING:
            raise GraphError(f"subgraphs nested more than {DEEPEST_NESTING} deep")
        if not self.take("{"):
            raise self.unexpected("'{'")
        nodes: dict[str, None] = {}
        while not self.take("}"):
            if self.kind in defaults:
                defaults[self.next().lower()].update(self.values())
            else:
                for group in self.statement(defaults, level):
                    nodes.update(group)
            while self.take(";", ","):
                pass
        return nodes

    def statement(self, defaults: dict[str, Values], level: int) -> list[dict[str, None]]:
        """Take a node, edges, a subgraph or a value of the graph. Return the nodes, end by end."""
        groups: list[dict[str, None]] = []
        while not groups or self.take("->" if self.directed else "--"):
            if self.kind in ("{", "subgraph"):
                title = self.name() if self.take("subgraph") and self.kind != "{" else None
                inner = {item: dict(values) for item, values in defaults.items()}
                inside = self.block(inner, level + 1) if self.kind == "{" else {}
                groups.append(inside if title is None else self.groups.setdefault(title, {}))
                groups[-1].update(inside)
                continue
            name = self.name()
            if not groups and self.take("="):
                defaults["graph"][name] = number(self.name().strip())
                return []
            while self.take(":"):  # a port, and the side of it
                self.name()
            if name not in self.nodes:
                self.copied += len(defaults["node"])
                check_memory(3 * VALUE * self.copied, f"{self.copied} default values")
                self.nodes[name] = dict(defaults["node"])
            groups.append({name: None})
        if self.kind in ("->", "--"):
            raise self.unexpected(
                f"{'->' if self.directed else '--'!r} between the nodes of a {'di' * self.directed}graph"
            )
        values = self.values()
        if len(groups) == 1 and len(groups[0]) == 1:
            self.nodes[next(iter(groups[0]))].update(values)
        if sum(len(one) * len(other) for one, other in pairwise(groups)) > MOST_PRODUCTS:
            raise GraphError(f"edges between subgraphs stand for more than {MOST_PRODUCTS} edges")
        for one, other in pairwise(groups):
            for source, target in product(one, other):
                self.edges.append((source, target, {**defaults["edge"], **values}))
        return groups

    def values(self) -> Values:
        """Take lists of values in brackets."""
        result: Values = {}
        while self.take("["):
            while not self.take("]"):
                name = self.name()
                result[name] = number(self.name().strip()) if self.take("=") else "true"
                while self.take(";", ","):
                    pass
        return result

    def name(self) -> str:
        """Take a name or a value: a word, a number, a text in quotes or in angles, or texts joined by +."""
        kind = self.kind
        if kind not in ("name", "text", "html"):
            raise self.unexpected("a name or a value")
        word = self.next()
        while kind == "text" and self.take("+"):
            if self.kind != "text":
                raise self.unexpected("a text in quotes after '+'")
            word += self.next()
        return JOINED.sub("", word).replace('\\"', '"') if kind == "text" else word
