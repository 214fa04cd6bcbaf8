"""Folders of shards: the same bytes whoever made them, exactly once there; estimators on a cluster."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from grnf import GRNF, GraphError, GrnfWarning, scale
from grnf._utils.locks import FolderInUseError
from grnf.datasets import make_sbm
from grnf.errors import DiskFullError
from grnf.io import read_graphs
from grnf.io.vectors import read_vectors, shard_files
from grnf.scale import shards
from optional import require
from scale.conftest import sums

ds = require("pyarrow.dataset")
pq = require("pyarrow.parquet")

VECTORS = "vectors"


def test_vectors_are_those_of_the_transformer(embed, source, tmp_path):
    report = embed()
    assert (report.n_graphs, report.n_components, report.set_aside, report.bad) == (100, 8, [], [])
    assert report.computed == list(range(10))
    graphs = list(read_graphs(source))
    expected = GRNF(8, random_state=0).fit_transform(graphs)
    found = read_vectors(tmp_path / VECTORS)
    np.testing.assert_array_equal(found.Z, expected)
    assert found.ids == [str(place) for place in range(100)]
    table = ds.dataset(tmp_path / VECTORS).to_table()  # others pass over what is not Parquet
    assert table.num_rows == 100
    again = GRNF.load(tmp_path / VECTORS / "_manifest.json")
    np.testing.assert_array_equal(again.transform(graphs), expected)


@pytest.mark.slow
def test_one_process_two_and_dask_make_the_same_bytes(embed, expected, client, tmp_path):
    assert embed("two", n_jobs=2).n_graphs == 100
    assert embed("dask", dask=client).n_graphs == 100
    assert sums(tmp_path / "two") == sums(tmp_path / "dask") == expected


def test_the_manifest_tells_all(embed, tmp_path):
    embed()
    manifest = json.loads((tmp_path / VECTORS / "_manifest.json").read_text())
    assert manifest["vectors"]["n_graphs"] == 100
    for number, record in enumerate(manifest["shards"]):
        data = (tmp_path / VECTORS / record["file"]).read_bytes()
        assert (record["shard"], record["rows"], record["bytes"]) == (number, 10, len(data))
        assert record["from"][0]["first"] == 10 * number
    assert len(list(shard_files(tmp_path / VECTORS, check=True))) == 10
    file = tmp_path / VECTORS / "shard-000003.parquet"
    file.write_bytes(file.read_bytes()[:-9] + b"x" + file.read_bytes()[-8:])
    with pytest.raises(GraphError, match=r"shard-000003\.parquet is not as it was written"):
        list(shard_files(tmp_path / VECTORS, check=True))
    file.unlink()
    with pytest.raises(GraphError, match="is missing, which the manifest names"):
        read_vectors(tmp_path / VECTORS)


def test_a_finished_folder_is_kept_and_what_is_damaged_made_again(embed, expected, tmp_path):
    embed()
    with pytest.raises(FileExistsError, match="exists already"):
        embed()
    assert embed(resume=True).computed == []
    (tmp_path / VECTORS / "shard-000004.parquet").write_bytes(b"")
    (tmp_path / VECTORS / "shard-000007.parquet").unlink()
    assert embed(resume=True).computed == [4, 7]
    assert sums(tmp_path / VECTORS) == expected
    with pytest.raises(FileExistsError, match="block_size was 4, now 5"):
        embed(resume=True, block_size=5)
    assert embed(force=True, block_size=5).computed == list(range(10))


def test_a_resume_that_fails_costs_nothing(embed, expected, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(shards, "_written", None)
        assert len(embed().set_aside) == 10
    assert embed(resume=True).computed == list(range(10))
    with monkeypatch.context() as patch:
        patch.setattr("grnf.scale.driver.fit_stream", None)
        with pytest.raises(TypeError):
            embed(resume=True)
    assert sums(tmp_path / VECTORS) == expected
    assert embed(resume=True).computed == []


def test_other_input_is_another_run_and_other_files_are_left_alone(embed, own, tmp_path):
    embed(file=own)
    own.write_text(own.read_text() + "Bw\n")
    with pytest.raises(FileExistsError, match=r"is of another run and cannot be resumed: input\.sha256"):
        embed(file=own, resume=True)
    (tmp_path / VECTORS / "thesis.tex").write_text("do not remove")
    with pytest.raises(FileExistsError, match=r"holds thesis.tex, which is not a shard"):
        embed(file=own, force=True)


def test_a_second_run_is_told_who_is_there(embed, tmp_path, monkeypatch):
    seen = []

    def written(*arguments):
        with pytest.raises(FolderInUseError, match=f"in use by another run, process {os.getpid()}"):
            embed(resume=True)
        seen.append(1)
        return original(*arguments)

    original = shards._written
    monkeypatch.setattr(shards, "_written", written)
    embed(shard_size=100)
    assert seen == [1]


def test_a_full_disk_stops_the_run_and_keeps_what_is_finished(embed, expected, tmp_path, monkeypatch):
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    made, original = [], shards.append_parquet

    def writer(*arguments):
        made.append(1)
        if len(made) > 3:
            resource.setrlimit(resource.RLIMIT_FSIZE, (500, before[1]))
        return original(*arguments)

    monkeypatch.setattr(shards, "append_parquet", writer)
    try:
        with pytest.raises(DiskFullError, match=r"shard-000003.*File too large.*up to 500 bytes.*--resume"):
            embed()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        monkeypatch.undo()
    with pytest.raises(FileExistsError, match="holds 3 finished shards of an interrupted run: resume it"):
        embed()
    with pytest.raises(GraphError, match="is unfinished: resume the run"):
        read_vectors(tmp_path / VECTORS)
    assert embed(resume=True).computed == list(range(3, 10))
    assert sums(tmp_path / VECTORS) == expected


def test_a_poisoned_shard_is_set_aside_after_three_tries(embed, poison, expected, monkeypatch, tmp_path):
    from scale.poison import sitecustomize

    sys.meta_path.remove(sitecustomize.HOOK)  # it is for other processes
    monkeypatch.setattr(shards, "_written", sitecustomize.poisoned(shards._written))
    poison({"3": "what a shard"})
    report = embed()
    assert report.n_graphs == 90
    (aside,) = report.set_aside
    assert (aside["shard"], aside["reason"]) == (3, "RuntimeError: what a shard")
    assert aside["from"][0]["first"] == 30
    assert poison() == {number: 3 if number == 3 else 1 for number in range(10)}
    with pytest.warns(GrnfWarning, match=r"lacks 1 shards that were set aside\. Shard 3: RuntimeError: what"):
        assert len(read_vectors(tmp_path / VECTORS).ids) == 90
    poison({})
    assert embed(resume=True).computed == [3]
    assert sums(tmp_path / VECTORS) == expected


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["processes", "dask"])
def test_a_shard_that_kills_is_set_aside_and_the_rest_goes_on(engine, embed, poison, request):
    poison({"2": "what a shard", "5": "kill"})
    workers = {"n_jobs": 2} if engine == "processes" else {"dask": request.getfixturevalue("client")}
    report = embed(**workers)
    failing, killing = report.set_aside
    assert (failing["shard"], failing["reason"]) == (2, "RuntimeError: what a shard")
    assert killing["shard"] == 5
    assert "died" in killing["reason"]
    assert (poison()[2], poison()[5]) == (3, 3)
    assert report.n_graphs == 80


@pytest.mark.slow
def test_a_worker_that_is_killed_from_outside_loses_nothing(embed, expected, client, tmp_path):
    victims = list(client.run(os.getpid).values())

    def kill(*_):
        if len(victims) == 2:
            os.kill(victims.pop(), signal.SIGKILL)

    report = embed(dask=client, advance=kill)
    assert len(victims) == 1
    assert report.set_aside == []
    assert sums(tmp_path / VECTORS) == expected


@pytest.mark.slow
@pytest.mark.parametrize("signal", ["SIGINT", "SIGKILL"])
def test_stopped_between_a_shard_and_its_record(embed, expected, source, tmp_path, signal):
    stop = f"""
