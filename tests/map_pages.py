"""Pages of `grnf map`: unpacked as the script in them does, and made without computing for tests."""

import base64
import gzip
import json
import re
from functools import partial

import numpy as np

import grnf
from grnf.maps import GraphMap
from grnf.maps.drawings import Drawings
from grnf.maps.layout import Nearest
from grnf.maps.point_columns import Column, make_column

map_graphs = partial(grnf.map_graphs, random_state=0)


def parts_of(html):
    """The packed parts of a page by name, as bytes."""
    found = re.findall(r'<script type="text/plain" id="part-(\w+)">([^<]*)</script>', html)
    return {name: gzip.decompress(base64.b64decode(text)) for name, text in found}


def meta_of(html):
    return json.loads(re.search(r'id="meta">(.*?)</script>', html, re.S)[1])


class Reader:
    """Numbers of several bytes, which stand as planes."""

    def __init__(self, content):
        self.content, self.at = content, 0

    def take(self, kind, count):
        width = np.dtype(kind).itemsize
        some = np.frombuffer(self.content, np.uint8, count * width, self.at)
        self.at += count * width
        return np.ascontiguousarray(some.reshape(width, count).T).view(kind).ravel()

    def done(self):
        return self.at == len(self.content)


def large_map(n, ids=None, title="Many"):
    """A map of n rings of 3 to 8 nodes on a spiral, each beside the next one; nothing is computed."""
    numbers = np.arange(n)
    sizes = 3 + numbers % 6
    ends = np.cumsum(sizes)
    node = np.arange(int(ends[-1]) if n else 0) - np.repeat(ends - sizes, sizes)
    size = np.repeat(sizes, sizes)
    angle = 2 * np.pi * node / np.maximum(size, 1)
    drawings = Drawings(
        np.zeros(n, np.uint8),
        sizes.astype(np.uint16),
        sizes.astype(np.uint16),
        (30_000 * (1 + np.cos(angle))).astype(np.uint16),
        (30_000 * (1 + np.sin(angle))).astype(np.uint16),
        (node % 3).astype(np.uint8),
        node.astype(np.uint16),
        ((node + 1) % np.maximum(size, 1)).astype(np.uint16),
        np.zeros(len(node), np.uint8),
        ["a", "b", "c"],
    )
    k = min(3, max(n - 1, 0))
    near = (numbers[:, np.newaxis] + 1 + np.arange(k)) % max(n, 1)
    far = np.broadcast_to(0.1 * (1 + np.arange(k)), (n, k)).astype(float)
    turn = 2.399963 * numbers
    places = np.sqrt((numbers + 0.5) / max(n, 1))[:, np.newaxis] * np.column_stack(
        [np.cos(turn), np.sin(turn)]
    )
    return GraphMap(
        title=title,
        ids=[f"ring {i}" for i in range(n)] if ids is None else ids,
        positions=places.reshape(n, 2) * 0.98,
        kept=np.ones(n),
        columns=[
            make_column("label", [f"{3 + i % 6} nodes" for i in range(n)]),
            Column("height", "number", (numbers / max(n, 1)).tolist(), "A number."),
        ],
        drawings=drawings,
        nearest=Nearest(near.astype(np.uint32), far, far / 2, far * 2, "made up"),
        mappings=None,
        why_no_marks="Not marked.",
        about=["Made for a test."],
        color="label",
        confidence=0.95,
        vectors=np.zeros((n, 1)),
        transformer=None,
        space="plain",
    )
