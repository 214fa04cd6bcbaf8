"""DOT of Graphviz: graphs and digraphs with attributes, defaults and subgraphs; one or more a file.

Values that look like numbers are numbers. A label that repeats the name of its node is dropped, as in GML;
ports say where a line is drawn, and are passed over. Subgraphs group nodes: they scope defaults, and an edge
to one is an edge to each of its nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from grnf.errors import GraphError
from grnf.io.files.builder import GraphBuilder
from grnf.io.files.limits import DEEPEST_NESTING, LARGEST_DOCUMENT, MOST_PRODUCTS
from grnf.io.files.records import OnError, each_record
from grnf.io.files.streams import Source, Window
from grnf.io.files.values import number
from grnf.io.raw import BadGraph, RawGraph

__all__ = ["read_dot"]

TOKEN = re.compile(
    r"""\s+ | (?<=\n)\#[^\n]* | //[^\n]* | /\*.*?\*/
    | "(?P<text>[^"\\]*(?:\\.[^"\\]*)*)"
    | (?P<name>-?(?:\.\d+|\d+(?:\.\d*)?)(?![\w.]) | [^\W\d]\w*)
    | (?P<mark>->|--|[{}\[\]=;,:+])""",
    re.VERBOSE | re.DOTALL,
)
ANGLE = re.compile("[<>]")
JOINED = re.compile(r"\\\r?\n")
"""A line that goes on with the next."""
ITSELF = "\\N"
"""What a label says that stands for the name of its node."""
KEYWORDS = ("graph", "digraph", "node", "edge", "subgraph", "strict")
ARROWS = {"->": True, "--": False}


def read_dot(source: Source, *, on_error: OnError = "raise") -> Iterator[RawGraph | BadGraph]:
    """Yield the graphs of a DOT file, one of them in memory at a time."""

    def records() -> Iterator[tuple[str, str | None, _Parser | GraphError]]:
        try:
            yield from ((str(source), None, content) for content in _graphs(source, on_error))
        except GraphError as error:
            raise GraphError(f"{source}: {error}") from None

    return each_record(records(), _Parser.graph, on_error)


def _graphs(source: Source, on_error: OnError) -> Iterator[_Parser | GraphError]:
    """Yield each graph, or the first fault in it; then only braces are counted, so that the next is found."""
    tokens = _Tokens(Window(source))
    while tokens.kind != "end":
        parser = _Parser(tokens)
        try:
            parser.parse()
        except GraphError as error:
            fault = GraphError(f"{tokens.where()}: {error}")
            if on_error == "raise" or not tokens.depth:
                raise fault from None
            while tokens.depth and tokens.kind != "end":
                tokens.next()
            if tokens.depth:
                raise fault from None
            yield fault
        else:
            yield parser


class _Tokens:
    """The tokens of a text: kind ("name", "text", "html", a mark as itself, "wrong", "end") and word of one.

    `depth` counts the braces that are open before it.
    """

    def __init__(self, window: Window) -> None:
        self.window, self.depth = window, 0
        self.kind, self.word = "", ""
        self.next()

    def where(self) -> str:
        """Return the line of the token."""
        return self.window.where()

    def next(self) -> None:
        """Go to the next token."""
        self.depth += (self.kind == "{") - (self.kind == "}")
        while True:
            found = self._found()
            if found is None:
                break
            self.window.place = found.end()
            if found.lastgroup is not None:
                self.word = found[found.lastgroup]
                self.kind = self.word if found.lastgroup == "mark" else found.lastgroup
                return
        window = self.window
        if window.place >= len(window.text):
            self.kind, self.word = "end", ""
        elif window.text[window.place] == "<":
            self.kind, self.word = "html", self._html()
        else:
            self.kind, self.word = "wrong", window.text[window.place : window.place + 20]
            window.place += 1

    def _found(self) -> re.Match[str] | None:
        """Match what stands here, with as much of the text as it takes to know where it ends."""
        window = self.window
        while True:
            found = TOKEN.match(window.text, window.place)
            sure = found is not None and found.end() < len(window.text)
            if found is None and window.place < len(window.text):
                # of a text or a comment the end may follow, of a number or an arrow a digit or a letter
                may_go_on = window.text.startswith(('"', "/"), window.place)
                sure = not may_go_on and len(window.text) - window.place > 2
            if sure or not self._more():
                return found

    def _more(self) -> bool:
        if len(self.window.text) - self.window.place > LARGEST_DOCUMENT:
            raise GraphError(f"one text or comment of more than {LARGEST_DOCUMENT} letters")
        return not self.window.ended and self.window.more()

    def _html(self) -> str:
        """Return what stands between angles, which may be nested."""
        window = self.window
        depth, at = 0, window.place
        while True:
            for angle in ANGLE.finditer(window.text, at):
                depth += 1 if angle[0] == "<" else -1
                if depth == 0:
                    word = window.text[window.place + 1 : angle.start()]
                    window.place = angle.end()
                    return word
            passed = len(window.text) - window.place
            if not self._more():
                raise GraphError("'<' without its '>': cut off?")
            at = window.place + passed


class _Scope:
    """What holds between two braces: values that nodes and edges begin with, and the nodes named there."""

    def __init__(self, outer: _Scope | None = None) -> None:
        self.defaults: dict[str, dict[str, Any]] = {"graph": {}, "node": {}, "edge": {}}
        if outer is not None:
            self.defaults = {item: dict(values) for item, values in outer.defaults.items()}
        self.nodes: dict[str, None] = {}


class _Parser:
    """One graph, statement by statement."""

    def __init__(self, tokens: _Tokens) -> None:
        self.tokens = tokens
        self.builder = GraphBuilder()
        self.rows: dict[str, dict[str, Any]] = {}
        self.groups: dict[str, dict[str, None]] = {}
        """The nodes of subgraphs that have a name."""
        self.once: dict[tuple[str, str], dict[str, Any]] | None = None
        """The edges of a strict graph, in which each stands once."""
        self.name: str | None = None
        self.directed = False
        self.top: dict[str, Any] = {}
        self.products = 0

    def parse(self) -> None:
        """Take one graph from the tokens."""
        if self._keyword("strict"):
            self.once = {}
        self.directed = self._keyword("digraph")
        if not self.directed and not self._keyword("graph"):
            raise self._unexpected("'graph' or 'digraph'")
        if self.tokens.kind != "{":
            self.name = self._word()
        scope = _Scope()
        self._block(scope, 1)
        self.top = scope.defaults["graph"]

    def graph(self) -> RawGraph:
        """Return the graph."""
        for name, row in self.rows.items():
            if "label" in row and row["label"] in (ITSELF, name, number(name)):
                del row["label"]
        return self.builder.build(directed=self.directed, graph_id=self.name, y=self.top.get("y"))

    def _block(self, scope: _Scope, depth: int) -> None:
        """Take statements between braces."""
        if depth > DEEPEST_NESTING:
            raise GraphError(f"subgraphs nested more than {DEEPEST_NESTING} deep")
        self._take("{")
        while self.tokens.kind != "}":
            if self.tokens.kind == "end":
                raise GraphError("the file ends within a graph: cut off?")
            self._statement(scope, depth)
            while self.tokens.kind in (";", ","):
                self.tokens.next()
        self.tokens.next()

    def _statement(self, scope: _Scope, depth: int) -> None:
        for item in ("graph", "node", "edge"):
            if self._keyword(item):
                scope.defaults[item].update(self._values())
                return
        left = self._ends(scope, depth)
        if isinstance(left, str) and self.tokens.kind == "=":
            self.tokens.next()
            scope.defaults["graph"][left] = self._value()
            return
        if self.tokens.kind in ARROWS:
            self._edges(left, scope, depth)
        elif isinstance(left, str):
            self._node(left, scope).update(self._values())

    def _edges(self, left: str | dict[str, None], scope: _Scope, depth: int) -> None:
        """Take a chain of edges; what is said of them holds for all."""
        ends = [self._nodes(left, scope)]
        while self.tokens.kind in ARROWS:
            if ARROWS[self.tokens.kind] != self.directed:
                wanted = "'->', it is a digraph" if self.directed else "'--', it is no digraph"
                raise GraphError(f"{self.tokens.kind!r} in a graph whose edges are written {wanted}")
            self.tokens.next()
            ends.append(self._nodes(self._ends(scope, depth), scope))
        values = {**scope.defaults["edge"], **self._values()}
        for sources, targets in pairwise(ends):
            if len(sources) * len(targets) > 1:
                self.products += len(sources) * len(targets)
            if self.products > MOST_PRODUCTS:
                raise GraphError(f"edges between subgraphs stand for more than {MOST_PRODUCTS} edges")
            for source in sources:
                for target in targets:
                    self._edge(source, target, values)

    def _edge(self, source: str, target: str, values: dict[str, Any]) -> None:
        if self.once is not None:
            key = (source, target) if self.directed or source <= target else (target, source)
            if key in self.once:
                self.once[key].update(values)
                return
            self.once[key] = values = dict(values)
        self.builder.edge(source, target, values)

    def _nodes(self, end: str | dict[str, None], scope: _Scope) -> list[str]:
        if isinstance(end, str):
            self._node(end, scope)
            return [end]
        return list(end)

    def _node(self, name: str, scope: _Scope) -> dict[str, Any]:
        """Return the values of a node, which is new where it is named for the first time."""
        scope.nodes[name] = None
        if name not in self.rows:
            self.rows[name] = dict(scope.defaults["node"])
            self.builder.node(name, self.rows[name])
        return self.rows[name]

    def _ends(self, scope: _Scope, depth: int) -> str | dict[str, None]:
        """Take the name of a node, or a subgraph, of which the nodes are returned."""
        named = self._keyword("subgraph")
        if not named and self.tokens.kind != "{":
            name = self._word()
            for _ in range(2):
                if self.tokens.kind == ":":  # a port, and the side of it
                    self.tokens.next()
                    self._word()
            return name
        title = self._word() if named and self.tokens.kind != "{" else None
        inner = _Scope(scope)
        if self.tokens.kind == "{":
            self._block(inner, depth + 1)
        nodes = inner.nodes
        if title is not None:
            nodes = self.groups.setdefault(title, {})
            nodes.update(inner.nodes)
        scope.nodes.update(nodes)
        return nodes

    def _values(self) -> dict[str, Any]:
        """Take lists of values in brackets."""
        found: dict[str, Any] = {}
        while self.tokens.kind == "[":
            self.tokens.next()
            while self.tokens.kind != "]":
                name = self._word()
                if self.tokens.kind == "=":
                    self.tokens.next()
                    found[name] = self._value()
                else:
                    found[name] = "true"
                while self.tokens.kind in (";", ","):
                    self.tokens.next()
            self.tokens.next()
        return found

    def _value(self) -> Any:
        return number(self._word().strip())

    def _word(self) -> str:
        """Take a name or a value: a word, a number, a text in quotes or in angles, or texts joined by +."""
        tokens = self.tokens
        kind, word = tokens.kind, tokens.word
        if kind not in ("name", "text", "html") or (kind == "name" and word.lower() in KEYWORDS):
            raise self._unexpected("a name or a value")
        tokens.next()
        if kind != "text":
            return word
        parts = [word]
        while tokens.kind == "+":
            tokens.next()
            if tokens.kind != "text":
                raise self._unexpected("a text in quotes after '+'")
            parts.append(tokens.word)
            tokens.next()
        return JOINED.sub("", "".join(parts)).replace('\\"', '"')

    def _keyword(self, word: str) -> bool:
        """Take a keyword if it stands here."""
        here = self.tokens.kind == "name" and self.tokens.word.lower() == word
        if here:
            self.tokens.next()
        return here

    def _take(self, mark: str) -> None:
        if self.tokens.kind != mark:
            raise self._unexpected(repr(mark))
        self.tokens.next()

    def _unexpected(self, wanted: str) -> GraphError:
        if self.tokens.kind == "end":
            return GraphError(f"the file ends where {wanted} is wanted: cut off?")
        return GraphError(f"{self.tokens.word[:40]!r} where {wanted} is wanted")
