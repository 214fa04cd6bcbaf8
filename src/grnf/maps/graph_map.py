"""A map of a collection: an interactive page in one HTML file, and plain arrays to place new graphs on."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from grnf._utils.arrays import offsets
from grnf._utils.files import atomic_write
from grnf._utils.random import draw_seed
from grnf._utils.rules import Bool, Int, OneOf, Real, checked
from grnf._utils.saved import (
    ANY,
    NUMBER,
    TEXT,
    TEXTS,
    Array,
    Optional,
    check_version,
    damaged,
    read_arrays,
    validate,
    validate_arrays,
)  # fmt: skip
from grnf._version import __version__
from grnf.collection import vectors_of
from grnf.errors import invalid
from grnf.estimators import GRNF, JointFeatures, saved_transformer
from grnf.io.files.survey import TARGET_NAMES
from grnf.io.objects import iter_raw
from grnf.maps import layout as layouts
from grnf.maps.drawings import BYTES, Drawings, draw_graphs
from grnf.maps.layout import LAYOUTS, NEIGHBORS, ONTO, Mappings, Nearest, nearest_others
from grnf.maps.point_columns import (
    Column,
    clusters,
    columns_of,
    guessed_ids,
    joined,
    make_column,
    scaffolds,
)
from grnf.maps.preview import COLORS, preview
from grnf.search import GraphIndex
from grnf.search.whitening import SPACES, space_map
from grnf.typing import FloatArray

FORMAT = "grnf map"
VERSION = 3
SCHEMA = {
    "title": TEXT, "ids": TEXTS, "kinds": TEXTS, "space": OneOf(*SPACES), "transformer": TEXT,
    "molecules?": TEXTS,
    "columns": [
        {"name": TEXT, "kind": OneOf("category", "number", "text"), "values": [ANY], "meaning": TEXT}
    ],
}  # fmt: skip
ARRAYS = {
    "positions": Array("f", ("n", 2)), "vectors": Array("f", ("n", "M")),
    **{name: Array("u", ("n",)) for name in ("flags", "n_nodes", "n_edges")},
    **{name: Array("u", ("nodes",)) for name in ("x", "y", "kind")},
    **{name: Array("u", ("edges",)) for name in ("source", "target", "value")},
}  # fmt: skip
"""The schemas of a saved map."""
HEIGHT = 640
"""Of the page in a notebook, in pixels."""

BLOCK = 512
"""Graphs that are unpacked together, when the pointer comes to one of them."""

MISSING = 65_535


AFFORDABLE_PAIRS = 12_000
"""Pairs of nearest graphs up to which differences are marked by default: a pair takes 1 to 2 ms."""

COMPUTED = {"neighbors kept", "outlier score", "cluster", "new"}
"""Columns that are computed again when graphs are placed on a map."""
OWN = {"nodes", "edges", "scaffold"}
"""Columns that are computed from graphs one by one."""


@dataclass(frozen=True, eq=False)
class GraphMap:
    """A map of a collection of graphs, made by `map_graphs`.

    A notebook displays it, and `write` writes it as one HTML file.

    Attributes
    ----------
    title : str
    ids : list of str
    positions : array, shape (n, 2)
        Coordinates of the graphs, between -1 and 1.
    kept : array, shape (n,)
        Neighborhood preservation: the share of each graph's nearest graphs that are among the nearest on the
        map.
    columns : list of Column
        Values that points can be colored by.
    drawings : Drawings
    nearest : Nearest
    vectors : array, shape (n, M)
    transformer : GRNF
    space : str
    about : list of str
        Sentences about the map, for the page.
    color : str
        The column that is shown first.
    confidence : float, optional
        Of the intervals of distances. None: they have standard errors.
    mappings : Mappings, optional
        Correspondences of nodes with the nearest graphs, by which the page marks differences.
    why_no_marks : str
    molecules : tuple of str
        Options by which ``grnf map`` read molecules ("standardize", "stereo"), and reads new ones.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import grnf
    >>> from grnf.datasets import make_sbm
    >>> graphs, y = make_sbm(40, random_state=0)
    >>> made = grnf.map_graphs(graphs[:30], y[:30], transformer=grnf.GRNF(32, random_state=0), random_state=0)
    >>> folder = Path(tempfile.mkdtemp())
    >>> made.write(folder / "map.html")  # to open in a browser
    >>> made.save(folder / "map.npz")  # to place other graphs on it later
    >>> grnf.map_graphs(graphs[30:], onto=folder / "map.npz", random_state=0).positions.shape
    (40, 2)
    >>> len(grnf.maps.GraphMap.load(folder / "map.npz").ids)
    30
    >>> made.html()[:15]
    '<!doctype html>'
    """

    title: str
    ids: list[str]
    positions: FloatArray
    kept: FloatArray
    columns: list[Column]
    drawings: Drawings
    nearest: Nearest
    vectors: FloatArray
    transformer: Any
    space: str
    about: list[str] = field(default_factory=list)
    color: str = ""
    confidence: float | None = None
    mappings: Mappings | None = None
    why_no_marks: str = ""
    molecules: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"GraphMap({self.title!r}, {len(self)} graphs)"

    def html(self) -> str:
        """Return the page as text.

        Returns
        -------
        str
        """
        here = files("grnf.maps")
        style, script, frame = (
            here.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "map.js", "page.html")
        )
        columns = [column for column in self.columns if column.kind != "text"]
        described = [_column(column) for column in columns]
        parts = dict(_parts(self)) | {f"c{at}": packed for at, (_, packed) in enumerate(described)}
        filled = {
            "policy": _policy(style, script),
            "title": escape(self.title),
            "preview": preview(self.positions, next((c for c in columns if c.name == self.color), None)),
            "version": __version__,
            "style": style,
            "meta": json.dumps(_meta(self, [about for about, _ in described])).replace("<", "\\u003c"),
            "parts": "\n".join(
                f'<script type="text/plain" id="part-{name}">{text}</script>' for name, text in parts.items()
            ),
            "script": script,
        }
        pieces = frame.split("@")  # text between two @ is a name. The frame has no other @
        return "".join(filled[piece] if at % 2 else piece for at, piece in enumerate(pieces))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page, all or nothing.

        Parameters
        ----------
        path : path
            Name of the file, with the suffix .html.
        """
        with atomic_write(path) as file:
            file.write(self.html())

    def _repr_html_(self) -> str:
        """Return the page in a frame that may run its script and nothing else."""
        return (
            f'<iframe srcdoc="{escape(self.html())}" sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; height: {HEIGHT}px; border: 1px solid #8884" title="{escape(self.title)}">'
            "</iframe>"
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the map as arrays (.npz), for new graphs to be placed on it: `map_graphs(new, onto=path)`.

        Parameters
        ----------
        path : path
            Name of the file, with the suffix .npz.
        """
        if not hasattr(self.transformer, "to_json"):
            found = type(self.transformer).__name__
            raise invalid("transformer", "be GRNF or JointFeatures to save a map for new graphs", found)
        head = {
            "format": FORMAT,
            "version": VERSION,
            "title": self.title,
            "ids": self.ids,
            "kinds": self.drawings.kinds,
            "columns": [asdict(column) for column in self.columns],
            "space": self.space,
            "molecules": self.molecules,
            "transformer": self.transformer.to_json(),
        }
        arrays = {name: getattr(self.drawings, name) for name in BYTES}
        with atomic_write(path, "wb") as file:
            np.savez_compressed(
                file,
                head=np.frombuffer(json.dumps(head).encode(), np.uint8),
                positions=self.positions,
                vectors=self.vectors,
                **arrays,
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> GraphMap:
        """Load a saved map. Neighbors are computed when graphs are added.

        Parameters
        ----------
        path : path

        Returns
        -------
        GraphMap
        """
        head, arrays = read_arrays(path, "a saved map")
        check_version(head, FORMAT, VERSION, "a saved map", path)
        validate(head, SCHEMA, path)
        n = len(head["ids"])
        empty = np.zeros((n, 0))
        counts = {kind: arrays.get(f"n_{kind}", empty) for kind in ("nodes", "edges")}
        sizes = {kind: int(own.sum()) for kind, own in counts.items() if own.dtype.kind in "iu"}
        validate_arrays(arrays, ARRAYS, path, n=n, **sizes)
        for column in head["columns"]:
            if len(column["values"]) != n:
                raise damaged(f"the column {column['name']!r} must have {n} values", path)
            if column["kind"] == "number":
                validate(column["values"], [Optional(NUMBER)], path, column["name"])
        return cls(
            title=head["title"],
            ids=head["ids"],
            positions=arrays.pop("positions"),
            kept=np.ones(n),
            columns=[Column(**column) for column in head["columns"]],
            nearest=Nearest(empty.astype(np.uint32), empty, empty, empty, ""),
            vectors=arrays.pop("vectors"),
            drawings=Drawings(**arrays, kinds=head["kinds"]),
            transformer=saved_transformer(head["transformer"], f"{os.fspath(path)}: transformer"),
            space=head["space"],
            molecules=tuple(head.get("molecules", ())),
        )


def map_graphs(
    graphs: Any,
    y: Sequence[Any] | None = None,
    *,
    ids: Sequence[str] | None = None,
    columns: Mapping[str, Sequence[Any]] | None = None,
    transformer: Any = None,
    layout: str = "auto",
    space: str = "plain",
    n_neighbors: int = 6,
    differences: bool | None = None,
    color: str | None = None,
    n_clusters: int = 8,
    positions: str | None = None,
    onto: str | os.PathLike[str] | None = None,
    title: str = "Map of graphs",
    confidence: float | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> GraphMap:
    """Make an interactive map of a collection of graphs.

    Parameters
    ----------
    graphs : collection of graphs of any kind, as in `GRNF.fit`. It may be empty
    y : sequence, optional
        Labels or targets. By default those of the graphs.
    ids : sequence of str, optional
        Names of the graphs. By default their own, or the only text column whose values are all different,
        or their numbers.
    columns : mapping from name to sequence, optional
        Further values to color points by, one for each graph.
    transformer : GRNF or JointFeatures, optional
        Makes the vectors. It is fitted on the graphs if it is not yet. By default `JointFeatures`, or `GRNF`
        with a `confidence`.
    layout : {"auto", "tsne", "umap", "pca"}
        "auto" takes t-SNE for up to 5,000 graphs, for more UMAP, or principal axes if it is not installed.
    space : {"plain", "whitened"}
        Distance for the layout, see `GraphIndex`. The neighbors shown are those of plain vectors (d_P for
        `GRNF`).
    n_neighbors : int, default=6
        Neighbors that are shown with a graph.
    differences : bool, optional
        Mark what differs between a graph and its neighbors. By default for up to 12,000 pairs.
    color : str, optional
        The column that colors the points at first. By default the label, or the first column of classes.
    n_clusters : int, default=8
        Clusters that points can be colored by.
    positions : str, optional
        A node column with their positions. By default a spring layout, and RDKit for molecules.
    onto : path, optional
        A saved map: the graphs are placed on it, and the old ones keep their positions.
    title : str
    confidence : float, optional
        Show intervals that contain d_P with this probability, instead of standard errors.
    random_state : int, numpy Generator or RandomState, optional
    n_jobs : int, optional
        Threads that share searches.

    Returns
    -------
    GraphMap

    Examples
    --------
    >>> import grnf
    >>> from grnf.datasets import make_sbm
    >>> graphs, y = make_sbm(40, random_state=0)
    >>> transformer = grnf.GRNF(64, random_state=0)
    >>> graph_map = grnf.map_graphs(graphs, y, transformer=transformer, title="SBM", random_state=0)
    >>> graph_map.positions.shape, graph_map.html().startswith("<!doctype html>")
    ((40, 2), True)
    """
    checked(layout, "layout", OneOf(*LAYOUTS))
    checked(space, "space", OneOf(*SPACES))
    k = checked(n_neighbors, "n_neighbors", Int(0, 50))
    checked(differences, "differences", Bool(), OneOf(None))
    checked(n_clusters, "n_clusters", Int(2, 16))
    checked(confidence, "confidence", Real(1), OneOf(None))
    seed = draw_seed(random_state)
    raws = list(iter_raw(graphs, caller="graphs"))
    own = [
        *columns_of(raws, y, columns),
        Column("nodes", "number", [raw.n_nodes for raw in raws], "Nodes of each graph."),
        Column("edges", "number", [len(raw.edges) for raw in raws], "Edges of each graph."),
    ]
    if not any(column.name == "scaffold" for column in own):
        own += [column for column in [scaffolds(raws)] if column is not None]
    drawings = draw_graphs(raws, positions)
    old = None if onto is None else GraphMap.load(onto)
    if old is not None:
        transformer, space = old.transformer, old.space
    if transformer is None:
        transformer = JointFeatures(random_state=seed) if confidence is None else GRNF(random_state=seed)
    names, Z = [], np.zeros((0, getattr(transformer, "n_components_", 1)), np.float32)
    if raws:
        ids = guessed_ids(raws) if ids is None else ids
        collection = vectors_of(raws, transformer, name="graphs", ids=ids)
        names, Z, transformer = collection.ids, collection.vectors, collection.transformer
    if old is None:
        chosen = layouts.choose_layout(layout, len(Z))
        near, far = nearest_others(Z, chosen.n_neighbors, space, n_jobs)
        where = layouts.positions_of_layout(chosen, _rows(Z, space), near, far, seed % 2**32)
        words = chosen.words
    else:
        words = (
            f"{len(Z):,} new graphs were placed on a map of {len(old):,}, among their {min(ONTO, len(old))} "
            "nearest graphs. The old ones keep their positions"
        )
        where = np.concatenate([old.positions, _positions_onto(old, Z, n_jobs)])
        names = [*old.ids, *(f"{name} (new)" if name in set(old.ids) else name for name in names)]
        own = _joined_columns(old, own, len(Z))
        drawings = old.drawings.joined(drawings)
        Z = np.concatenate([old.vectors, Z]) if len(Z) else old.vectors
        near, far = nearest_others(Z, NEIGHBORS, space, n_jobs)
    kept = layouts.neighbor_recall(where, near[:, :NEIGHBORS])
    compared = min(near.shape[1], NEIGHBORS)
    own += _computed(kept, compared, far, clusters(_rows(Z, space), n_clusters, seed % 2**32))
    if space != "plain" or near.shape[1] < min(k, len(Z) - 1):
        near, far = nearest_others(Z, k, "plain", n_jobs)
    precision = layouts.precision_of(transformer) if k and near.size else None
    graphs_known = old is None and precision is not None and not precision.get("exact")
    upper = layouts.upper_bounds_of(transformer, raws) if graphs_known else None
    near, far = near[:, :k], far[:, :k]
    why = _why_no_marks(near.size, differences, old is not None)
    return GraphMap(
        title=str(title),
        ids=names,
        positions=where,
        kept=kept,
        columns=_ordered(own, columns or {}),
        drawings=drawings,
        nearest=layouts.intervals(Z, near, far, precision, confidence, upper),
        about=_about(words, kept, compared, transformer, Z, space),
        color=_first_color(own, color),
        confidence=confidence,
        vectors=Z,
        transformer=transformer,
        space=space,
        mappings=None if why else layouts.pair_mappings(raws, near, drawings.n_nodes.tolist()),
        why_no_marks=why,
    )


def _rows(Z: FloatArray, space: str) -> FloatArray:
    """Return vectors as the layout compares them."""
    return space_map(space, Z)(Z) if len(Z) else Z


def _positions_onto(old: GraphMap, Z: FloatArray, n_jobs: int | None) -> FloatArray:
    if not len(old) or not len(Z):
        return np.zeros((len(Z), 2))
    hits = GraphIndex(space=old.space, n_jobs=n_jobs).add(old.vectors).search(Z, min(ONTO, len(old)))
    return layouts.positions_onto(old.positions, np.array(hits.rows), np.array(hits.distances))


def _joined_columns(old: GraphMap, new: list[Column], n_new: int) -> list[Column]:
    known = [column for column in old.columns if column.name not in COMPUTED]
    state = ["on the map before"] * len(old) + ["new"] * n_new
    first = make_column("new", state, "Which graphs were placed on the map later.")
    return [first, *joined(known, new, len(old), n_new)]


def _computed(kept: FloatArray, compared: int, far: FloatArray, groups: Column | None) -> list[Column]:
    """Return the columns that are computed: neighborhood preservation, outlier score, cluster."""
    columns = [] if groups is None else [groups]
    if not compared:
        return columns
    ten = far[:, :10]
    meaning = (
        f"The share of a graph's {compared} nearest graphs that are among its {compared} nearest on the map."
    )
    score = f"Mean distance to the {ten.shape[1]} nearest graphs: large for an isolated graph."
    return [
        Column("neighbors kept", "number", np.round(kept, 4).tolist(), meaning),
        Column("outlier score", "number", ten.mean(axis=1).tolist(), score),
        *columns,
    ]


def _ordered(columns: list[Column], asked: Mapping[str, Any]) -> list[Column]:
    """Return the columns by what they were made for: labels, those asked for, computed ones, all others."""

    def place(column: Column) -> int:
        name = column.name
        labels = name in ("new", "source", "label") or name.startswith("y[") or _names_target(name)
        return 0 if labels else 1 if name in asked else 2 if name in COMPUTED | OWN else 3

    return sorted(columns, key=place)


def _names_target(name: str) -> bool:
    return name.strip().lower() in TARGET_NAMES or name.strip().lower().startswith("measured")


def _first_color(columns: list[Column], chosen: str | None) -> str:
    """Return the column that is shown first: the chosen one, the label or target, or the first of classes."""
    kinds = {column.name: column.kind for column in columns if column.kind != "text"}
    if chosen is not None and chosen not in kinds:
        raise invalid("color", f"be one of {', '.join(kinds) or '(no columns)'}", repr(chosen))
    classes = [
        name for name, kind in kinds.items() if kind == "category" and name not in {"cluster", "scaffold"}
    ]
    label = ["label"] if "label" in kinds else [name for name in kinds if _names_target(name)]
    numbers = [name for name in kinds if name not in COMPUTED | OWN]
    return chosen or next(iter([*label, *classes, *numbers, *kinds]), "")


def _about(
    words: str, kept: FloatArray, compared: int, transformer: Any, Z: FloatArray, space: str
) -> list[str]:
    lines = [f"Positions: {words}."]
    if space == "whitened":
        lines.append("For the positions, near means whitened vectors (equal variance in all directions).")
    if compared:
        lines.append(
            f"Neighborhood preservation: {100 * float(kept.mean()):.0f} % on average: the share of the "
            f"{compared} nearest graphs of a graph that are among its {compared} nearest on the map. Color "
            "by “neighbors kept” to see where it is low. Distances between far groups mean little on any map."
        )
    if len(Z):
        lines.append(
            f"Vectors: {type(transformer).__name__}, {Z.shape[1]} features. The nearest graphs shown with a "
            "graph are exact, whatever the map shows."
        )
    return lines


def _why_no_marks(n_pairs: int, differences: bool | None, onto: bool) -> str:
    """Return why differences of so many pairs of nearest graphs are not marked, or nothing if they are."""
    if onto:
        return "Differences are not marked on a map with new graphs: see grnf compare."
    if differences is None and n_pairs > AFFORDABLE_PAIRS:
        return (
            f"Differences are not marked: the map has {n_pairs:,} pairs of nearest graphs. "
            "Use grnf map --differences, or grnf compare for two graphs."
        )
    return "Differences are not marked." if differences is False or not n_pairs else ""


def _policy(style: str, script: str) -> str:
    """Return a content security policy: this script and style by their hashes, and no request at all."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'"
    )


