"""Wrong usage of every command: exit code 2, the reason, no traceback, and no file."""

import shlex

import numpy as np
import pytest

from cli.small_sets import names, write_tu
from grnf.datasets import make_sbm
from grnf.io import write_graphs

WRONG = {
    "fly": "No such command 'fly'",
    "reproduce all": "No such command 'reproduce'",
    "data list": "No such command 'data'",
    "demo --n-graphs 3": "--n-graphs",
    "demo -m auto": "-m",
    "dimension --delta 0.1": "give --eps, --n-components or both",
    "dimension --eps 0.1 --delta 0.1 -m 8": "give at most two of",
    "dimension --eps 0.1 --delta 2": "delta must be",
    "dimension --eps 0.1 --delta 0.1 --activation relu": "relu",
    "embed": "Missing argument",
    "embed TU": "--output",
    "embed TU -o z.txt": "must end in one of .parquet",
    "embed TU -o z.npy -m many": "an integer or auto",
    "embed TU -o z.npy -m 0": "must be an integer >= 1 or 'auto', got 0",
    "embed TU -o z.npy -m auto": "needs --eps",
    "embed TU -o z.npy --orders 1:0.5": "must sum to 1",
    "embed TU -o z.npy --orders two": "order:probability",
    "embed TU -o z.npy --orders 1:1/0": "--orders",
    "embed TU -o z.npy --proposal x": "orders (example: 1,2)",
    "embed TU -o z.npy --basis mine": "indicator",
    "embed TU -o z.npy --on-error hide": "raise",
    "embed TU -o z.npy --block-size 0": "--block-size",
    "embed TU -o z.npy --n-jobs 0": "--n-jobs",
    "embed TU -o z.npy --format wax": "unknown format",
    "embed TU -o z.npy --dask local": "needs a folder",
    "embed TU -o z.npy --shard-size 5": "needs a folder",
    "embed TU -o - --resume": "--resume needs a file",
    "embed - -o -": "Name its format",
    "convert TU": "Missing argument",
    "convert TU -": "Name its format",
    "convert TU x.json --to wax": "unknown format 'wax'",
    "info": "name a file",
    "info -": "Name its format",
    "distances -": "Name its format",
    "distances x.zip -m auto": "-m",
    "distances one.npy -m 8": "whose settings are fixed",
    "distances one.npy --confidence 0.9": "needs --pairs",
    "distances one.npy --pairs p.csv --confidence 2": "between 0 and 1",
    "distances one.npy --pairs p.csv --nearest 2": "not both",
    "distances one.npy --nearest 2 -o d.npy": "must end in .csv",
    "distances one.npy -o d.txt": "must end in .npy or .csv",
    "distances one.npy --nearest 0": "--nearest",
    "compare x.gml y.gml --tolerance -1": "--tolerance",
    "compare x.gml y.gml --picture d.gif": "must end in .png, .svg or .pdf",
    "compare x.gml -m auto": "-m",
    "index x.zip": "name the index folder",
    "index -o x.index": "give graphs or vectors to index",
    "index x.zip -o x.index --append -m 8": "the settings of an existing index are fixed",
    "index x.zip -o x.index -m auto": "-m",
    "search x.index x.zip --confidence 2": "between 0 and 1",
    "search x.index x.zip --radius -1": "must be a number >= 0",
    "search x.index x.zip --certified 0.9 --radius 1": "cannot be combined",
    "search x.index x.zip -o x.txt": "must end in .csv",
    "dedup x.zip --near -1": "must be a number >= 0",
    "dedup x.zip -m auto": "-m",
    "cluster x.zip --radius -1": "must be a number >= 0",
    "cluster x.zip --like x.json": "--like",
    "split x.zip --sizes 1": "at least two positive numbers",
    "split x.zip --sizes a,b": "at least two positive numbers",
    "split x.csv y.csv --parts-column part": "needs a single SOURCE",
    "pick x.zip -n 0": "-n",
    "map TU -o map.png": "must end in .html",
    "map TU -o map.html --save-layout map.html": "must end in .npz",
    "map TU -o map.html --confidence 2": "between 0 and 1",
    "map TU -o map.html --confidence 0.9": "--confidence needs --space",
    "map TU -o map.html --keep x": "--keep",
    "map x.zip -m auto": "-m",
    "monitor some.s6 some.s6 --alpha 2": "between 0 and 1",
    "monitor some.s6 some.s6 --alpha 0.1 --mean-time 9": "not both",
    "monitor some.s6 some.s6 --mean-time 0": "must be a number >= 1",
    "monitor some.s6 some.s6 -o some.s6": "is an input of this command",
    "monitor some.s6 -": "Name its format",
    "monitor some.s6 x.zip -m auto": "-m",
    "outliers one.npy --fdr 1.5": "between 0 and 1",
    "outliers one.npy --reference one.npy --contamination 0.1": "cannot be combined",
    "outliers one.npy -o x.txt": "must end in .csv",
    "outliers x.zip -m auto": "-m",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("usage")
    write_tu(folder / "TU", 5)
    write_graphs(folder / "some.s6", make_sbm(20, random_state=0)[0])
    np.save(folder / "one.npy", np.eye(3))
    return folder


@pytest.mark.parametrize("line", WRONG)
def test_wrong_usage(call, folder, monkeypatch, line):
    monkeypatch.chdir(folder)
    assert "Traceback" not in call(*shlex.split(line), code=2, says=WRONG[line]).stderr
    assert names(folder) == ["TU", "one.npy", "some.s6"]
