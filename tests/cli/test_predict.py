"""`grnf train -o` and `grnf predict`, as a user runs them."""

import csv
import json

import numpy as np
import pytest

from cli.small_sets import rows
from grnf import GRNFRegressor
from grnf.estimators.model_file import load_models
from grnf.features import Embedder
from grnf.io import RawGraph, write_graphs
from optional import require

require("rdkit")
SMILES = ["C" * n + end for n in range(1, 14) for end in ("C(=O)O", "C", "O")]
FAST = ["--folds", 2, "-m", 8]


def table(path, rows, header=("name", "smiles", "acid", "size")):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    path = tmp_path_factory.mktemp("train") / "t.csv"
    data = [[f"m{n}", s, ["no", "yes"][s.endswith("=O)O")], len(s) + 0.5] for n, s in enumerate(SMILES)]
    return table(path, data)


@pytest.fixture
def new(tmp_path):
    return table(
        tmp_path / "new.csv",
        [
            ["a", "CCCCCC(=O)O", "", ""],
            ["b", "CCX", "", ""],
            ["c", "c1ccccc1Br", "", ""],
            ["d", "CCCO", "", ""],
        ],
    )


@pytest.fixture
def embedded(monkeypatch):
    """Numbers of features and of graphs of all that is embedded."""
    found, whole = [], Embedder.__call__

    def noted(self, batch):
        found.append((self.map.n_components, len(batch)))
        return whole(self, batch)

    monkeypatch.setattr(Embedder, "__call__", noted)
    return found


def test_features_are_computed_once_for_all_targets(call, training, new, tmp_path, embedded):
    options = ["--target", "acid,size", "--id-column", "name", "--folds", 3, "-m", 8]
    call("train", training, *options, "-o", tmp_path / "m.grnf")
    folds, trained = embedded[:-3], embedded[-3:]
    assert sorted(folds) == sorted([(8, 26), (8, 13)] * 6)  # fitted to the training part of a fold
    assert sorted(trained) == [(8, 39), (1024, 39), (1024, 39)]  # for both models
    classifier, regressor = load_models(tmp_path / "m.grnf")
    assert classifier.views_ is regressor.views_
    assert classifier.neighborhood_.joint is regressor.neighborhood_.joint
    embedded.clear()
    call("predict", tmp_path / "m.grnf", new, "-o", tmp_path / "p.csv")
    assert [entry for entry in embedded if entry[1] == 3] == [(8, 3), (1024, 3)]
    embedded.clear()
    y = np.column_stack([[len(s) for s in SMILES], [s.count("O") for s in SMILES]]).astype(float)
    y[::4, 1] = np.nan
    GRNFRegressor(8, random_state=0).fit(SMILES, y).predict_interval(SMILES)
    assert sorted(embedded) == [(8, 39)] * 2 + [(1024, 39)] * 3  # fit and predictions


