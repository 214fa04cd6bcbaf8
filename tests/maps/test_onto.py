"""New graphs on a map that is there."""

import numpy as np
import pytest

from grnf import GRNF, GraphError
from grnf.datasets import make_sbm
from grnf.maps import GraphMap
from map_pages import map_graphs, meta_of

GRAPHS, Y = make_sbm(40, random_state=0)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    settings = {"transformer": GRNF(32, random_state=0), "layout": "pca"}
    made = map_graphs(GRAPHS[:30], Y[:30], columns={"part": ["a", "b"] * 15}, **settings)
    path = tmp_path_factory.mktemp("map") / "map.npz"
    made.save(path)
    return made, path


def test_what_is_saved_is_opened(saved):
    made, path = saved
    again = GraphMap.load(path)
    assert again.ids == made.ids
    assert np.array_equal(again.positions, made.positions)
    assert np.array_equal(again.vectors, made.vectors)
    assert np.array_equal(again.drawings.x, made.drawings.x)
    assert np.array_equal(again.transformer.transform(GRAPHS), made.transformer.transform(GRAPHS))


def test_new_graphs_are_placed_and_old_ones_stay(saved):
    made, path = saved
    permuted = GRAPHS[3].permuted(range(GRAPHS[3].n_nodes)[::-1])
    grown = map_graphs([*GRAPHS[30:], permuted], Y[[*range(30, 40), 3]], onto=path, title="grown")
    assert len(grown) == 41
    assert np.array_equal(grown.positions[:30], made.positions)
    assert grown.positions[40] == pytest.approx(made.positions[3], abs=1e-3)  # a copy of graph 3
    assert grown.ids[30] == "0 (new)"
    names = [column["name"] for column in meta_of(grown.html())["columns"]]
    assert names[:2] == ["new", "label"]
    assert "part" in names
    columns = {column.name: column.values for column in grown.columns}
    assert columns["new"] == ["on the map before"] * 30 + ["new"] * 11
    assert columns["part"][28:32] == ["a", "b", None, None]
    assert 3 in grown.nearest.rows[40]
    assert "placed on a map" in grown.about[0]


def test_nothing_new(saved):
    made, path = saved
    assert np.array_equal(map_graphs([], onto=path).positions, made.positions)


def test_what_is_no_map_is_refused(tmp_path, saved):
    with pytest.raises(GraphError, match="does not exist"):
        GraphMap.load(tmp_path / "absent.npz")
    (tmp_path / "text.npz").write_text("hello")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    for name in ("text.npz", "other.npz"):
        with pytest.raises(ValueError, match="not a saved map"):
            GraphMap.load(tmp_path / name)
