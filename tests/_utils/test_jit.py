"""Kernels compile wherever the package is installed."""

from grnf._utils import jit


def double(x):
    return 2 * x


def test_the_cache_goes_to_the_first_folder_that_can_be_written(monkeypatch, tmp_path):
    (tmp_path / "file").touch()  # no folder can be made below a file, even by root
    monkeypatch.setattr(jit, "_cache_parents", lambda _: iter([tmp_path / "file" / "x", tmp_path / "cache"]))
    jit._cache_folder.cache_clear()
    assert jit.compiled(double)(21) == 42
    (folder,) = (tmp_path / "cache").iterdir()
    assert folder.name.startswith("_utils-")  # with a hash of the sources, so that an upgrade compiles anew
    assert any(path.is_file() for path in folder.rglob("*"))
    jit._cache_folder.cache_clear()


def test_without_any_folder_nothing_is_cached(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setattr(jit, "_cache_parents", lambda _: iter([tmp_path / "file" / "x"]))
    jit._cache_folder.cache_clear()
    assert jit.compiled(double)(21) == 42
    jit._cache_folder.cache_clear()
