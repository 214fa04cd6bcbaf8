"""What is drawn of a graph, and how it is packed."""

import numpy as np
import pytest

from grnf import Graph
from grnf.errors import GraphError
from grnf.io import RawGraph
from grnf.io.from_molecules import molecule_of_smiles, raw_from_smiles
from grnf.maps.drawings import DIRECTED, MOLECULE, MOST_EDGES, THINNED, TOO_LARGE, draw_graphs
from map_pages import Reader, map_graphs, parts_of
from optional import require

SMILES = ["CC(=O)O", "c1ccccc1N", "C#N", "[NH4+].[Cl-]", "C"]


def column(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def up_to_scale(places):
    """Places moved to the corner, the longer side 1."""
    places = places - places.min(axis=0)
    return places / max(places.max(), 1e-12)


def spread(places):
    """Distances of all pairs, the largest 1: RDKit may mirror or turn a picture."""
    far = np.linalg.norm(places[:, None] - places, axis=-1)
    return far / max(far.max(), 1e-12)


@pytest.mark.parametrize("with_text", [True, False])
def test_molecules_stand_as_rdkit_has_them(with_text):
    require("rdkit")
    from rdkit.Chem import rdDepictor

    graphs = [raw_from_smiles(smiles) for smiles in SMILES]
    if with_text:
        graphs = [
            RawGraph(g.n_nodes, g.edges, g.node_columns, g.edge_columns, graph_columns={"smiles": s})
            for g, s in zip(graphs, SMILES, strict=True)
        ]
    drawn = draw_graphs(graphs)
    ends = np.cumsum([0, *drawn.n_nodes])
    for at, smiles in enumerate(SMILES):
        mol = molecule_of_smiles(smiles)
        rdDepictor.Compute2DCoords(mol)
        wanted = mol.GetConformer().GetPositions()[:, :2]
        own = slice(ends[at], ends[at + 1])
        found = np.column_stack([drawn.x[own], drawn.y[own]]).astype(float)
        if len(wanted) > 1:
            assert spread(found) == pytest.approx(spread(wanted), abs=5e-4)
    assert (drawn.flags == MOLECULE).all()
    symbols = [drawn.kinds[kind] for kind in drawn.kind[:4]]
    assert symbols == ["C", "C", "O", "OH"]
    assert drawn.value[:3].tolist() == [1, 2, 1]
    assert 4 in drawn.value[3:9]
    assert {"NH₄⁺", "ClH⁻"} & set(drawn.kinds) or {"NH₄⁺", "Cl⁻"} <= set(drawn.kinds)


def test_a_smiles_of_another_molecule_is_not_believed():
    require("rdkit")
    graph = raw_from_smiles("CCO")
    wrong = RawGraph(3, graph.edges, graph.node_columns, graph.edge_columns, graph_columns={"smiles": "CCN"})
    right, other = draw_graphs([graph]), draw_graphs([wrong])
    assert np.array_equal(right.x, other.x)


def test_kinds_values_and_directions():
    categories = RawGraph(3, np.array([[0, 1], [1, 2]]), {"colour": column(["red", None, "10"])})
    numbers = RawGraph(
        2, np.array([[0, 1], [1, 0]]), {"t": np.array([2, 10])}, {"weight": np.array([0.5, -4.0])}, True
    )
    weak = RawGraph(
        2, np.array([[0, 1]]), {"x": np.array([[0.0, 1], [1, 0]])}, {"weight": np.array([np.nan])}
    )
    drawn = draw_graphs([categories, numbers, weak])
    assert drawn.kinds == ["0", "1", "2", "10", "red"]  # numbers as numbers, then names
    assert drawn.kind.tolist() == [4, 255, 3, 2, 3, 1, 0]
    assert drawn.value.tolist() == [0, 0, 1, 15, 0]
    assert drawn.flags.tolist() == [0, DIRECTED, 0]


def test_positions_by_a_column():
    places = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0]])
    graph = RawGraph(3, np.array([[0, 1]]), {"xy": places}, graph_id="g")
    drawn = draw_graphs([graph], positions="xy")
    assert up_to_scale(np.column_stack([drawn.x, drawn.y]).astype(float)) == pytest.approx(
        places / 2, abs=1e-3
    )
    for wrong in ({}, {"xy": np.zeros(1)}):
        with pytest.raises(GraphError, match="'xy'") as caught:
            draw_graphs([graph, RawGraph(1, [], wrong)], positions="xy")
        assert (caught.value.where, caught.value.index) == ("graphs", 1)


def test_too_much_is_said():
    nodes = RawGraph(1_001, np.empty((0, 2), np.int64))
    pairs = np.array([(i, j) for i in range(60) for j in range(i)])
    drawn = draw_graphs([nodes, RawGraph(60, pairs)])
    assert drawn.flags.tolist() == [TOO_LARGE, THINNED]
    assert drawn.n_nodes.tolist() == [0, 60]
    assert drawn.n_edges.tolist() == [0, MOST_EDGES]
    own = set(map(tuple, pairs.tolist()))
    assert set(zip(drawn.source.tolist(), drawn.target.tolist(), strict=True)) <= own


def test_more_drawings_get_the_same_kinds():
    first = draw_graphs([RawGraph(2, [], {"c": column(["a", "b"])})])
    second = draw_graphs([RawGraph(3, [], {"c": column(["b", "z", None])})])
    both = first.joined(second)
    assert both.kinds == ["a", "b", "z"]
    assert both.kind.tolist() == [0, 1, 1, 2, 255]
    assert both.n_nodes.tolist() == [2, 3]


def test_the_page_holds_what_was_drawn():
    graphs = [Graph(3 + i % 4, [(j, j + 1) for j in range(2 + i % 4)]) for i in range(30)]
    made = map_graphs(graphs)
    reader = Reader(parts_of(made.html())["g0"])
    found = [reader.take(kind, 30) for kind in (np.uint8, np.uint16, np.uint16)]
    N, E = int(found[1].sum()), int(found[2].sum())
    for letters, count in (("HHB", N), ("HHB", E)):
        found += [reader.take(np.dtype(letter), count) for letter in letters]
    assert reader.done()
    for ours, theirs in zip(found, made.drawings.block(0, 30), strict=True):
        assert np.array_equal(ours, theirs)
    assert found[1].tolist() == [g.n_nodes for g in graphs]
    assert found[2].tolist() == [g.n_edges for g in graphs]
