"""The work on one shard, whoever does it: this process, another one, or a worker of a cluster."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from grnf import estimators
from grnf._utils.files import Summed, atomic_write
from grnf.errors import DiskFullError, GraphError
from grnf.estimators import embed_stream
from grnf.io.raw import BadGraph
from grnf.io.vectors.arrow import check_kind, parquet_writer, schema_of_vectors, table_of_vectors
from grnf.io.vectors.blocks import VectorBlock
from grnf.scale.folder import PLAN, WORK, begun_file, failed_file, record_file, sealed, unsealed
from grnf.scale.plan import Plan, Shard, read_shard, versions

__all__ = ["Job", "Outcome", "compute", "refusal", "transformer_of"]


@dataclass(frozen=True)
class Job:
    """A shard to be computed.

    Parameters
    ----------
    folder : str
        Where the plan is and the shard goes; every machine must see it by this name.
    plan : str
        Checksum of the plan.
    number : int
        Of the shard.
    driver : int, optional
        The process that wants it, if that is the parent of those that work.
    """

    folder: str
    plan: str
    number: int
    driver: int | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of a job.

    Parameters
    ----------
    number : int
        Of the shard.
    record : dict, optional
        That of a finished shard; None if it failed.
    reason : str, optional
        Why it failed.
    fate : "finished", "failed", "died", "killed", "stopped" or "refused"
        "died": the process did; "killed": several processes did, and it is not to be tried again; "stopped":
        nothing is wrong with the shard, but the run cannot go on, as on a full disk; "refused": this worker
        may not compute it.
    """

    number: int
    record: dict[str, Any] | None = None
    reason: str | None = None
    fate: str = "finished"


class OrphanError(Exception):
    """The process that wanted the work is gone."""


def compute(job: Job) -> Outcome:
    """Compute a shard and write it; what goes wrong is in the outcome, not raised."""
    folder = Path(job.folder)
    begun = begun_file(folder, job.number)
    try:
        plan = _plan(job.folder, job.plan)
        different = refusal(plan.run["versions"])
        if different is not None:
            return Outcome(job.number, reason=different, fate="refused")
        begun.write_text(f"{socket.gethostname()} {os.getpid()}\n", encoding="utf-8")
        record = _written(plan, plan.shards[job.number], folder, job.driver)
    except DiskFullError as error:
        begun.unlink(missing_ok=True)
        return Outcome(job.number, reason=str(error), fate="stopped")
    except OrphanError:
        raise SystemExit(1) from None
    except Exception as error:
        what = "" if isinstance(error, GraphError) else f"{type(error).__name__}: "
        with suppress(OSError):
            failed_file(folder, job.number).write_text(sealed(f"{what}{error}"), encoding="utf-8")
        begun.unlink(missing_ok=True)
        return Outcome(job.number, reason=f"{what}{error}", fate="failed")
    begun.unlink(missing_ok=True)
    return Outcome(job.number, record)


def refusal(wanted: dict[str, str | None]) -> str | None:
    """Say why this process may not compute shards of a run: another version of what makes the bytes.

    Examples
    --------
    >>> refusal({**versions(), "grnf": "0.0.1"})
    'grnf is 0.1.0 here, and the run has 0.0.1: install the same'
    >>> refusal(versions()) is None
    True
    """
    here = versions()
    for name, version in wanted.items():
        if here.get(name) != version:
            return f"{name} is {here.get(name)} here, and the run has {version}: install the same"
    return None


@lru_cache(maxsize=4)
def _plan(folder: str, checksum: str) -> Plan:
    path = Path(folder) / WORK / PLAN
    text = unsealed(path)
    if text is None:
        raise OSError(f"{path} is absent or damaged: does this machine see the folder of the run?")
    if hashlib.sha256(text.encode()).hexdigest() != checksum:
        raise OSError(f"{path} is of another run")
    return Plan.from_text(text)


@lru_cache(maxsize=4)
def transformer_of(text: str, kind: str) -> Any:
    """Return the fitted transformer, made once in each process."""
    return getattr(estimators, kind).from_json(text)


def _written(plan: Plan, shard: Shard, folder: Path, driver: int | None) -> dict[str, Any]:
    """Write the vectors of a shard, then the record that they are there."""
    bad: list[dict[str, Any]] = []
    n_rows = 0
    transformer = transformer_of(plan.transformer, plan.run["transformer"])
    schema = schema_of_vectors(plan.kinds, transformer.n_components_, np.dtype(transformer.dtype))
    needed = (shard.n_graphs or 0) * transformer.n_components_ * np.dtype(transformer.dtype).itemsize
    with atomic_write(folder / shard.file, "wb", needed) as file:
        summed = Summed(file)
        with parquet_writer(summed, schema) as writer:
            for block, failed in _blocks(plan, shard, transformer):
                if driver is not None and os.getppid() != driver:
                    raise OrphanError
                for name, kind in plan.kinds.items():
                    check_kind(block.ids, name, block.y if name == "y" else block.columns.get(name, ()), kind)
                writer.write_table(table_of_vectors(block, schema, plan.kinds))
                bad += [{"graph_id": each.graph_id, "reason": each.reason} for each in failed]
                n_rows += len(block.ids)
    record = {
        "shard": shard.number,
        "file": shard.file,
        "rows": n_rows,
        "bytes": summed.size,
        "sha256": summed.sha256(),
        "from": shard.described(),
        "bad": bad,
    }
    with atomic_write(record_file(folder, shard.number)) as file:
        file.write(sealed(record))
    return record


def _blocks(plan: Plan, shard: Shard, transformer: Any) -> Iterator[tuple[VectorBlock, list[BadGraph]]]:
    run = plan.run
    policy = run["on_error"]
    read = read_shard(shard, run["options"], run["block_size"], yield_bad=policy != "raise")
    for block, bad in embed_stream(transformer, read, on_error=policy):
        own = {name: values for name, values in block.columns.items() if name in plan.kinds}
        yield replace(block, columns=own), bad
