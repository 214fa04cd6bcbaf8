"""Pages of `grnf map` in a browser: frames per second compared with Bokeh, CPU time per frame, screenshots.

    python benchmarks/map.py [PAGES]     frames per second; results/map.json
    python benchmarks/map.py --cpu       CPU milliseconds per frame; results/map_cpu.json
    python benchmarks/map.py --figures   screenshots for the guide, in docs/figures

PAGES were made by `grnf map` before, such as one of the first 100,000 molecules of MOSES; sizes are recorded.

This needs a browser (Debian's chromium, or the one that GRNF_BROWSER names), playwright, bokeh, networkx and
RDKit, and molecules in GRNF_SHARED. Bokeh draws the same points with its WebGL backend and inlined script,
and nothing else. Without a graphics card the browser draws in software: compare the columns, not the numbers
of two computers.
"""

import csv
import gzip
import os
import shutil
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

import networkx as nx
import numpy as np
from measure import DATA, compare, store

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import grnf
from grnf.datasets import make_delaunay, make_sbm
from grnf.maps.drawings import spring_positions
from map_pages import large_map, meta_of

SECONDS = 4
FIGURES = Path(__file__).parents[1] / "docs" / "figures"
PANNED = """async ([pan, seconds]) => {
  const move = eval(pan), start = performance.now(); let frames = 0;
  while (performance.now() - start < 1000 * seconds) {
    move(Math.sin((performance.now() - start) / 400));
    await new Promise(done => requestAnimationFrame(done)); frames++;
  }
  return 1000 * frames / (performance.now() - start);
}"""
OURS = "t => { grnfMap.view.x = t / 4; grnfMap.pan(0, 0); }"
BOKEHS = "t => Bokeh.documents[0].roots()[0].x_range.setv({start: -1.3 + t / 4, end: 1.3 + t / 4})"


def molecules(count):
    with gzip.open(DATA / "molecules" / "moses_test.csv.gz", "rt") as file:
        return [row[0] for row in islice(csv.reader(file), 1, count + 1)]


def bokeh_page(atlas):
    from bokeh.embed import file_html
    from bokeh.plotting import figure
    from bokeh.resources import INLINE

    plot = figure(width=900, height=700, output_backend="webgl")
    palette = np.array(["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"])
    codes = atlas.columns[0].codes()[0]
    plot.scatter(
        *atlas.positions.T.astype(np.float32), size=3, color=palette[codes].tolist(), line_color=None
    )
    return file_html(plot, INLINE, "points")


