"""New graphs on a map that is there."""

import numpy as np
import pytest

import grnf
from atlas_pages import meta_of
from grnf.atlas import Atlas
from grnf.datasets import make_sbm

GRAPHS, Y = make_sbm(40, random_state=0)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    atlas = grnf.map(
        GRAPHS[:30], Y[:30], columns={"part": ["a", "b"] * 15}, transformer=grnf.GRNF(32, random_state=0)
    )
    path = tmp_path_factory.mktemp("map") / "map.npz"
    atlas.save(path)
    return atlas, path


def test_what_is_saved_is_opened(saved):
    atlas, path = saved
    again = Atlas.open(path)
    assert again.ids == atlas.ids
    assert np.array_equal(again.places, atlas.places)
    assert np.array_equal(again.vectors, atlas.vectors)
    assert np.array_equal(again.drawings.x, atlas.drawings.x)
    assert np.array_equal(again.transformer.transform(GRAPHS), atlas.transformer.transform(GRAPHS))


def test_new_graphs_are_placed_and_old_ones_stay(saved):
    atlas, path = saved
    permuted = GRAPHS[3].permuted(range(GRAPHS[3].n_nodes)[::-1])
    grown = grnf.map([*GRAPHS[30:], permuted], Y[[*range(30, 40), 3]], onto=path, title="grown")
    assert len(grown) == 41
    assert np.array_equal(grown.places[:30], atlas.places)
    assert grown.places[40] == pytest.approx(atlas.places[3], abs=1e-3)  # a copy of graph 3, up to rounding
    assert grown.ids[30] == "0 (new)"
    names = [column["name"] for column in meta_of(grown.html())["columns"]]
    assert names[:3] == ["new", "label", "part"]
    columns = {column.name: column.values for column in grown.columns}
    assert columns["new"] == ["on the map before"] * 30 + ["new"] * 11
    assert columns["part"][28:32] == ["a", "b", None, None]
    assert 3 in grown.nearest.places[40]
    assert "placed on a map" in grown.about[0]


def test_nothing_new(saved):
    atlas, path = saved
    assert np.array_equal(grnf.map([], onto=path).places, atlas.places)


def test_what_is_no_map_is_refused(tmp_path, saved):
    with pytest.raises(FileNotFoundError):
        Atlas.open(tmp_path / "absent.npz")
    (tmp_path / "text.npz").write_text("hello")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    for name in ("text.npz", "other.npz"):
        with pytest.raises(ValueError, match="no map that was saved"):
            Atlas.open(tmp_path / name)
