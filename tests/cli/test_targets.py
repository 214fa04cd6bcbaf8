"""Tables of SMILES in `grnf classify`: columns, several targets, gaps, rare classes, measures."""

import csv
import gzip
import json

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, balanced_accuracy_score, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from cli.small_sets import rows
from grnf.errors import GraphError
from grnf.estimators.uncertainty import decision_values
from grnf.estimators.validation import (
    Target,
    check_folds,
    class_scores,
    made_target,
    number_scores,
    over_targets,
)
from optional import require

require("rdkit")
ACIDS = ["C" * n + "C(=O)O" for n in range(1, 13)]
ALKANES = ["C" * n for n in range(3, 15)]
MOLECULES = ACIDS + ALKANES
FAST = ["--folds", 3, "-m", 8, "--lifts", "none", "--estimator", "linear"]


def write(path, header, rows, delimiter=",", opener=open, encoding="utf-8"):
    with opener(path, "wt", encoding=encoding, newline="") as file:
        table = csv.writer(file, delimiter=delimiter)
        table.writerow(header)
        table.writerows(rows)
    return path


@pytest.fixture
def classified(call, tmp_path):
    def classified(path, *more, code=0):
        result = call("train", path, "--report", tmp_path / "out", "--json", *FAST, *more, code=code)
        return result, None if code else json.loads(result.stdout)

    return classified


def acid(smiles):
    return int(smiles.endswith("O"))


TABLES = {
    "bbbp": (["num", "name", "p_np", "smiles"], lambda n, s: [n + 1, f"name {n // 2}", acid(s), s], "p_np"),
    "lipo": (["CMPD_CHEMBLID", "exp", "smiles"], lambda n, s: [f"CHEMBL{n}", n / 7, s], "exp"),
    "esol": (
        ["Compound ID", "predicted", "measured log solubility", "smiles"],
        lambda n, s: [f"c{n}", n / 3, n / 7, s],
        "measured log solubility",
    ),
    "only": (["mol_id", "toxicity", "smiles"], lambda n, s: [n, ["low", "high"][acid(s)], s], "toxicity"),
}


@pytest.mark.parametrize("kind", TABLES)
def test_the_target_is_found(classified, tmp_path, kind):
    header, row, name = TABLES[kind]
    path = write(tmp_path / "t.csv", header, [row(n, s) for n, s in enumerate(MOLECULES)])
    result, report = classified(path)
    assert list(report["targets"]) == [name]
    assert f"the target is column {name!r}" in result.stderr
    assert report["graphs"] == 24


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("t.csv", {}),
        ("t.csv", {"delimiter": ";"}),
        ("t.csv", {"encoding": "utf-8-sig"}),
        ("t.tsv", {"delimiter": "\t"}),
        ("t.csv.gz", {"opener": gzip.open}),
    ],
)
def test_smiles_are_found_by_what_a_column_holds(classified, tmp_path, name, options):
    lines = [[f"{s}, so called", s, ["inactive", "active"][acid(s)]] for s in MOLECULES]
    path = write(tmp_path / name, ["words", "Drug", "Y"], lines, **options)
    result, report = classified(path)
    assert "SMILES column 'Drug', found by its content" in result.stderr
    assert report["targets"]["Y"]["positive_class"] == "active"
    assert report["classes"] == {"active": 12, "inactive": 12}


def test_parquet_with_gaps(classified, tmp_path):
    pd = require("pandas")
    require("pyarrow")
    toxic = [bool(acid(s)) if n % 4 else None for n, s in enumerate(MOLECULES)]
    pd.DataFrame({"Drug": MOLECULES, "toxic": toxic}).to_parquet(tmp_path / "t.parquet")
    result, report = classified(tmp_path / "t.parquet")
    assert "6 of 24 graphs have no label in 'toxic' and are left out" in result.stderr
    assert (report["graphs"], report["without_value"]) == (18, 6)