def test_two_targets(call, training, new, tmp_path):
    options = ["--target", "acid", "--target", "size", "--id-column", "name", *FAST]
    result = call("train", training, *options, "-o", tmp_path / "m.grnf")
    assert "counts of nodes, edges and attributes" in result.stdout
    classifier, regressor = load_models(tmp_path / "m.grnf")
    assert classifier.classes_.tolist() == ["no", "yes"]
    assert regressor.notes_["target"] == "size"
    call("train", training, *options, "-o", tmp_path / "m.grnf", code=1, says="exists already")
    columns = ["--id-column", "name", "--keep", "acid", "-o", tmp_path / "p.csv"]
    result = call("predict", tmp_path / "m.grnf", new, *columns, "--explain", tmp_path / "r.html")
    assert "4 graphs, 1 error" in result.stdout
    page = (tmp_path / "r.html").read_text()
    assert page.count("<svg") == 6
    assert page.count("<h2>a: acid</h2>") == page.count("<h2>a: size</h2>") == 1
    found = rows(tmp_path / "p.csv")
    assert [row["id"] for row in found] == ["a", "b", "c", "d"]
    assert found[1]["acid_prediction"] == found[1]["size_upper"] == found[1]["acid_set"] == ""
    assert "'CCX' is not a valid SMILES" in found[1]["error"]
    assert found[0]["acid_prediction"] == "yes"
    assert float(found[0]["acid_probability_no"]) + float(found[0]["acid_probability_yes"]) == pytest.approx(
        1
    )
    assert set(found[0]["acid_set"].split("|")) <= {"no", "yes", "none"}
    assert (
        float(found[3]["size_lower"]) <= float(found[3]["size_prediction"]) <= float(found[3]["size_upper"])
    )
    assert found[3]["size_nearest"] == f"m{SMILES.index('CCCO')}"
    assert float(found[3]["size_distance"]) == pytest.approx(0, abs=1e-3)
    near, _, far, equal = (row["acid_applicability"] for row in found)
    assert 2 * float(far) < min(float(near), float(equal))
    assert found[0]["error"] == ""
    require("pyarrow")
    pq = require("pyarrow.parquet")
    call("predict", tmp_path / "m.grnf", new, "-o", tmp_path / "p.parquet")
    assert pq.read_table(tmp_path / "p.parquet").num_rows == 4


def test_numbers_by_groups(call, training, tmp_path, new):
    options = ["--target", "size", *FAST, "--lifts", "none", "--estimator", "linear"]
    result = call("train", training, *options, "--split", "acid", "-o", tmp_path / "m.grnf", "--json")
    assert json.loads(result.stdout)["settings"]["split"] == "acid"
    result = call("predict", tmp_path / "m.grnf", new, "--json", "--confidence", 0.5)
    found = json.loads(result.stdout)
    model = GRNFRegressor.load(tmp_path / "m.grnf")
    assert found[0]["prediction"] == pytest.approx(float(model.predict([found[0]["smiles"]])[0]))
    assert [found[0]["lower"], found[0]["upper"]] == pytest.approx(
        model.predict_interval([found[0]["smiles"]], 0.5)[0].tolist()
    )
    call("predict", tmp_path / "m.grnf", new, "--on-error", "raise", code=1)
    call("predict", tmp_path / "m.grnf", new, "--standardize", code=2, says="was not used")
    (tmp_path / "cut.grnf").write_bytes((tmp_path / "m.grnf").read_bytes()[:-100])
    result = call("predict", tmp_path / "cut.grnf", new, code=1, says="cut.grnf")
    assert "Traceback" not in result.stderr
    network = "--estimator", "network", "-o", tmp_path / "n.grnf"
    call("train", training, *network, code=2, says="--estimator network cannot be saved")
    call("train", training, *options, "--split", "nothing", code=1, says="no column 'nothing'")


def test_rows_keep_their_numbers(call, tmp_path):
    data = [["", s, "", len(s) + 0.5] for s in ["CCX", "C#N", *SMILES]]
    data[1][3] = ""
    training = table(tmp_path / "t.csv", data)
    call("train", training, "--target", "size", "--on-error", "skip", *FAST, "-o", tmp_path / "m.grnf")
    new = table(tmp_path / "new.csv", [["", SMILES[5], "", ""]])
    assert json.loads(call("predict", tmp_path / "m.grnf", new, "--json").stdout)[0]["nearest"] == "7"
    other = table(tmp_path / "other.csv", [["1", "x", "y", "z"]], header=("name", "words", "acid", "size"))
    call("predict", tmp_path / "m.grnf", other, code=2, says="with --smiles-column")