def _meta(graph_map: GraphMap, columns: list[dict[str, Any]]) -> dict[str, Any]:
    names, confidence = [column["name"] for column in columns], graph_map.confidence
    estimated = bool((graph_map.nearest.high > graph_map.nearest.low).any())
    return {
        "n": len(graph_map.ids),
        "block": BLOCK,
        "kinds": graph_map.drawings.kinds,
        "columns": columns,
        "first": names.index(graph_map.color) if graph_map.color in names else 0,
        "texts": [column.name for column in graph_map.columns if column.kind == "text"],
        "k": graph_map.nearest.rows.shape[1],
        "errors": graph_map.nearest.words,
        "title": _distance_words(graph_map),
        "bars": 0 if not estimated else 1 if confidence is None else 2,  # none, errors, intervals
        "mappings": graph_map.mappings is not None,
        "noMarks": graph_map.why_no_marks,
        "about": graph_map.about,
        "colors": COLORS,
    }


def _distance_words(graph_map: GraphMap) -> str:
    """Return what the distances between graphs on the page are."""
    if layouts.precision_of(graph_map.transformer) is None:
        joint = isinstance(graph_map.transformer, JointFeatures)
        return "joint distance" if joint else f"distance of {type(graph_map.transformer).__name__}"
    if graph_map.confidence is None:
        return "d_P with standard errors"
    return f"d_P with {100 * graph_map.confidence:g} % intervals"