@pytest.mark.slow
def test_several_targets(classified, call, tmp_path):
    lines = [[acid(s), "" if n % 2 else n % 4 // 2, 1, n / 3, f"TOX{n}", s] for n, s in enumerate(MOLECULES)]
    path = write(tmp_path / "t.csv", ["acid", "gaps", "same", "a, b", "mol_id", "smiles"], lines)
    result, _ = classified(path, code=1)
    assert "Name one or several with --target" in result.stderr
    assert "gaps    target  whole numbers; 0 (6), 1 (6); 12 missing" in result.stderr
    assert "mol_id  id      text; 24 different; for example TOX0" in result.stderr
    assert "skip" not in result.stderr
    result, report = classified(path, "--target", "acid,gaps", "--target", "a, b", "--target", "same")
    assert "the target 'same' is left out: all graphs have the label 1" in result.stderr
    assert {name: entry["graphs"] for name, entry in report["targets"].items()} == {
        "acid": 24,
        "gaps": 12,
        "a, b": 24,
    }
    assert report["targets"]["a, b"]["task"] == "numbers"
    accuracy = [report["targets"][name]["scores"]["GRNF"]["accuracy"]["mean"] for name in ("acid", "gaps")]
    assert report["mean"]["GRNF"]["accuracy"]["mean"] == pytest.approx(np.mean(accuracy))
    assert report["mean"]["GRNF"]["accuracy"]["targets"] == 2
    predictions = rows(tmp_path / "out" / "predictions.csv")
    assert [row["target"] for row in predictions] == ["acid"] * 24 + ["gaps"] * 12 + ["a, b"] * 24
    assert json.loads((tmp_path / "out" / "results.json").read_text())["mean"] == report["mean"]
    text = call("train", path, "--report", tmp_path / "out", *FAST, "--target", "acid,gaps").stdout
    assert "gaps: 12 graphs, positive class 1 (6)\n  GRNF" in text
    assert "mean over 2 targets\n  GRNF" in text


def test_fields_of_an_sd_file_are_columns(classified, call, tmp_path):
    from rdkit import Chem

    path = tmp_path / "t.sdf"
    with Chem.SDWriter(str(path)) as writer:
        for n, smiles in enumerate(MOLECULES):
            mol = Chem.MolFromSmiles(smiles)
            mol.SetProp("_Name", f"m{n}")
            mol.SetProp("toxicity", ["low", "high"][acid(smiles)])
            mol.SetProp("EC50", str(n / 7))
            writer.write(mol)
    _, report = classified(path, "--target", "toxicity,EC50")
    assert {name: entry["task"] for name, entry in report["targets"].items()} == {
        "toxicity": "classes",
        "EC50": "numbers",
    }
    out = tmp_path / "z.csv"
    nameless = path.rename(tmp_path / "t")
    told = ["-m", 4, "-o", out, "--keep", "toxicity", "--id-column", "EC50", "--format", "sdf"]
    call("embed", nameless, *told)
    first = out.read_text().splitlines()[1]
    assert first.startswith("0.0,,CC(=O)O,high,")


def test_columns_that_do_not_exist(classified, tmp_path, tu):
    path = write(tmp_path / "t.csv", ["smiles", "kind"], [[s, acid(s)] for s in MOLECULES])
    result, _ = classified(path, "--target", "kinds", code=1)
    assert "no column 'kinds': did you mean 'kind'?" in result.stderr
    assert "SMILES  text; 24 different" in result.stderr
    assert "is the SMILES column" in classified(path, "--target", "smiles", code=1)[0].stderr
    assert "no column 'Drug'" in classified(path, "--smiles-column", "Drug", code=1)[0].stderr
    for option in ("--target", "--smiles-column", "--id-column"):
        result, _ = classified(tu, option, "x", code=2)
        assert f"Invalid value for {option}" in result.stderr or f"Invalid value: {option}" in result.stderr


def test_no_value_at_all(classified, tmp_path):
    path = write(tmp_path / "t.csv", ["smiles", "p", "q"], [[s, "", 1] for s in MOLECULES])
    result, _ = classified(path, code=1)
    assert "no column looks like a target" in result.stderr
    assert "nothing; 0 different" in result.stderr
    assert "skip" not in result.stderr
    assert "no graph has a label, or value of 'p'" in classified(path, "--target", "p", code=1)[0].stderr
    assert "the label 1, but at least two" in classified(path, "--target", "q", code=1)[0].stderr


@pytest.mark.parametrize("estimator", ["svm", "linear", "network"])
def test_rare_classes(classified, tmp_path, estimator):
    labels = ["many"] * 15 + ["few"] * 7 + ["rare"] + ["single"]
    path = write(tmp_path / "t.csv", ["smiles", "y"], zip(MOLECULES, labels, strict=True))
    result, report = classified(path, "--estimator", estimator)
    (line,) = [line for line in result.stderr.splitlines() if "fewer graphs" in line]
    assert "'rare' (1), 'single' (1); 2 with one graph cannot be predicted" in line
    assert len(result.stderr.splitlines()) == 2
    assert report["classes"] == {"few": 7, "many": 15, "rare": 1, "single": 1}


@pytest.mark.parametrize("labels", [[f"c{n // 2}" for n in range(24)], [0] * 23 + [1]])
def test_only_rare_classes_or_one_that_training_lacks(classified, tmp_path, labels):
    path = write(tmp_path / "t.csv", ["smiles", "y"], zip(MOLECULES, labels, strict=True))
    result, report = classified(path)
    assert report["graphs"] == 24
    assert "fewer graphs than 3 folds" in result.stderr
    predicted = rows(tmp_path / "out" / "predictions.csv")
    assert {row["predicted"] for row in predicted} <= set(map(str, labels))
    result, _ = classified(path, "--folds", 25, code=2)
    assert "must be at most 24, the number of graphs" in result.stderr


def test_whole_numbers_and_very_many_classes(classified, tmp_path):
    counts = write(tmp_path / "n.csv", ["smiles", "y"], [[s, 3 * n % 70] for n, s in enumerate(MOLECULES)])
    result, report = classified(counts)
    assert report["task"] == "numbers"
    assert "24 different whole numbers, which are taken as numbers" in result.stderr
    many = ["C" * (n % 20 + 1) + "O" * (n // 20 + 1) for n in range(220)]
    path = write(tmp_path / "m.csv", ["smiles", "y"], [[s, f"c{n % 110}"] for n, s in enumerate(many)])
    result, report = classified(path, "--estimator", "auto", "--folds", 2, "--target", "y")
    assert "with 110 classes, the default is nearest neighbors" in result.stderr
    assert len(report["classes"]) == 110
    assert not (tmp_path / "out" / "confusion.png").exists()


def test_help_says_what_is_used(call):
    from grnf import GRNFClassifier
    from grnf.estimators.classifier import FEATURES, FEATURES_OF_LIFTS

    text = " ".join(call("train", "--help").stdout.split())
    assert GRNFClassifier().n_components is None
    assert (FEATURES, FEATURES_OF_LIFTS) == (512, 1024)
    assert "512" in text
    assert "1024" in text


def test_constant_answers_know_nothing(classified, tmp_path):
    path = write(tmp_path / "t.csv", ["smiles", "y"], [[s, acid(s)] for s in MOLECULES])
    _, report = classified(path)
    for method in ("GRNF", "counts of nodes, edges and attributes", "the most frequent class"):
        assert list(report["scores"][method]) == [
            "accuracy", "balanced accuracy", "ROC-AUC", "average precision",
        ]  # fmt: skip
    constant = report["scores"]["the most frequent class"]
    assert constant["ROC-AUC"] == {"mean": 0.5, "std": 0.0}
    assert constant["balanced accuracy"] == {"mean": 0.5, "std": 0.0}
    assert constant["average precision"]["mean"] == pytest.approx(0.5)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_measures_are_those_of_scikit_learn(n_classes):
    X, y = make_classification(300, n_informative=6, n_classes=n_classes, random_state=0)
    labels = np.unique(y)
    model = KNeighborsClassifier(7).fit(X[:150], y[:150])
    X, y = X[150:], y[150:]
    values = decision_values(model, X, labels)
    guess, positive = model.predict(X), 1 if n_classes == 2 else None
    found = class_scores(y, guess, values, labels, positive)
    probabilities = model.predict_proba(X)
    if n_classes == 2:
        area = roc_auc_score(y, probabilities[:, 1])
        precision = average_precision_score(y, probabilities[:, 1])
    else:
        area = roc_auc_score(y, probabilities, multi_class="ovr", average="macro")
        precision = average_precision_score(np.eye(n_classes)[y], probabilities, average="macro")
    assert found["ROC-AUC"] == pytest.approx(area)
    assert found["average precision"] == pytest.approx(precision)
    assert found["balanced accuracy"] == pytest.approx(balanced_accuracy_score(y, guess))
    unseen = class_scores(
        np.array([0, 4]), np.array([0, 0]), decision_values(model, X[:2], np.arange(5)), np.arange(5)
    )
    assert 0 <= unseen["ROC-AUC"] <= 1
    alone = class_scores(y[y == 0], guess[y == 0], values[y == 0], labels, positive)
    assert np.isnan(alone["ROC-AUC"])


def test_numbers_and_means_over_targets():
    found = number_scores(np.array([0.0, 2.0]), np.array([0.0, 0.0]))
    assert found == pytest.approx({"R2": -1.0, "RMSE": np.sqrt(2), "mean absolute error": 1.0})
    one = {"GRNF": {"R2": {"mean": 0.5, "std": 0.1}}}
    other = {"GRNF": {"R2": {"mean": None, "std": None}, "accuracy": {"mean": 1.0, "std": 0.0}}}
    assert over_targets([one, other]) == {
        "GRNF": {
            "R2": {"mean": 0.5, "std": 0.0, "targets": 1},
            "accuracy": {"mean": 1.0, "std": 0.0, "targets": 1},
        }
    }


@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        ([0, 1], 1),
        (["no", "yes"], "yes"),
        (["active", "inactive"], "active"),
        (["non-toxic", "toxic"], "toxic"),
        (["positive", "negative"], "positive"),
        ([False, True], 1),
        (["a", "b"], "b"),
    ],
)
def test_the_positive_class(labels, positive):
    target = made_target("y", [*labels, None, float("nan")], "auto", "t.csv")
    assert isinstance(target, Target)
    assert target.rows.tolist() == [0, 1]
    assert target.positive == positive


def test_words_for_a_missing_number():
    assert made_target("y", [1.5, "NA", "n/a", 2.5], "auto", "t.csv").rows.tolist() == [0, 3]
    assert made_target("y", ["None", "low", "low"], "auto", "t.csv").rows.tolist() == [0, 1, 2]


def test_texts_among_numbers():
    censored, notes = [0.5, ">10", 2.5, "NA", 1.25, "<0.1"], []
    with pytest.raises(GraphError, match=r"'y' has numbers and 2 texts, such as '>10'\. Use --task numbers"):
        made_target("y", censored)
    assert made_target("y", censored, "numbers", note=notes.append).rows.tolist() == [0, 2, 4]
    assert notes[0] == "grnf: 2 texts among the numbers of 'y', such as '>10', left out"
    assert made_target("y", censored, "classes").classes
    assert made_target("y", [1, "1a", 1, "1a"]).labels.tolist() == ["1", "1a"]
    with pytest.raises(GraphError, match="must be numbers, got for example 'low'"):
        made_target("y", ["low", "high"], "numbers")


def test_numbers_need_two_graphs_in_each_fold():
    with pytest.raises(ValueError, match="folds must be at most 4, half the number of graphs, got 5"):
        check_folds(made_target("y", [n / 7 for n in range(9)]), 5)


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("bbbp", "p_np"),
        ("esol", "measured log solubility in mols per litre"),
        ("freesolv", "expt"),
        ("clintox", None),
    ],
)
def test_real_tables(shared, name, target):
    from grnf.io.files.file import File
    from grnf.io.files.survey import choose_target
    from grnf.io.files.tables import table_of

    table = table_of(File(shared / "data" / "molecules" / "molnet" / f"{name}.csv"))
    if target is not None:
        assert choose_target(table, "smiles")[0] == target
        return
    with pytest.raises(GraphError, match="2 columns can be the target"):
        choose_target(table, "smiles")
