"""The options of tables, which all commands that read tables have."""

import csv

import pytest

from grnf.cli.app import app
from optional import require

READERS = sorted({command.callback.__name__ for command in app.registered_commands} - {"demo", "dimension"})
SMALL = ("-m", 8)
SMILES = ["C" * n + "C(=O)O" for n in range(1, 13)] + ["C" * n for n in range(3, 15)]
OPTIONS = ("--no-header", "--encoding", "latin-1", "--decimal", ",", "--smiles-column", 1)
OPTIONS += ("--id-column", 2, "--target", 4, "--keep", 3)


@pytest.fixture
def table(tmp_path):
    """A table without a header, in Latin-1, with decimal commas; its columns are called 1, 2, 3 and 4."""
    require("rdkit")
    with open(tmp_path / "t.csv", "w", newline="", encoding="latin-1") as file:
        for row, smiles in enumerate(SMILES):
            csv.writer(file, delimiter=";").writerow([smiles, f"Ä{row}", f"{row},5", row % 2])
    return tmp_path / "t.csv"


def test_edits_in_parquet(call, tmp_path):
    pq = require("pyarrow.parquet")
    (tmp_path / "two.g6").write_text("Bw\nDhc\n")
    call("compare", tmp_path / "two.g6", 0, 1, "-o", tmp_path / "edits.parquet")
    assert sum(pq.read_table(tmp_path / "edits.parquet")["cost"].to_pylist()) > 0


@pytest.mark.parametrize("command", READERS)
@pytest.mark.filterwarnings("ignore:with 24 and 24 graphs")
def test_every_command_reads_the_same_tables(call, table, command):
    out, index = table.with_name("out"), table.with_name("i.index")
    if command == "search":
        call("index", table, "-o", index, *OPTIONS, *SMALL)
    model = table.with_name("m.grnf")
    if command == "predict":
        options = ["--folds", 2, "--estimator", "linear", "--lifts", "none", *SMALL]
        call("train", table, "-o", model, *OPTIONS, *options)
    arguments, expected = {
        "predict": ([model, table], "\nÄ23,CCCCCCCCCCCCCC,23.5,"),
        "train": (
            [table, "--report", out, "--folds", 2, "--estimator", "linear", "--lifts", "none"],
            "24 graphs",
        ),
        "cluster": ([table, *SMALL], "\nÄ23,"),
        "compare": ([table, "Ä0", "Ä1"], "edit distance "),
        "convert": ([table, f"{out}.jsonl"], "24 graphs"),
        "dedup": ([table, table, *SMALL], "\nÄ3,Ä3,0,isomorphic,identical,CCCCC(=O)O,3.5,CCCCC(=O)O,3.5\n"),
        "distances": ([table, "--nearest", 1, *SMALL], "\nÄ23,1,"),
        "embed": ([table, "-o", "-", *SMALL], "\nÄ23,1,CCCCCCCCCCCCCC,23.5,"),
        "evaluate": ([table, table, "--n-resamples", 99, *SMALL], "uniqueness"),
        "index": ([table, "-o", index, *SMALL], "24 graphs"),
        "info": ([table], "2  id      text; 24 different; for example Ä0"),
        "map": ([table, "-o", f"{out}.html", "--layout", "pca", *SMALL], "24 graphs"),
        "monitor": ([table, table, *SMALL], '"id": "\\u00c423"'),
        "outliers": ([table, "-k", 2, "--space", "d_P", *SMALL], ",3.5\n"),
        "pick": ([table, "-n", 3, *SMALL], "\n1,Ä0,,CC(=O)O,0.5\n"),
        "search": ([index, table, "-k", 1], "\nÄ3,1,Ä3,0,CCCCC(=O)O,3.5,CCCCC(=O)O,3.5\n"),
        "split": ([table, *SMALL], "\nÄ23,"),
        "test": ([table, table, "--n-resamples", 99, *SMALL], "p = "),
    }[command]
    result = call(command, *arguments, *OPTIONS)
    assert expected in result.stdout + result.stderr


def test_options_of_tables_are_checked(call, table, tu):
    call("info", table, "--decimal", "x", code=2)
    for option in ("--smiles-column", "--id-column", "--target", "--keep"):
        call("dedup", tu, option, "x", code=2, says=f"{option} needs a SMILES table")