def _parts(graph_map: GraphMap) -> Iterator[tuple[str, str]]:
    """Yield names and packed contents of all parts but the columns."""
    n = len(graph_map.ids)
    yield "ids", _packed(json.dumps(graph_map.ids).encode())
    whole = np.round((np.clip(graph_map.positions, -1, 1) + 1) * 32_767.5).astype(np.uint16)
    yield "points", _packed(_planes(whole[:, 0]) + _planes(whole[:, 1]))
    texts = [column.values for column in graph_map.columns if column.kind == "text"]
    near = graph_map.nearest
    k = near.rows.shape[1]
    mappings = graph_map.mappings
    starts = None if mappings is None else offsets(mappings.lengths.sum(axis=1))
    for number, start in enumerate(range(0, n, BLOCK)):
        stop = min(start + BLOCK, n)
        yield f"g{number}", _packed(b"".join(map(_planes, graph_map.drawings.block(start, stop))))
        if k:
            some = slice(start, stop)
            floats = [_rounded(values[some].ravel()) for values in (near.distances, near.low, near.high)]
            yield f"n{number}", _packed(b"".join(map(_planes, [near.rows[some].ravel(), *floats])))
        if k and mappings is not None and starts is not None:
            lengths = mappings.lengths[start:stop].ravel()
            images = mappings.images[starts[start] : starts[stop]]
            yield f"m{number}", _packed(_planes(lengths) + _planes(images))
        if texts:
            rows = [
                ["" if values[i] is None else str(values[i]) for values in texts] for i in range(start, stop)
            ]
            yield f"t{number}", _packed(json.dumps(rows, ensure_ascii=False).encode())


