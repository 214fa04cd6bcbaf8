"""Pages in a real browser: no error, no request, and everything that people do with a map works.

Chromium (Debian's `chromium`, or the one that GRNF_BROWSER names) is driven by Playwright; skipped without.
"""

import csv
import json
import zlib
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from grnf import GRNF, compare
from grnf.datasets import make_sbm
from grnf.maps.point_columns import Column, make_column
from map_pages import large_map, map_graphs
from optional import require

EVIL = '</script><script>window.evil = 1</script><img src="x" onerror="window.evil = 2">'
WITHOUT_WEBGL = """const old = HTMLCanvasElement.prototype.getContext;
  HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
    return /webgl/.test(kind) ? null : old.call(this, kind, ...more); };"""


class Watched:
    """A page, with what it says and asks for."""

    def __init__(self, browser, path, init=None, at="", **settings):
        self.context = browser.new_context(**{"viewport": {"width": 1100, "height": 720}, **settings})
        self.page = self.context.new_page()
        self.errors, self.requests = [], []
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        if init:
            self.page.add_init_script(init)
        self.page.goto(path.as_uri() + at)
        self.page.wait_for_selector("html[data-ready]", timeout=60_000)

    def _said(self, message):
        if message.type == "error" or (message.type == "warning" and "GL Driver Message" not in message.text):
            self.errors.append(message.text)

    def place(self, graph):
        box = self.page.locator("#over").bounding_box()
        x, y = self.page.evaluate(f"grnfMap.place({graph})")
        return box["x"] + x, box["y"] + y

    def close(self):
        """Close the page, and see that all was well."""
        own = [url for url in self.requests if not url.startswith(("blob:", "data:"))]
        self.context.close()
        assert self.errors == []
        assert len(own) == 1, own  # itself


@pytest.fixture
def watch(browser, tmp_path):
    watched = []

    def open_page(made, init=None, **settings):
        path = tmp_path / f"{len(watched)}.html"
        path.write_text(made if isinstance(made, str) else made.html(), encoding="utf-8")
        watched.append(Watched(browser, path, init, **settings))
        return watched[-1]

    yield open_page
    for each in watched:
        each.close()


@pytest.fixture(scope="module")
def thousand():
    return large_map(1_000)


@pytest.mark.parametrize("n", [0, 1, 1_000, 100_000])
def test_pages_of_all_sizes(watch, n):
    made = large_map(n)
    page = watch(made).page
    assert page.locator("#count").inner_text() == ("1 graph" if n == 1 else f"{n:,} graphs")
    assert page.locator("h1").inner_text() == "Many"
    if n:
        graph = n // 2
        page.evaluate(
            f"grnfMap.view.zoom = 250; grnfMap.view.x = {made.positions[graph, 0]}; "
            f"grnfMap.view.y = {made.positions[graph, 1]}"
        )
        hover(watch, page, graph, made)


def wait(page, expression):
    """Ask until it is true; Playwright's own way evaluates text in the page, which its policy forbids."""
    for _ in range(200):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(25)
    raise TimeoutError(expression)


def drag(page, start, *path):
    """Press the button of the mouse, move along a path, and let go."""
    page.mouse.move(*start)
    page.mouse.down()
    for place in path:
        page.mouse.move(*place)
    page.mouse.up()


def hover(watch, page, graph, made):
    """Point at a graph; the picture must be that of the graph."""
    box = page.locator("#over").bounding_box()
    x, y = page.evaluate(f"grnfMap.place({graph})")
    page.mouse.move(box["x"] + x, box["y"] + y)
    page.wait_for_selector(f'#tip[data-graph="{graph}"]:not([hidden])')
    assert page.locator("#tip b").inner_text() == made.ids[graph]
    canvas = page.locator("#tip canvas")
    nodes = int(made.drawings.n_nodes[graph])
    assert (canvas.get_attribute("data-nodes"), canvas.get_attribute("data-edges")) == (
        str(nodes),
        str(nodes),
    )
    drawn = page.evaluate(f"grnfMap.shownGraph({graph}).then(g => [[...g.x], [...g.y], [...g.to]])")
    first = int(made.drawings.n_nodes[:graph].sum(dtype=int))
    own = slice(first, first + nodes)
    assert drawn == [a[own].tolist() for a in (made.drawings.x, made.drawings.y, made.drawings.target)]