@pytest.mark.filterwarnings("ignore:columns that were not there")
def test_graphs_with_other_columns(call, tmp_path):
    generator = np.random.default_rng(0)
    edges = [np.argwhere(np.triu(generator.random((8, 8)) < 0.4, 1)) for _ in range(30)]
    known = [RawGraph(8, e, {"charge": generator.random(8)}, y=len(e) / 7) for e in edges]
    write_graphs(tmp_path / "t.jsonl", known)
    write_graphs(tmp_path / "n.jsonl", [known[0], RawGraph(8, edges[1], {"mass": np.ones(8)})])
    options = [*FAST, "--lifts", "none", "--estimator", "linear"]
    call("train", tmp_path / "t.jsonl", *options, "-o", tmp_path / "m.grnf")
    result = call("predict", tmp_path / "m.grnf", tmp_path / "n.jsonl", "-o", tmp_path / "p.csv")
    good, bad = rows(tmp_path / "p.csv")
    assert (good["error"], bad["prediction"]) == ("", "")
    assert "the node column 'charge' is missing. Use handle_missing='zero' (--handle-missing" in bad["error"]
    filled = call("predict", tmp_path / "m.grnf", tmp_path / "n.jsonl", "--handle-missing", "zero", "--json")
    assert [row["error"] for row in json.loads(filled.stdout)] == [None, None]
    constant = [RawGraph(8, e, y=0.5) for e in edges]
    write_graphs(tmp_path / "c.jsonl", constant)
    result = call("train", tmp_path / "c.jsonl", *options, "--task", "numbers", "-o", tmp_path / "c.grnf")
    result = call("predict", tmp_path / "c.grnf", tmp_path / "c.jsonl", "--json")
    assert json.loads(result.stdout)[0]["prediction"] == pytest.approx(0.5)
    write_graphs(tmp_path / "none.jsonl", [RawGraph(8, e) for e in edges])
    call("train", tmp_path / "none.jsonl", *options, code=1, says="no graph has a label")


@pytest.mark.slow
def test_in_a_process_of_its_own(call, run, training, new, tmp_path):
    """`grnf predict` alone must load all that a model consists of."""
    model, output = tmp_path / "acid.grnf", tmp_path / "p.csv"
    call("train", training, "--target", "acid", "--target", "size", *FAST, "-o", model)
    run("", "predict", model, new, "-o", output, "--explain", tmp_path / "e.html")
    assert [bool(row["error"]) for row in rows(output)] == [False, True, False, False]
    assert "<svg" in (tmp_path / "e.html").read_text()


def test_stereochemistry(call, tmp_path):
    pairs = [f"C[C@{at}](N)({'C' * n}O)" for n in range(2, 8) for at in ("H", "@H")]
    path = table(
        tmp_path / "t.csv", [[n, text, "RS"[n % 2]] for n, text in enumerate(pairs)], ("id", "smiles", "y")
    )
    call("train", path, *FAST, "-o", tmp_path / "on.grnf")
    call("train", path, *FAST, "-o", tmp_path / "off.grnf", "--no-stereo")
    path.rename(tmp_path / "plain")  # a pipe has no suffix either
    call("train", tmp_path / "plain", "--format", "csv", *FAST, "-o", tmp_path / "plain.grnf")
    (tmp_path / "plain").rename(path)
    predicted = {}
    for name in ("on", "off", "plain"):
        call("predict", tmp_path / f"{name}.grnf", path, "-o", tmp_path / f"{name}.csv")
        predicted[name] = [row["prediction"] for row in rows(tmp_path / f"{name}.csv")]
    assert predicted["on"] == predicted["plain"] == ["R", "S"] * 6
    assert predicted["off"][::2] == predicted["off"][1::2]
    call("predict", tmp_path / "off.grnf", path, "--stereo", code=2, says="--stereo was not used to make")
    (tmp_path / "t.smi").write_text("\n".join(pairs))
    call("predict", tmp_path / "on.grnf", tmp_path / "t.smi", "-o", tmp_path / "smi.csv")
    assert [row["prediction"] for row in rows(tmp_path / "smi.csv")] == ["R", "S"] * 6
