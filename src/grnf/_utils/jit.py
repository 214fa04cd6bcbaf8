"""Compilation of kernels by numba: all settings in one place.

Compiled code is cached on disk. The cache of numba looks at the file of a kernel alone, so it would serve old
code when a kernel in another file changes that was compiled into it. Therefore the cache folder is named by a
hash of all sources in the folder of the kernel, and a kernel may call kernels of its own package only.
"""

from __future__ import annotations

import gc
import hashlib
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numba
from numba.core import event

P = ParamSpec("P")
R = TypeVar("R")

logger = logging.getLogger("grnf")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel: cached on disk, free of the interpreter lock, multiply and add fused.

    Sums are not reassociated: the same call gives the same bits.
    """
    return _compiled(function)


def exact(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel in which no multiplication and addition are fused: the same bits on every machine.

    The kernel may use +, -, *, /, `np.sqrt` and integers, which IEEE 754 defines to the last bit. It may not
    use logarithms and the like, which differ between libraries.
    """
    return _compiled(function, fastmath=False)


def inner(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel that only other kernels call, without the wrapper for Python."""
    return _compiled(function, no_cpython_wrapper=True)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Make a kernel part of its callers instead of compiling it by itself."""
    return _compiled(function, no_cpython_wrapper=True, inline="always")


def _compiled(function: Callable[P, R], **more: Any) -> Callable[P, R]:
    options: dict[str, Any] = {"nogil": True, "fastmath": {"contract"}, "error_model": "numpy", **more}
    options["no_cfunc_wrapper"] = True  # nobody calls the kernels from C
    folder = _cache_folder(Path(function.__code__.co_filename).parent)
    config: Any = numba.config  # its fields are not declared
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder or "")
    try:
        kernel: Callable[P, R] = numba.njit(cache=folder is not None, **options)(function)
    finally:
        config.CACHE_DIR = before
    return kernel


@cache
def _cache_folder(sources: Path) -> Path | None:
    """Return the first writable folder for the compiled kernels of a package, or None without any."""
    name = f"{sources.name}-{_sources_hash(sources)}"
    for parent in _cache_parents(sources):
        folder = parent / name
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
    return None


def _cache_parents(sources: Path) -> Iterator[Path]:
    """Yield folders for compiled kernels: as configured for numba, in the package, at home, private."""
    configured = numba.config.CACHE_DIR  # type: ignore[attr-defined, unused-ignore]
    if configured:
        yield Path(configured)
    yield sources / "__pycache__"
    with suppress(RuntimeError):  # there may be no home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "grnf"
    private = Path(tempfile.gettempdir()) / f"grnf-{getattr(os, 'getuid', lambda: 'cache')()}"
    with suppress(OSError):
        private.mkdir(mode=0o700, exist_ok=True)
        # compiled code from a folder that others can write would be theirs to choose
        if sys.platform == "win32" or (
            private.stat().st_uid == os.getuid() and private.stat().st_mode & 0o022 == 0
        ):
            yield private


@cache
def _sources_hash(folder: Path) -> str:
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path in sorted(folder.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class _Compiling(event.Listener):
    """Suspends garbage collection during compilation, of which it would take an eighth of the time.

    A kernel compiles others on its way. numba lets one thread at a time compile.
    """

    depth = 0
    collects = False

    def on_start(self, event: Any) -> None:  # noqa: ARG002 their signature
        if self.depth == 0:
            self.collects = gc.isenabled()
            gc.disable()
        self.depth += 1

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        self.depth -= 1
        if self.depth == 0 and self.collects:
            if gc.get_freeze_count() == 0:  # else a caller has frozen objects
                gc.freeze()  # all that compilation made counts as old, so that
                gc.unfreeze()  # the next collection does not go through it
            gc.enable()


TOPICS = {
    "_utils.random": "random numbers",
    "engine.statistics": "statistics of nodes and edges",
    "engine.pair_sums": "features of orders 1 and 2",
    "engine.tuple_types": "features of orders 3 and above",
    "engine.type_sums": "features of orders 3 and above",
    "engine.tuple_sums": "features of orders 3 and above",
    "estimators": "WL labels",
    "lifts": "random walks",
    "search": "nearest neighbors",
    "stats": "p-values",
    "symmetry": "isomorphism tests",
}
"""What the kernels of a module or a package are for."""


class _Announcer(event.Listener):
    """Announces each topic that is compiled. Kernels that are read from the cache raise no such event."""

    def __init__(self) -> None:
        self.announced: set[str] = set()

    def on_start(self, event: Any) -> None:
        kernel = event.data["dispatcher"].py_func
        module = str(kernel.__module__).removeprefix("grnf.")
        topic = TOPICS.get(module) or TOPICS.get(module.partition(".")[0])
        if topic and "gradient" in kernel.__name__:
            topic = f"gradients of {topic}"
        if topic is None or topic in self.announced:
            return
        self.announced.add(topic)
        message = f"compiling (first run only): {topic}"
        logger.info(message)
        if not logger.hasHandlers():  # a handler has shown it
            sys.stderr.write(f"grnf: {message}\n")

    def on_end(self, event: Any) -> None:
        pass


for listener in (_Announcer(), _Compiling()):
    event.register("numba:compile", listener)  # type: ignore[no-untyped-call]
