"""One thread for small networks, studies at quick size, and what holds for every outcome."""

import json
from importlib.util import find_spec

import pytest
from experiments.runner import module_of, reproduce
from experiments.study import Study
from threadpoolctl import threadpool_limits

import tu_sets
from optional import require


@pytest.fixture(autouse=True)
def one_thread():
    """Small problems gain nothing from threads, which wait for each other if the machine is busy."""
    with threadpool_limits(1):
        if find_spec("torch") is None:
            yield
            return
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(1)
        yield
        torch.set_num_threads(before)


@pytest.fixture
def study(tmp_path):
    return Study(tmp_path, quick=True)


@pytest.fixture
def with_data(study, tmp_path, monkeypatch):
    """A study of small datasets in the shapes of the real ones."""
    study.data = tmp_path / "data"
    tu_sets.install(study.data, "ENZYMES", "IMDB-BINARY", put=monkeypatch.setitem)
    return study


@pytest.fixture
def stored():
    def stored(name, study):
        """Return stored results; the JSON is plain, and figure and tables need nothing else."""
        outcome = json.loads((study.output / f"{name}.json").read_text())
        assert outcome["experiment"] == name
        assert outcome["made_with"].startswith("grnf 1.")
        assert {"seed": 0, "quick": True}.items() <= outcome["settings"].items()
        module = module_of(name)
        for table in module.tables(outcome["results"]):
            assert table.rows
            assert {len(row) for row in table.rows} == {len(table.header)}
        if hasattr(module, "draw"):
            module.draw(outcome["results"])
            assert (study.output / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
            assert b"<svg" in (study.output / f"{name}.svg").read_bytes()
        return outcome["results"]

    return stored


@pytest.fixture
def checked(stored):
    def checked(name, study):
        """Run an experiment and return its results as they are stored."""
        require("matplotlib")
        outcome = reproduce(name, study)
        results = stored(name, study)
        assert results == json.loads(json.dumps(outcome["results"]))
        return results

    return checked