def _column(column: Column) -> tuple[dict[str, Any], str]:
    """Return the description of a column, and its packed values."""
    about: dict[str, Any] = {"name": column.name, "kind": column.kind, "meaning": column.meaning}
    if column.kind == "category":
        codes, names, counts = column.codes()
        return {**about, "categories": names, "counts": counts}, _packed(_planes(codes))
    values = column.numbers()
    present = values[np.isfinite(values)]
    least, most = (float(present.min()), float(present.max())) if len(present) else (0.0, 1.0)
    low, high = _ends(present, least, most)
    about |= {"low": low, "high": high, "below": low > least, "above": high < most, "base": least}
    if bool((present == np.round(present)).all()) and most - least < MISSING:
        whole = np.where(np.isfinite(values), np.nan_to_num(values) - least, MISSING).astype(np.uint16)
        return {**about, "whole": True}, _packed(_planes(whole))
    return {**about, "whole": False}, _packed(_planes(values.astype(np.float32)))


def _ends(present: FloatArray, least: float, most: float) -> tuple[float, float]:
    """Return the ends of the scale of colors: those of all values, or of nearly all if few lie far out."""
    if len(present) < 20:
        return least, most
    low, high = (float(end) for end in np.percentile(present, [1, 99]))
    reach = 1.0 * (high - low)
    return (low if least < low - reach else least), (high if most > high + reach else most)


def _planes(array: npt.NDArray[Any]) -> bytes:
    """Return numbers as bytes: all first bytes, all second bytes, ... of little-endian numbers."""
    array = np.ascontiguousarray(array)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return array.view(np.uint8).reshape(-1, array.dtype.itemsize).T.tobytes()


def _rounded(values: FloatArray) -> npt.NDArray[np.float32]:
    """Round to about three and a half digits, which pack well."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    return ((bits + np.uint32(0x800)) & np.uint32(0xFFFFF000)).view(np.float32)


def _packed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode("ascii")