import os, signal
from grnf.scale import shards
def stop(*_):
    os.kill(os.getpid(), signal.{signal})
shards.atomic_write = stop
"""
    driver = (stop + DRIVER).replace('"n_jobs": 2', '"n_jobs": 1')
    subprocess.run([sys.executable, "-c", driver, str(source), str(tmp_path / VECTORS)], capture_output=True)
    assert (tmp_path / VECTORS / "shard-000000.parquet").exists()
    assert embed(resume=True).computed == list(range(10))
    assert sums(tmp_path / VECTORS) == expected


DRIVER = """
import sys
from grnf import GRNF, scale
options = {"shard_size": 10, "block_size": 4, "n_jobs": 2, "resume": True}
scale.embed(sys.argv[1], sys.argv[2], GRNF(8, random_state=0), **options)
"""


@pytest.mark.slow
def test_a_killed_driver_goes_on_where_it_was(embed, expected, source, tmp_path):
    """The long version, with a scheduler too, is experiments/kills.py."""
    folder = tmp_path / VECTORS
    process = subprocess.Popen([sys.executable, "-c", DRIVER, str(source), str(folder)])
    end = time.monotonic() + 60
    while len(list(folder.glob("_work/[0-9]*.json"))) < 2 and time.monotonic() < end:
        time.sleep(0.001)
    process.kill()
    process.wait()
    finished = {path.name: path.stat().st_ino for path in folder.glob("shard-*.parquet")}
    recorded = {f"shard-{path.stem}.parquet" for path in folder.glob("_work/[0-9]*.json")}
    assert recorded
    report = embed(resume=True)
    assert len(report.computed) <= 10 - len(recorded)
    for name in recorded:
        assert (folder / name).stat().st_ino == finished[name]
    assert sums(folder) == expected


@pytest.mark.slow
def test_a_worker_of_another_version_is_refused(embed, expected, client, tmp_path):
    notes = []
    bad = next(iter(client.scheduler_info(n_workers=-1)["workers"]))

    def set_version(version):
        import grnf.scale.shards

        before, grnf.scale.shards.__version__ = grnf.scale.shards.__version__, version
        return before

    before = client.run(set_version, "0.0.1", workers=[bad])[bad]
    try:
        assert embed(dask=client, note=notes.append).set_aside == []
        assert notes == [
            f"worker {bad} is refused: grnf is 0.0.1 here, and the run has {before}: install the same"
        ]
        assert sums(tmp_path / VECTORS) == expected
        client.run(set_version, "0.0.1")
        with pytest.raises(OSError, match=r"no worker that can be used: grnf is 0.0.1 here"):
            embed("other", dask=client)
    finally:
        client.run(set_version, before)


def test_no_scheduler_answers(embed, monkeypatch):
    require("distributed")
    monkeypatch.setattr("grnf.scale.workers.CONNECT_TIMEOUT", 0.2)
    with pytest.raises(OSError, match=r"no Dask scheduler answers at tcp://127.0.0.1:1\b"):
        embed(dask="tcp://127.0.0.1:1")


def test_bad_graphs_fail_their_shard_or_are_told(embed, own):
    lines = own.read_text().splitlines()
    lines[25] = "no graph6 at all"
    own.write_text("\n".join(lines) + "\n")
    report = embed(file=own)
    assert [aside["shard"] for aside in report.set_aside] == [2]
    assert "line 26" in report.set_aside[0]["reason"]
    report = embed("skipped", own, on_error="skip")
    assert (report.n_graphs, [bad["graph_id"] for bad in report.bad]) == (99, ["25"])
    report = embed("nan", own, on_error="nan")
    assert (report.n_graphs, len(report.bad)) == (100, 1)
    assert np.isnan(read_vectors(report.output).Z[25]).all()


def test_tables_of_smiles_with_names_targets_and_columns(tmp_path):
    require("rdkit")
    rows = [f"{'C' * (1 + place % 5)}O,m{place},{place / 2},{place}" for place in range(20)]
    (tmp_path / "a.csv").write_text("\n".join(["Drug,graph_id,y,batch", *rows]) + "\n")
    options = {"format": "smiles", "options": {"keep": ["batch"], "column": "Drug"}}
    report = scale.embed(tmp_path / "a.csv", tmp_path / "v", GRNF(4), **options, shard_size=7)
    table = pq.read_table(sorted(report.output.glob("shard-*.parquet"))[1])
    assert table.schema.names == ["graph_id", "y", "smiles", "batch", "embedding"]
    assert table.column("graph_id").to_pylist()[0] == "m7"
    assert (table.column("y")[0].as_py(), table.column("smiles")[0].as_py()) == (3.5, "CCCO")
    (tmp_path / "a.csv").write_text("\n".join(["Drug,graph_id,y,batch", *rows, "CO,late,high,x"]) + "\n")
    report = scale.embed(tmp_path / "a.csv", tmp_path / "w", GRNF(4), **options, shard_size=10, block_size=10)
    assert report.set_aside[0]["reason"] == (
        "graph late: y is 'high', but the first graphs have numbers there. Make it one kind"
    )


def test_pipes_and_empty_inputs_are_refused(tmp_path):
    with pytest.raises(GraphError, match="can be read only once"):
        scale.embed("-", tmp_path / "v")
    with pytest.raises(GraphError, match="no file matches"):
        scale.embed(tmp_path / "*.g6", tmp_path / "v")
    Path(tmp_path / "none.g6").touch()
    with pytest.raises(GraphError, match="no graph"):
        scale.embed(tmp_path / "none.g6", tmp_path / "v")
    assert not (tmp_path / "v").exists()


@pytest.mark.slow
def test_cross_validation_on_a_cluster(client):
    graphs, y = make_sbm(40, random_state=0)
    model = make_pipeline(GRNF(32, random_state=0), LogisticRegression())
    here = cross_val_score(model, graphs, y, cv=3)
    with client.as_current(), parallel_config("dask"):
        there = cross_val_score(model, graphs, y, cv=3)
        processes = cross_val_score(model, graphs, y, cv=3, scoring=lambda *_: os.getpid())
        Z = GRNF(16, random_state=0).fit_transform(graphs)
    np.testing.assert_array_equal(here, there)
    assert os.getpid() not in processes
    np.testing.assert_array_equal(Z, GRNF(16, random_state=0).fit_transform(graphs))
