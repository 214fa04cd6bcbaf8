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

__all__ = ["read_dot"]

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
    """Takes graphs from a text, token by token."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens = text, TOKEN.finditer(text)
        self.next()

    def next(self) -> str:
        """Go to the next token. Return the word of this one."""
        word = getattr(self, "word", "")
        self.kind, self.word, self.start = "end", "the end of the file", len(self.text)
        for token in self.tokens:
            if token.lastgroup is not None:
                self.start, self.word = token.start(), token[token.lastgroup]
                self.kind = self.word if token.lastgroup == "mark" else token.lastgroup
                break
        return word

    def graph(self) -> RawGraph:
        """Take one graph."""
        self.nodes: dict[str, Values] = {}
        self.copied = 0
        self.edges: list[tuple[str, str, Values]] = []
        self.groups: dict[str, dict[str, None]] = {}
        self.once: dict[tuple[str, str], Values] | None = {} if self.keyword("strict") else None
        self.directed = self.keyword("digraph")
        if not self.directed and not self.keyword("graph"):
            raise self.unexpected("'graph' or 'digraph'")
        name = self.name() if self.kind != "{" else None
        defaults: dict[str, Values] = {"graph": {}, "node": {}, "edge": {}}
        self.block(defaults, 1)
        for node, values in self.nodes.items():
            if "label" in values and values["label"] in ("\\N", node, number(node)):
                del values["label"]
        y = defaults["graph"].get("y")
        return graph_of_rows(list(self.nodes.items()), self.edges, directed=self.directed, graph_id=name, y=y)

    def block(self, defaults: dict[str, Values], level: int) -> dict[str, None]:
        """Take statements between braces. Return the nodes that they name."""
        if self.kind != "{":
            raise self.unexpected("'{'")
        if level > DEEPEST_NESTING:
            raise GraphError(f"subgraphs nested more than {DEEPEST_NESTING} deep")
        nodes: dict[str, None] = {}
        self.next()
        while self.kind != "}":
            self.statement(defaults, nodes, level)
            while self.kind in (";", ","):
                self.next()
        self.next()
        return nodes

    def statement(self, defaults: dict[str, Values], nodes: dict[str, None], level: int) -> None:
        for item in ("graph", "node", "edge"):
            if self.keyword(item):
                defaults[item].update(self.values())
                return
        groups: list[dict[str, None]] = []
        arrow = "->" if self.directed else "--"
        while True:
            if self.kind == "{" or self.is_keyword("subgraph"):
                group = self.subgraph(defaults, level)
            else:
                name = self.name()
                if not groups and self.kind == "=":
                    self.next()
                    defaults["graph"][name] = self.value()
                    return
                while self.kind == ":":  # a port, and the side of it
                    self.next()
                    self.name()
                self.node(name, defaults["node"])
                group = {name: None}
            nodes.update(group)
            groups.append(group)
            if self.kind not in ("->", "--"):
                break
            if self.kind != arrow:
                raise self.unexpected(f"{arrow!r} between the nodes of a {'di' * self.directed}graph")
            self.next()
        values = self.values()
        if len(groups) == 1 and len(groups[0]) == 1:
            for name in groups[0]:
                self.nodes[name].update(values)
        if sum(len(one) * len(other) for one, other in pairwise(groups)) > MOST_PRODUCTS:
            raise GraphError(f"edges between subgraphs stand for more than {MOST_PRODUCTS} edges")
        for one, other in pairwise(groups):
            for source, target in product(one, other):
                self.edge(source, target, {**defaults["edge"], **values})

    def subgraph(self, defaults: dict[str, Values], level: int) -> dict[str, None]:
        """Take a subgraph, or the name of one. Return its nodes."""
        title = self.name() if self.keyword("subgraph") and self.kind != "{" else None
        inner = {item: dict(values) for item, values in defaults.items()}
        inside = self.block(inner, level + 1) if self.kind == "{" else {}
        nodes = inside if title is None else self.groups.setdefault(title, {})
        nodes.update(inside)
        return nodes

    def node(self, name: str, defaults: Values) -> None:
        """Add a node with the defaults at its first mention."""
        if name not in self.nodes:
            self.copied += len(defaults)
            check_memory(3 * VALUE * self.copied, f"{self.copied} default values")
            self.nodes[name] = dict(defaults)

    def edge(self, source: str, target: str, values: Values) -> None:
        """Add an edge. A strict graph has each once."""
        if self.once is not None:
            key = (source, target) if self.directed else (min(source, target), max(source, target))
            if key in self.once:
                self.once[key].update(values)
                return
            self.once[key] = values
        self.edges.append((source, target, values))

    def values(self) -> Values:
        """Take lists of values in brackets."""
        result: Values = {}
        while self.kind == "[":
            self.next()
            while self.kind != "]":
                name = self.name()
                result[name] = "true"
                if self.kind == "=":
                    self.next()
                    result[name] = self.value()
                while self.kind in (";", ","):
                    self.next()
            self.next()
        return result

    def value(self) -> Any:
        return number(self.name().strip())

    def name(self) -> str:
        """Take a name or a value: a word, a number, a text in quotes or in angles, or texts joined by +."""
        kind = self.kind
        if kind not in ("name", "text", "html") or any(map(self.is_keyword, KEYWORDS)):
            raise self.unexpected("a name or a value")
        word = self.next()
        while kind == "text" and self.kind == "+":
            self.next()
            if self.kind != "text":
                raise self.unexpected("a text in quotes after '+'")
            word += self.next()
        return JOINED.sub("", word).replace('\\"', '"') if kind == "text" else word

    def is_keyword(self, word: str) -> bool:
        return self.kind == "name" and self.word.lower() == word

    def keyword(self, word: str) -> bool:
        """Take a keyword if it stands here."""
        return self.is_keyword(word) and bool(self.next())

    def unexpected(self, expected: str) -> GraphError:
        return GraphError(f"expected {expected}, got {self.word[:40]!r}")