def test_hover_shows_the_right_graph(watch, thousand):
    page = watch(thousand).page
    for graph in (0, 511, 512, 999):
        hover(watch, page, graph, thousand)
    page.mouse.move(5, 5)
    page.wait_for_selector("#tip", state="hidden")


def test_click_compares_with_the_nearest(watch, thousand):
    watched = watch(thousand)
    page = watched.page
    page.mouse.click(*watched.place(17))
    page.wait_for_selector(".near button")
    assert page.locator("#chosen h2").inner_text() == "ring 17"
    texts = page.locator(".near button").all_inner_texts()
    assert [text.splitlines()[0].split(None, 1)[1] for text in texts] == ["ring 18", "ring 19", "ring 20"]
    assert texts[1].splitlines()[1:] == ["d 0.20", "0.10 to 0.40", "4 nodes"]  # with the colored value
    assert page.locator("#pair figcaption").all_inner_texts() == ["ring 17", "ring 18"]
    page.keyboard.press("3")
    page.wait_for_selector('#pair figure[data-graph="20"]')
    page.keyboard.press("Enter")
    wait(page, "document.querySelector('#chosen h2').textContent === 'ring 20'")
    page.keyboard.press("Escape")
    page.wait_for_selector("#hint")


def test_search_lasso_and_export(watch, thousand):
    watched = watch(thousand)
    page = watched.page
    page.keyboard.press("/")
    page.keyboard.type("ring 77")
    assert page.locator("#found li").all_inner_texts()[:2] == ["ring 77", "ring 770"]
    page.keyboard.press("Enter")
    wait(page, "document.querySelector('#chosen h2')?.textContent === 'ring 77'")
    page.keyboard.press("Escape")
    page.click("#home")
    page.click("#lasso")
    box = page.locator("#over").bounding_box()
    corners = [(250, 250), (420, 240), (430, 420), (260, 400)]
    drag(page, *((box["x"] + x, box["y"] + y) for x, y in corners))
    wanted = [i for i in range(1_000) if inside(page.evaluate(f"grnfMap.place({i})"), corners)]
    assert len(wanted) > 20
    assert page.locator("#selected").inner_text() == f"{len(wanted)} graphs selected"
    with page.expect_download() as saved:
        page.click("#export")
    with open(saved.value.path(), encoding="utf-8") as file:
        assert file.read().splitlines() == [f"ring {i}" for i in wanted]
    in_class = sum(i % 6 == 2 for i in wanted)
    share, others = f"{100 * in_class / len(wanted):.1f} %", f"{(167 - in_class) / (1_000 - len(wanted)):.1%}"
    rows = [row.split("\t") for row in page.locator("#summary").inner_text().splitlines()]
    assert ["5 nodes", share, others.replace("%", " %")] in rows
    color_by(page, "height")
    rows = [row.split("\t") for row in page.locator("#summary").inner_text().splitlines()]
    assert float(rows[1][1]) == pytest.approx(sum(wanted) / len(wanted) / 1_000, rel=1e-3)
    with page.expect_download() as saved:
        page.click("#csv")
    with open(saved.value.path(), encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert [row["id"] for row in table] == [f"ring {i}" for i in wanted]
    assert [float(row["height"]) for row in table] == pytest.approx([i / 1_000 for i in wanted], abs=1e-6)
    assert table[0]["label"] == f"{3 + wanted[0] % 6} nodes"
    page.click("#clear")
    assert page.locator("#selection").is_hidden()


def inside(point, corners):
    """Whether a point is in a convex polygon that runs clockwise on the screen."""
    sides = zip(corners, [*corners[1:], corners[0]], strict=True)
    return all((bx - ax) * (point[1] - ay) - (by - ay) * (point[0] - ax) > 0 for (ax, ay), (bx, by) in sides)


def test_colours_and_legend(watch, thousand):
    page = watch(thousand).page
    assert page.locator("#legend button").count() == 6
    assert page.locator("#legend button").first.inner_text() == "3 nodes (167)"
    before = pixels(page)
    page.locator("#legend button").first.click()
    assert page.locator("#legend button").first.get_attribute("aria-pressed") == "false"
    x, y = page.evaluate("grnfMap.place(0)")
    box = page.locator("#over").bounding_box()
    page.mouse.move(box["x"] + x, box["y"] + y)
    page.wait_for_timeout(100)
    assert page.locator("#tip").get_attribute("data-graph") != "0"  # it is hidden
    color_by(page, "height")
    assert page.locator("#legend .ends").inner_text().split() == ["0", "0.999"]
    assert page.locator("#meaning").inner_text() == "A number."
    page.wait_for_timeout(100)
    assert pixels(page) != before


def color_by(page, name):
    page.fill("#color", name)
    page.keyboard.press("Tab")


def pixels(page, canvas="points", least=129):
    """How many pixels of a canvas are painted, and the sum of their colours."""
    return page.evaluate(
        """([canvas, least]) => {
      const from = document.getElementById(canvas), copy = document.createElement('canvas');
      copy.width = from.width; copy.height = from.height;
      const ctx = copy.getContext('2d'); ctx.drawImage(from, 0, 0);
      const data = ctx.getImageData(0, 0, copy.width, copy.height).data; let painted = 0, sum = 0;
      for (let i = 0; i < data.length; i += 4)
        if (data[i + 3] >= least) { painted++; sum += data[i] + 3 * data[i + 1] + 7 * data[i + 2]; }
      return [painted, sum];
    }""",
        [canvas, least],
    )


def painted_over(page):
    """How many pixels of the canvas of rings and lines are painted."""
    page.wait_for_timeout(200)
    return pixels(page, "over", 1)[0]


@pytest.fixture(scope="module")
def wide():
    """A map with 600 columns, names of 90 characters, and SMILES."""
    made = large_map(200)
    long = "a name that is much longer than the panel is wide, as those of descriptors often are, number "
    numbers = [Column(f"{long}{at}", "number", [float(at + i) for i in range(200)]) for at in range(600)]
    smiles = Column("smiles", "text", [f"C1CCCCC1{'O' * (i % 7)}" for i in range(200)])
    label = make_column("label", [0 if i % 20 == 1 else i % 20 for i in range(199)] + [1])
    return replace(made, columns=[label, smiles, *numbers])


def test_hundreds_of_columns_with_long_names(watch, wide):
    watched = watch(wide)
    page = watched.page
    assert page.locator("#legend button").count() == 20  # a label of 20 classes is not a number
    page.mouse.click(*watched.place(5))
    page.wait_for_selector(".near button")
    rows = page.locator(".facts tr:visible")
    assert rows.count() == 12
    for row in range(12):
        box = rows.nth(row).locator("td").nth(1).bounding_box()
        assert box["x"] + box["width"] <= 1100
    assert rows.nth(2).locator("td").nth(1).inner_text() == "5"
    page.click("#more")
    assert rows.count() == 602
    assert page.evaluate("document.documentElement.scrollWidth") <= 1100
    color_by(page, "number 77")
    assert page.locator("#color").input_value().endswith("number 77")
    assert page.locator("#legend .ends").inner_text().split() == ["77", "276"]
    color_by(page, "no such column")
    assert page.locator("#color").input_value().endswith("number 77")


def test_search_in_columns_and_smiles(watch, wide):
    page = watch(wide).page
    page.fill("#search", "c1oooooo")
    wait(page, "document.querySelectorAll('#found li').length === 28")
    assert page.locator("#found li").first.inner_text() == "ring 6 · smiles: C1CCCCC1OOOOOO"
    page.locator("#found button").first.click()
    wait(page, "document.querySelector('#chosen h2')?.textContent === 'ring 6'")
    page.click("#home")
    page.keyboard.press("Escape")
    wait(page, "!document.querySelector('#chosen h2')")
    page.fill("#search", "no such text")
    wait(page, "document.getElementById('found').textContent === 'nothing found'")
    page.fill("#search", "798")
    wait(page, "document.querySelectorAll('#found li').length === 1")
    assert page.locator("#found li").inner_text().startswith("ring 199 · a name")


def test_rings_of_hits_go_when_one_is_chosen(watch, thousand):
    page = watch(replace(thousand, nearest=large_map(1).nearest)).page
    page.fill("#search", "ring")
    wait(page, "document.querySelectorAll('#found li').length === 50")
    many = painted_over(page)
    page.locator("#found button").first.click()
    assert painted_over(page) < many / 10


def test_a_class_alone_and_all_again(watch, thousand):
    page = watch(thousand).page
    buttons = page.locator("#legend button")

    def pressed():
        return [b.get_attribute("aria-pressed") == "true" for b in buttons.all()]

    buttons.nth(2).dblclick()
    assert pressed() == [False, False, True, False, False, False]
    page.wait_for_timeout(600)
    buttons.nth(2).dblclick()
    assert all(pressed())
    page.wait_for_timeout(600)
    buttons.nth(4).dblclick()
    page.keyboard.press("Escape")
    assert all(pressed())


def test_a_range_of_the_histogram_filters(watch, thousand):
    page = watch(thousand).page
    page.locator("#legend button").first.click()  # filters of several columns hold at once
    color_by(page, "height")
    box = page.locator("#legend canvas").bounding_box()
    drag(page, *((box["x"] + share * box["width"], box["y"] + 20) for share in (0.25, 0.5)))
    low, high = page.evaluate("grnfMap.link()").split("r=")[1].split("&")[0].split("+")[1:]
    assert (float(low), float(high)) == pytest.approx((0.25, 0.5), abs=0.01)
    left = sum(float(low) <= i / 1_000 <= float(high) and i % 6 > 0 for i in range(1_000))
    assert page.locator("#legend .ends b").inner_text().endswith(f": {left} graphs")
    page.mouse.click(box["x"] + 30, box["y"] + 20)
    assert page.locator("#legend .ends b").inner_text() == ""


def test_a_link_restores_the_view(watch, thousand):
    watched = watch(thousand)
    page = watched.page
    page.mouse.click(*watched.place(17))
    page.wait_for_selector(".near button")
    page.locator("#legend button").nth(1).click()
    page.keyboard.down("Shift")
    drag(page, (300, 300), (450, 290), (460, 440), (310, 430))
    page.keyboard.up("Shift")
    color_by(page, "height")
    page.click("#in")
    page.click("#edges")
    page.click("#link")
    wait(page, "location.hash.length > 10")
    link, view = page.evaluate("location.hash"), page.evaluate("grnfMap.view")
    other = watch(thousand, at=link).page
    assert other.evaluate("grnfMap.view") == {name: pytest.approx(v, abs=1e-4) for name, v in view.items()}
    assert other.locator("#chosen h2").inner_text() == "ring 17"
    assert other.locator("#color").input_value() == "height"
    assert other.locator("#edges").get_attribute("aria-pressed") == "true"
    selected = page.evaluate("grnfMap.selectedIds()")
    assert selected.count("ring") > 20
    assert other.evaluate("grnfMap.selectedIds()") == selected
    assert other.evaluate("grnfMap.link()") == page.evaluate("grnfMap.link()")


def test_labels_do_not_overlap(watch, thousand):
    names = [f"a class with a name, {i % 20:02}" for i in range(1_000)]
    places = 0.2 * thousand.positions  # all of them near each other
    page = watch(replace(thousand, columns=[make_column("label", names)], positions=places)).page
    labels = page.evaluate("grnfMap.labels()")
    assert 5 < len(labels) <= 20
    for at, one in enumerate(labels):
        for other in labels[:at]:
            far = abs(one["x"] - other["x"]) >= (one["wide"] + other["wide"]) / 2
            assert far or abs(one["y"] - other["y"]) >= 18


def test_labels_are_at_dense_places(watch, thousand):
    names = ["left" if x < -0.5 else "right" if x > 0.5 else None for x in thousand.positions[:, 0]]
    page = watch(replace(thousand, columns=[make_column("label", names)])).page
    middle = page.locator("#over").bounding_box()["width"] / 2
    at = {label["text"]: label["x"] for label in page.evaluate("grnfMap.labels()")}
    assert at["left"] < middle < at["right"]


def test_cliffs_are_near_pairs_with_different_values(watch, thousand):
    values = [float(i % 2 if i in (500, 501) else 0) + i / 1e6 for i in range(1_000)]
    page = watch(replace(thousand, columns=[Column("activity", "number", values)])).page
    before = painted_over(page)
    page.click("#cliffs")
    page.wait_for_selector("#pairs li")
    found = page.evaluate("grnfMap.cliffs().map(c => [c.i, c.j])")
    assert found
    assert all(501 in pair for pair in found)
    assert [500, 501] in found
    assert painted_over(page) > before
    page.locator("#pairs button").first.click()
    i, j = found[0]
    page.wait_for_selector(f'#pair figure:first-child[data-graph="{i}"] + figure[data-graph="{j}"]')


def test_edges_join_nearest_graphs(watch, thousand):
    page = watch(thousand).page
    before = painted_over(page)
    page.click("#edges")
    wait(page, "document.getElementById('edges').ariaPressed === 'true'")
    assert painted_over(page) > 5 * before
    page.click("#edges")
    assert painted_over(page) == before


def test_figures_as_png_and_svg(watch, thousand):
    page = watch(replace(thousand, title='A "title" <b>')).page
    with page.expect_download() as saved:
        page.click("#png")
    with open(saved.value.path(), "rb") as file:
        content = file.read()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(content[16:20]) == 2160
    at = content.index(b"pHYs")
    assert int.from_bytes(content[at + 4 : at + 8]) == 11_811  # 300 dots per inch
    assert zlib.crc32(content[at : at + 13]) == int.from_bytes(content[at + 13 : at + 17])
    with page.expect_download() as saved:
        page.click("#svg")
    root = ET.parse(saved.value.path()).getroot()
    texts = [element.text for element in root if element.tag.endswith("text")]
    assert {'A "title" <b>', "label", "3 nodes", "8 nodes"} <= set(texts)
    assert sum(element.tag.endswith("path") for element in root) == 1_000 + 6 + 1


@pytest.mark.parametrize("webgl", [True, False])
def test_rare_classes_are_on_top(watch, thousand, webgl):
    rare = make_column("label", ["rare" if i == 100 else "common" for i in range(1_000)])
    same = replace(thousand, columns=[rare], positions=0 * thousand.positions)
    page = watch(same, init=None if webgl else WITHOUT_WEBGL).page
    page.wait_for_timeout(200)
    x, y = page.evaluate("grnfMap.place(0)")
    color = page.evaluate(
        """([x, y]) => { const copy = document.createElement('canvas'); copy.width = copy.height = 1;
        const ctx = copy.getContext('2d'); ctx.drawImage(document.getElementById('points'), -x, -y);
        return [...ctx.getImageData(0, 0, 1, 1).data]; }""",
        [int(x), int(y)],
    )
    assert color[0] > 180  # vermilion, the color of the second class
    assert color[2] < 60


def test_small_drawings_of_molecules_have_no_labels(watch):
    require("rdkit")
    made = map_graphs(["OCCN", "OCCO", "NCCN", "OCCF", "CCCN", "CCCF"], layout="pca")
    watched = watch(made)
    watched.page.mouse.click(*watched.place(0))
    watched.page.wait_for_selector(".near canvas[data-nodes]")
    labels = "(s) => [...document.querySelectorAll(s)].map(c => c.dataset.labels)"
    assert set(watched.page.evaluate(labels, ".near canvas[data-nodes]")) == {"false"}
    assert set(watched.page.evaluate(labels, "#pair canvas[data-nodes]")) == {"true"}


def test_without_webgl_points_are_drawn_in_2d(watch, thousand):
    flat = watch(thousand, init=WITHOUT_WEBGL)
    assert flat.page.evaluate("grnfMap.webgl") is False
    flat.page.wait_for_timeout(100)
    painted = pixels(flat.page)[0]
    deep = watch(thousand).page
    deep.wait_for_timeout(100)
    assert painted == pytest.approx(pixels(deep)[0], rel=0.35)
    hover(watch, flat.page, 100, thousand)
    many = watch(large_map(30_000), init=WITHOUT_WEBGL).page
    assert "20,000 of the points" in many.locator("#word").inner_text()


def test_on_a_phone_and_in_the_dark(watch, thousand):
    watched = watch(thousand, viewport={"width": 390, "height": 844}, color_scheme="dark", has_touch=True)
    page = watched.page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("#over").bounding_box()["width"] == 390
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    page.touchscreen.tap(*watched.place(40))
    page.wait_for_selector(".near button")
    assert page.locator("#chosen h2").inner_text().startswith("ring ")
    drawing = page.locator("#pair figure").first.bounding_box()  # a sheet from below, the drawing first
    assert 844 / 3 < drawing["y"]
    assert drawing["y"] + drawing["height"] < 844
    assert drawing["y"] < page.locator("#chosen h2").bounding_box()["y"]
    page.click("#chosen .close")
    page.wait_for_selector("#hint")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_the_keyboard_alone(watch, thousand):
    page = watch(thousand).page
    page.focus("#over")
    page.keyboard.press("Shift+ArrowRight")
    page.wait_for_selector("#chosen h2")
    first = page.locator("#chosen h2").inner_text()
    page.keyboard.press("Shift+ArrowRight")
    wait(page, f"document.querySelector('#chosen h2').textContent !== {json.dumps(first)}")
    page.keyboard.press("+")
    page.keyboard.press("ArrowLeft")
    view = page.evaluate("grnfMap.view")
    assert view["zoom"] == pytest.approx(1.4)
    assert view["x"] < 0
    page.keyboard.press("0")
    assert page.evaluate("grnfMap.view") == {"x": 0, "y": 0, "zoom": 1}
    reached = set()
    for _ in range(30):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id"))
    assert {"pan", "lasso", "in", "out", "home", "search", "color"} <= reached


def test_names_of_strangers_stay_names(watch):
    graphs, _ = make_sbm(12, random_state=0)
    made = map_graphs(graphs, ids=[EVIL] * 12, columns={EVIL: [EVIL, "b"] * 6}, title=EVIL)
    watched = watch(made)
    page = watched.page
    page.mouse.click(*watched.place(0))
    page.wait_for_selector(".near button")
    assert page.locator("h1").inner_text() == EVIL
    assert page.locator("#chosen h2").inner_text() == EVIL
    assert EVIL in page.locator("#legend").inner_text()
    assert page.evaluate("window.evil") is None
    assert page.locator("img").count() == 0


def test_the_policy_forbids_every_request(watch, thousand):
    watched = watch(thousand)
    tries = "fetch('http://127.0.0.1:9/x').then(() => 'went', () => 'blocked')"
    assert watched.page.evaluate(tries) == "blocked"
    watched.page.evaluate("document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/y'}))")
    watched.page.evaluate(
        "const s = document.createElement('script'); s.text = 'window.evil = 1'; document.body.append(s)"
    )
    assert watched.page.evaluate("window.evil") is None
    watched.page.wait_for_timeout(100)
    assert watched.errors
    assert sum("violates the following Content Security Policy" in text for text in watched.errors) >= 3
    watched.errors.clear()  # they were asked for
    watched.requests = watched.requests[:1]  # Playwright counts requests that the policy stopped


def test_a_notebook_shows_it(watch, thousand):
    shown = f"<!doctype html><html data-ready><body>{thousand._repr_html_()}</body></html>"
    page = watch(shown).page
    frame = page.frame_locator("iframe")
    frame.locator("html[data-ready]").wait_for(state="attached", timeout=20_000)
    assert frame.locator("#count").inner_text() == "1,000 graphs"


def test_rare_classes_together_are_gray(watch):
    graphs, _ = make_sbm(150, random_state=0)
    page = watch(map_graphs(graphs, [i % 30 for i in range(150)], transformer=GRNF(8), layout="pca")).page
    spots = page.locator("#legend button").evaluate_all("all => all.map(b => b.firstChild.style.background)")
    assert page.locator("#legend button").last.text_content() == "11 others (55)"
    assert len(spots) == 20
    assert spots[-1] not in spots[:-1]


def test_a_real_map_marks_what_differs(watch):
    graphs, y = make_sbm(20, random_state=0)
    made = map_graphs(graphs, y, transformer=GRNF(256, random_state=0))
    marked = next(i for i in range(20) if compare(graphs[i], graphs[made.nearest.rows[i, 0]]).edits)
    watched = watch(made)
    watched.page.mouse.click(*watched.place(marked))
    watched.page.wait_for_selector("#pair figure[data-graph]")
    watched.page.wait_for_timeout(200)
    orange = watched.page.evaluate("""() => [...document.querySelectorAll('#pair canvas')]
      .reduce((sum, c) => {
      const data = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
      for (let i = 0; i < data.length; i += 4)
        if (data[i] > 200 && data[i + 2] < 120 && data[i + 3] > 60) sum++;
      return sum; }, 0)""")
    assert orange > 20


@pytest.mark.parametrize("images", ["null", "[3, 2, 1, 0]"])
def test_neighbors_are_turned_and_mirrored_towards_the_graph(watch, thousand, images):
    """With a correspondence of nodes, or without (on a map with too many pairs)."""
    found = watch(thousand).page.evaluate(
        f"""() => {{
      const edges = {{from: [0, 1, 2], to: [1, 2, 3]}};
      const g = {{x: [0, 100, 100, 300], y: [0, 0, 100, 50], kind: [0, 1, 1, 0], ...edges}};
      const flip = list => [...list].reverse(), h = {{...g, x: flip(g.y), y: flip(g.x), kind: flip(g.kind)}};
      const made = grnfMap.turned(h, g, {images});
      return [flip(made.x), flip(made.y)];
    }}"""
    )
    assert found[0] == pytest.approx([0, 100, 100, 300], abs=1e-6)
    assert found[1] == pytest.approx([0, 0, 100, 50], abs=1e-6)