def frames_per_second(browser, path, ready, moves, before=""):
    """Open a page, wait, and pan; return seconds until it is ready, and frames per second."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    start = time.perf_counter()
    page.goto(path.as_uri())
    while not page.evaluate(ready):  # the policy of our page forbids Playwright's own way of waiting
        page.wait_for_timeout(20)
    opened = time.perf_counter() - start
    if before:
        page.evaluate(before)
    page.wait_for_timeout(500)
    rate = page.evaluate(PANNED, [moves, SECONDS])
    found = {"seconds_to_open": round(opened, 2), "frames_per_second": round(rate, 1)}
    if moves == OURS:
        found["points_in_a_frame"] = page.evaluate("Number(document.getElementById('points').dataset.drawn)")
    page.close()
    return found


def panning(n, folder, browser):
    atlas = large_map(n)
    ours, bokeh = folder / "ours.html", folder / "bokeh.html"
    ours.write_text(atlas.html(), encoding="utf-8")
    bokeh.write_text(bokeh_page(atlas), encoding="utf-8")
    ready = "document.documentElement.dataset.ready === 'yes'"
    idle = "Boolean(window.Bokeh && Bokeh.documents.length && Bokeh.documents[0].is_idle)"
    found = {
        "ours": frames_per_second(browser, ours, ready, OURS),
        "ours, all points in every frame": frames_per_second(
            browser, ours, ready, OURS, "grnfMap.thin(false)"
        ),
        "bokeh": frames_per_second(browser, bokeh, idle, BOKEHS),
    }
    for name, path in (("ours", ours), ("bokeh", bokeh)):
        found[name]["megabytes"] = round(path.stat().st_size / 1e6, 2)
    return found


def cpu_seconds():
    """CPU time of all processes of the browser, which descend from this one."""
    parents, seconds = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            number, rest = path.read_text().split(" (", 1)
        except OSError:
            continue  # it ended meanwhile
        fields = rest.rsplit(")", 1)[1].split()
        parents[int(number)] = int(fields[1])
        seconds[int(number)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    own = {os.getpid()}
    while grown := {number for number, parent in parents.items() if parent in own} - own:
        own |= grown
    return sum(seconds.get(number, 0) for number in own - {os.getpid()})


def cpu_per_frame(browser, n, folder):
    """CPU milliseconds per frame while panning: all points in every frame, and as many as are affordable."""
    path = folder / f"{n}.html"
    path.write_text(large_map(n).html(), encoding="utf-8")
    found = {}
    for name, thin in (("all points", "false"), ("fewer points while moving", "true")):
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(path.as_uri())
        while not page.evaluate("document.documentElement.dataset.ready === 'yes'"):
            page.wait_for_timeout(50)
        page.evaluate(f"grnfMap.thin({thin})")
        page.wait_for_timeout(2_000)
        before, start = page.evaluate("grnfMap.frames()"), cpu_seconds()
        page.evaluate(PANNED, [OURS, 2 * SECONDS])
        spent, frames = cpu_seconds() - start, page.evaluate("grnfMap.frames()") - before
        found[name] = {"cpu_ms_per_frame": round(1000 * spent / frames, 1), "frames": frames}
        page.close()
    return found


def pictures(browser, folder):
    """Take screenshots of a molecule map (light and dark) and of a network map."""
    with open(DATA / "molecules" / "molnet" / "esol.csv") as file:
        rows = list(csv.DictReader(file))
    target = "measured log solubility in mols per litre"
    molecules = grnf.map_graphs(
        [row["smiles"].strip() for row in rows],
        ids=[row["Compound ID"] for row in rows],
        columns={"solubility": [float(row[target]) for row in rows]},
        color="solubility",
        n_neighbors=3,
        title="ESOL: 1,128 molecules by solubility",
        random_state=0,
    )
    graphs, y = make_delaunay(300, random_state=0)
    names = [("seed points", "moved seed points")[label] for label in y]
    title = "300 Delaunay triangulations of two kinds"
    networks = grnf.map_graphs(graphs, names, n_neighbors=3, positions="x", title=title, random_state=0)
    oxazepam = next(i for i, row in enumerate(rows) if row["Compound ID"] == "Oxazepam")
    for name, made, theme, color, layers, chosen, height in (  # the height leaves no line of text cut
        ("molecules", molecules, "light", "solubility", "", oxazepam, 782),
        ("dark", molecules, "dark", "scaffold", "labels", oxazepam, 776),
        ("networks", networks, "light", "label", "labels", 20, 766),
    ):
        path = folder / f"{name}.html"
        made.write(path)
        page = browser.new_page(
            viewport={"width": 1280, "height": 800}, color_scheme=theme, device_scale_factor=1.5
        )
        page.goto(path.as_uri() + f"#v=0+0+1&c={color}&l={layers}&g={chosen}")
        while not page.evaluate("document.documentElement.dataset.ready === 'yes'"):
            page.wait_for_timeout(50)
        page.wait_for_timeout(1_000)
        clip = {"x": 0, "y": 0, "width": 1280, "height": height}
        page.screenshot(path=FIGURES / f"map-{name}.png", clip=clip)
        page.close()


def springs():
    """Seconds for the drawings of 50 graphs of 12 nodes, by us and by networkx."""
    graphs, _ = make_sbm(50, random_state=0)
    theirs = [nx.Graph(graph.edges.tolist()) for graph in graphs]
    found = compare(
        ours=lambda: [spring_positions(graph.n_nodes, graph.edges) for graph in graphs],
        networkx=lambda: [nx.kamada_kawai_layout(graph) for graph in theirs],
    )
    return {**found, "ratio": round(found["networkx"] / found["ours"], 1)}


def main():
    from playwright.sync_api import sync_playwright

    path = os.environ.get("GRNF_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")
    if sys.argv[1:] in (["--cpu"], ["--figures"]):
        with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
            if sys.argv[1] == "--figures":
                pictures(browser, Path(folder))
            else:
                found = {str(n): cpu_per_frame(browser, n, Path(folder)) for n in (100_000, 1_000_000)}
                print(found)
                store("map_cpu", {"browser": browser.version, "per_frame": found})
            browser.close()
        return
    pages = {1_000: grnf.map_graphs(molecules(1_000), random_state=0).html()}
    for name in sys.argv[1:]:
        html = Path(name).read_text(encoding="utf-8")
        pages[meta_of(html)["n"]] = html
    sizes = {str(n): round(len(html.encode()) / 1e6, 2) for n, html in pages.items()}
    print("megabytes", sizes)
    results = {"megabytes_of_molecules": sizes, "springs": springs(), "panning": {}}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        results["browser"] = browser.version
        page = browser.new_page()
        results["graphics"] = page.evaluate("""() => {
          const gl = document.createElement('canvas').getContext('webgl');
          const info = gl && gl.getExtension('WEBGL_debug_renderer_info');
          return info ? gl.getParameter(info.UNMASKED_RENDERER_WEBGL) : 'no WebGL'; }""")
        for n in (1_000, 100_000, 1_000_000):
            results["panning"][str(n)] = panning(n, Path(folder), browser)
            print(n, results["panning"][str(n)])
        browser.close()
    store("map", results)


if __name__ == "__main__":
    main()
