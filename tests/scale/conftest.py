"""Small collections, processes that can be poisoned, and one Dask cluster for all tests that want one."""

import hashlib
import json
import os
import shutil
import time
import warnings
from pathlib import Path

import pytest
from joblib.externals.loky import get_reusable_executor

from grnf import GRNF, scale
from grnf.datasets import make_sbm
from grnf.io import write_graphs

collect_ignore = ["poison"]
POISON = str(Path(__file__).parent / "poison")


@pytest.fixture(scope="module", autouse=True)
def poisonable():
    """Let processes that are started from here read poison.json."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [POISON, before]))
    get_reusable_executor().shutdown(wait=True)  # those that are there already do not
    yield
    get_reusable_executor().shutdown(wait=True)
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


@pytest.fixture
def client(cluster):
    """A client of a cluster of two processes, both of which are there, whatever the test before did."""
    end = time.monotonic() + 60
    while len(cluster.scheduler_info(n_workers=-1)["workers"]) != 2 or len(cluster.run(os.getpid)) != 2:
        assert time.monotonic() < end, "workers did not come back"
        time.sleep(0.05)
    return cluster


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two processes."""
    pytest.importorskip("distributed", reason="needs Dask: the extra dask")
    from grnf.scale.workers import dask_client

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Dask's own imports
        with dask_client(True, 2) as client:
            yield client


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A file of 100 graphs: ten shards of ten."""
    path = tmp_path_factory.mktemp("source") / "graphs.g6"
    write_graphs(path, make_sbm(100, random_state=0)[0], lossy=True)
    return path


def embedded(source, folder, **options):
    """Embed a file into a folder."""
    options = {"shard_size": 10, "block_size": 4, **options}
    return scale.embed(source, folder, GRNF(8, random_state=0), **options)


@pytest.fixture
def embed(source, tmp_path):
    """Embed the file, or another one, into a folder."""
    return lambda name="vectors", file=source, **options: embedded(file, tmp_path / name, **options)


@pytest.fixture(scope="module")
def expected(source, tmp_path_factory):
    """What this process makes, undisturbed."""
    folder = tmp_path_factory.mktemp("expected") / "vectors"
    assert embedded(source, folder).n_shards == 10
    return sums(folder)


@pytest.fixture
def own(source, tmp_path):
    """A copy of the file that a test may change."""
    return shutil.copy(source, tmp_path / "graphs.g6")


@pytest.fixture
def poison(tmp_path):
    """Say what happens to shards; without arguments, return how often each was tried."""

    def poison(fates=None):
        if fates is not None:
            (tmp_path / "poison.json").write_text(json.dumps(fates))
            return None
        lines = (tmp_path / "tries").read_text().split()
        return {int(number): lines.count(number) for number in lines}

    return poison


def sums(folder):
    """The checksums of all files of a folder."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}
