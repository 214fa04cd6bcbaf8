"""Kernels compile wherever the package is installed."""

import pytest

from grnf._utils import jit


def double(x):
    return 2 * x


@pytest.mark.parametrize("others", [["cache"], []])
def test_the_cache_goes_to_the_first_folder_that_can_be_written_if_any(monkeypatch, tmp_path, others):
    (tmp_path / "file").touch()  # no folder can be made below a file, even by root
    folders = [tmp_path / name for name in ("file/x", *others)]
    monkeypatch.setattr(jit, "_cache_parents", lambda _: iter(folders))
    jit._cache_folder.cache_clear()
    assert jit.compiled(double)(21) == 42
    for name in others:
        (folder,) = (tmp_path / name).iterdir()
        assert folder.name.startswith("_utils-")  # with a hash of the sources: an upgrade compiles anew
        assert any(path.is_file() for path in folder.rglob("*"))
    jit._cache_folder.cache_clear()
