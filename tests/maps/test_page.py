"""The page: everything inside, nothing asked for, text of strangers harmless."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from importlib.resources import files
from io import BytesIO

import numpy as np
import pytest

from grnf import GRNF
from grnf.datasets import make_sbm
from grnf.errors import GraphError
from grnf.io import RawGraph
from grnf.maps.point_columns import make_column
from map_pages import Reader, large_map, map_graphs, meta_of, parts_of
from optional import require

LINK = '<a href="https://github.com/grnf/grnf" target="_blank" rel="noopener noreferrer">grnf</a>'

EVIL = [
    '</script><script>alert("x")</script>',
    "<img src=x onerror=alert(1)>",
    '" onload="alert(2)',
    "a\nb",
    "@title@",
]


def small(**settings):
    graphs, y = make_sbm(24, random_state=0)
    return map_graphs(graphs, y, transformer=GRNF(32, random_state=0), **{"layout": "pca", **settings})


def test_a_page_asks_for_nothing():
    made = small()
    html = made.html()
    assert html.count(LINK) == 1
    html = html.replace(LINK, "")  # it is followed by a click alone
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert not re.search(
        r"https?:|\bsrc\s*=|<link|@import|url\(|XMLHttpRequest|fetch\(|WebSocket|import\(", html
    )
    for kind, name in (("style", "page.css"), ("script", "map.js")):
        text = re.search(rf"<{kind}>(.*?)</{kind}>", html, re.S)[1]
        assert text == files("grnf.maps").joinpath(name).read_text(encoding="utf-8")
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize("kind", ["category", "number", "none", "empty"])
def test_a_page_has_a_title_and_a_picture_for_links_to_it(kind):
    if kind == "empty":
        made = map_graphs([], title="a & b")
    else:
        values = {"category": list("ab" * 12), "number": [None, *np.linspace(0, 1, 23)], "none": None}[kind]
        made = replace(small(columns=values and {"value": values}), title="a & b", color="value")
    html = made.html()
    assert '<meta property="og:title" content="a &amp; b">' in html
    uri = re.search(r'<meta property="og:image" content="data:image/png;base64,([^"]*)">', html)[1]
    content = base64.b64decode(uri)
    assert len(content) < 20_000
    picture = pytest.importorskip("matplotlib.image").imread(BytesIO(content))
    assert picture.shape[:2] == (315, 600)
    colors = {tuple(color) for color in picture[..., :3].reshape(-1, 3).tolist()}
    assert len(colors) == {"category": 3, "none": 2, "empty": 1}.get(kind, len(colors))
    assert kind != "number" or len(colors) > 10


def test_the_script_is_one_small_readable_file():
    script = files("grnf.maps").joinpath("map.js").read_text(encoding="utf-8")
    assert len(script) < 64_000
    assert max(map(len, script.splitlines())) < 200
    assert "innerHTML" not in script
    assert "eval(" not in script


def test_a_target_is_the_first_color_before_other_columns():
    columns = {"rings": [1, 2] * 12, "measured solubility": np.linspace(0, 1, 24)}
    graphs, _ = make_sbm(24, random_state=0)
    made = map_graphs(graphs, columns=columns, transformer=GRNF(32, random_state=0), layout="pca")
    assert made.color == "measured solubility"


@pytest.mark.parametrize("text", EVIL)
def test_text_of_strangers_is_only_text(text):
    graphs, _ = make_sbm(8, random_state=0)
    columns = {text: [text, "other"] * 4, "words": [f"{text}{i}" for i in range(8)]}
    html = map_graphs(graphs, ids=[text] * 8, columns=columns, title=text, layout="pca").html()
    assert html.count("<script") == html.count("</script>") == 3 + len(parts_of(html)) - 1
    assert "<img" not in html
    assert 'onload="' not in html
    meta = meta_of(html)
    assert text in [column["name"] for column in meta["columns"]]
    assert json.loads(parts_of(html)["ids"]) == [text] * 8


def test_the_same_input_makes_the_same_bytes():
    assert small(layout="tsne").html() == small(layout="tsne").html()


def test_parts_hold_points_ids_columns_and_neighbours():
    made = small(n_neighbors=4, layout="tsne")
    html = made.html()
    parts, meta = parts_of(html), meta_of(html)
    reader = Reader(parts["points"])
    found = np.column_stack([reader.take(np.uint16, 24), reader.take(np.uint16, 24)]) / 32767.5 - 1
    assert found == pytest.approx(made.positions, abs=2e-5)
    assert json.loads(parts["ids"]) == made.ids
    reader = Reader(parts["n0"])
    assert np.array_equal(reader.take(np.uint32, 24 * 4).reshape(24, 4), made.nearest.rows)
    for values in (made.nearest.distances, made.nearest.low, made.nearest.high):
        assert reader.take(np.float32, 24 * 4).reshape(24, 4) == pytest.approx(values, rel=3e-4)
    names = [column["name"] for column in meta["columns"]]
    assert names == ["label", "nodes", "edges", "neighbors kept", "outlier score", "cluster"]
    kept = Reader(parts["c3"]).take(np.float32, 24)
    assert kept == pytest.approx(made.kept, abs=1e-4)
    nodes = meta["columns"][1]
    assert nodes["whole"]
    assert (nodes["base"] + Reader(parts["c1"]).take(np.uint16, 24) == 12).all()


@pytest.mark.parametrize("n", [0, 1, 2, 5, 7])
def test_few_graphs(n):
    graphs, y = make_sbm(10, random_state=0)
    made = map_graphs(graphs[:n], y[:n])
    assert len(made) == n
    assert made.positions.shape == (n, 2)
    assert made.nearest.rows.shape == (n, max(min(6, n - 1), 0))
    assert meta_of(made.html())["n"] == n


def test_a_thousand_molecules_take_two_and_a_half_megabytes_at_most():
    require("rdkit")
    heads = ["C", "CC", "CO", "N", "CN", "FC", "ClC", "OCC", "CSC", "C#CC"]
    rings = ["c1ccccc1", "c1ccncc1", "C1CCCCC1", "c1ccsc1", "C1CCNCC1", "c1ccc2ccccc2c1"]
    tails = ["C(=O)O", "C(=O)NC", "CCO", "S(=O)(=O)N", "C#N", "OC", "N(C)C", "CCCC", "C(F)(F)F"]
    smiles = [f"{a}{b}{link}{c}" for link in ("", "CC") for a in heads for b in rings for c in tails]
    made = map_graphs(smiles[:250], transformer=GRNF(16, random_state=0), layout="pca")
    assert made.mappings is not None
    empty = len(map_graphs([]).html())
    assert empty + 4 * (len(made.html()) - empty) < 2.5e6


def test_a_hundred_thousand_graphs_take_forty_megabytes_at_most():
    assert len(large_map(100_000).html()) < 40e6


def test_a_notebook_shows_it_in_a_frame_of_its_own():
    shown = small(title='a "title"')._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert 'sandbox="allow-scripts allow-downloads"' in shown
    assert shown.count("<") == 2


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, None, 1], "category"),
        ([True, False, True], "category"),
        ([0.5, 1.5, float("nan")], "number"),
        (list(range(20)), "category"),
        (list(range(40)), "number"),
        (["0.1", "2e3", ""], "number"),
        (["a", "b"] * 30, "category"),
        ([f"name {i}" for i in range(300)], "text"),
        ([None, None], "category"),
        ([np.float32(2.5), np.int64(1)], "number"),
    ],
)
def test_kinds_of_columns(values, kind):
    assert make_column("x", values).kind == kind


def test_a_label_of_many_integers_has_classes():
    labels = [i % 40 for i in range(400)]
    assert [make_column(name, labels).kind for name in ("label", "x")] == ["category", "number"]
    assert make_column("label", [float(label) for label in labels]).kind == "number"
    assert make_column("label", range(400)).kind == "number"


@pytest.mark.parametrize(
    ("columns", "ids"),
    [
        ({"name": ["b", "a"], "smiles": ["C", "O"], "height": [1.5, 2.0]}, ["b", "a"]),
        ({"name": ["a", "a"]}, ["0", "1"]),
        ({"name": ["a", "b"], "other": ["c", "d"]}, ["0", "1"]),
        ({"name": ["a", None]}, ["0", "1"]),
        ({"number": ["1", "2"]}, ["0", "1"]),
    ],
)
def test_the_only_column_of_different_texts_has_the_ids(columns, ids):
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    graphs = [RawGraph(2, [(0, 1)], graph_columns=row) for row in rows]
    assert map_graphs(graphs, transformer=GRNF(8, random_state=0), layout="pca").ids == ids


def test_constant_columns_are_left_out_and_computed_ones_come_first():
    table = [{"batch": 7, "name": f"a{i}", "height": i / 3, "smiles": "C"} for i in range(30)]
    graphs = [RawGraph(2, [(0, 1)], graph_columns=row) for row in table]
    made = map_graphs(graphs, columns={"asked": range(30)}, transformer=GRNF(8, random_state=0), layout="pca")
    names = [column.name for column in made.columns]
    assert (names[:3], names[-2:]) == (["asked", "nodes", "edges"], ["name", "height"])
    assert made.color == "asked"


def test_many_categories_become_nineteen_and_others():
    values = [f"c{i % 40:02}" for i in range(400)] + ["c00"] * 5 + [None]
    codes, names, counts = make_column("x", values).codes()
    assert len(names) == 20
    assert names[-1] == "21 others"
    assert sum(counts) == 405
    assert codes[-1] == 255
    assert counts[names.index("c00")] == 15


def test_wrong_use_is_explained():
    graphs, y = make_sbm(8, random_state=0)
    with pytest.raises(ValueError, match="y must have an entry for each of the 8 graphs, got 3"):
        map_graphs(graphs, y[:3])
    with pytest.raises(ValueError, match="an entry for each of the 8 graphs, got 2"):
        map_graphs(graphs, columns={"size": [1, 2]})
    with pytest.raises(GraphError, match="2 ids for 8 graphs"):
        map_graphs(graphs, ids=["a", "b"])
    with pytest.raises(ValueError, match="layout"):
        map_graphs(graphs, layout="globe")
    with pytest.raises(ValueError, match=r"color must be one of label, nodes.*, got 'z'"):
        map_graphs(graphs, y, color="z")
    with pytest.raises(GraphError) as caught:
        map_graphs([graphs[0], 5])
    assert (caught.value.where, caught.value.index) == ("graphs", 1)
