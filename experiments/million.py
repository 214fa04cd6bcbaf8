"""1,584,663 molecules to vectors in Parquet on two cores, compared with Morgan fingerprints."""

import csv
import gzip
import io
import os
import resource
import tempfile
import time
import zipfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from experiments.study import Table
from grnf import GRNF
from grnf._utils.files import atomic_write

TITLE = "A million molecules: vectors and Morgan fingerprints in Parquet"
ABOUT = (
    "The training set inside the PyPI package molsets 0.3.1 (`pip download molsets==0.3.1 --no-deps` into "
    "the folder of datasets), a CSV of SMILES. Two processes each make (a) 512 features of GRNF and (b) "
    "RDKit's Morgan fingerprints (radius 2, 2048 bits, packed in 256 bytes), shards of 32,768 molecules in "
    "Parquet. The two take turns, two shards of the one and then the same two of the other, so that other "
    "load on the machine disturbs both. Peak memory is the largest resident size of each process."
)
PLACES = ("million", "plan")

WHEEL = "molsets-0.3.1-py3-none-any.whl"
MEMBER = "moses/dataset/data/train.csv.gz"
SHARD = 32_768
BLOCK = 1024
M = 512
BITS = 2048


def write_table(wheel: Path, target: Path, limit: int | None) -> int:
    """Unpack the SMILES of the wheel into a CSV; return how many there are."""
    count = 0
    with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as member, gzip.open(member) as data:
        rows = csv.reader(io.TextIOWrapper(data, encoding="utf-8"))
        column = next(rows).index("SMILES")
        with target.open("w", encoding="utf-8") as file:
            file.write("smiles\n")
            for row in rows:
                if limit is not None and count == limit:
                    break
                file.write(row[column] + "\n")
                count += 1
    return count


def peak() -> float:
    """The largest resident size of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def grnf_shard(job) -> tuple[float, float, int]:
    """One shard of vectors, by the very function that all engines call."""
    from grnf.scale.shards import compute

    start, cpu = time.perf_counter(), time.process_time()
    outcome = compute(job)
    if outcome.record is None:
        raise RuntimeError(outcome.reason)
    return time.perf_counter() - start, time.process_time() - cpu, os.getpid()


def morgan_shard(job) -> tuple[float, float, int]:
    """The same molecules as fingerprints: the same ranges, blocks and writer."""
    import pyarrow as pa
    from pyarrow import parquet
    from rdkit import Chem, DataStructs
    from rdkit.Chem import rdFingerprintGenerator

    from grnf.io.files.ranges import RangeFile
    from grnf.io.files.tables import table_of

    shard, target = job
    start, cpu = time.perf_counter(), time.process_time()
    made = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=BITS)
    schema = pa.schema(
        [("graph_id", pa.string()), ("smiles", pa.string()), ("fingerprint", pa.binary(BITS // 8))]
    )
    (wanted,) = shard.ranges
    blocks = table_of(RangeFile(wanted)).blocks(["smiles"])
    with atomic_write(target, "wb") as file, parquet.ParquetWriter(file, schema) as writer:
        place = wanted.first
        for some in (rows.columns["smiles"] for rows in blocks):
            bits = [
                DataStructs.BitVectToBinaryText(made.GetFingerprint(Chem.MolFromSmiles(text)))
                for text in some
            ]
            ids = [str(place + number) for number in range(len(some))]
            arrays = [pa.array(ids), pa.array(some), pa.array(bits, pa.binary(BITS // 8))]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            place += len(some)
    return time.perf_counter() - start, time.process_time() - cpu, os.getpid()


class Pool:
    """One process after the other of a kind: two of them, each known by itself."""

    def __init__(self, n: int) -> None:
        self.each = [ProcessPoolExecutor(1, mp_context=get_context("spawn")) for _ in range(n)]

    def run(self, work, jobs) -> tuple[float, float]:
        """Do as many jobs as there are processes; return seconds of the clock and of processors."""
        start = time.perf_counter()
        futures = [pool.submit(work, job) for pool, job in zip(self.each, jobs, strict=False)]
        seconds = [future.result() for future in futures]
        return time.perf_counter() - start, sum(cpu for _, cpu, _ in seconds)

    def peaks(self) -> list[float]:
        return [round(pool.submit(peak).result(), 1) for pool in self.each]

    def close(self) -> None:
        for pool in self.each:
            pool.shutdown()


def planned(table: Path, folder: Path):
    """The plan of `grnf.scale.embed`, written down, and the jobs of its shards."""
    from grnf.scale.driver import Run
    from grnf.scale.run_inputs import RunInputs
    from grnf.scale.shards import Job

    run = Run(RunInputs(table), folder, GRNF(M, random_state=0), block_size=BLOCK)
    writer, plan = run.planned(SHARD)
    return writer, plan, [Job(str(writer.output), plan.checksum, shard.number) for shard in plan.shards]


def measure(table: Path, home: Path, n_processes: int) -> dict[str, object]:
    start = time.perf_counter()
    writer, plan, jobs = planned(table, home / "vectors")
    planning = time.perf_counter() - start
    (home / "fingerprints").mkdir()
    others = [(shard, home / "fingerprints" / f"shard-{shard.number:06d}.parquet") for shard in plan.shards]
    pools = {"grnf": Pool(n_processes), "morgan": Pool(n_processes)}
    clock, processor = dict.fromkeys(pools, 0.0), dict.fromkeys(pools, 0.0)
    loads = []
    warm = [(others[0][0], home / f"warm-{number}.parquet") for number in range(n_processes)]
    pools["morgan"].run(morgan_shard, warm)  # imports
    pools["grnf"].run(grnf_shard, (jobs * n_processes)[:n_processes])  # and the kernels from their cache
    for turn, first in enumerate(range(0, len(jobs), n_processes)):
        some = slice(first, first + n_processes)
        work = [("grnf", grnf_shard, jobs[some]), ("morgan", morgan_shard, others[some])]
        for name, function, mine in work if turn % 2 else work[::-1]:
            seconds, cpu = pools[name].run(function, mine)
            clock[name] += seconds
            processor[name] += cpu
        loads.append(os.getloadavg()[0])
    peaks = {name: pool.peaks() for name, pool in pools.items()}
    for pool in pools.values():
        pool.close()
    n_graphs = plan.n_graphs
    writer.close()
    sizes = {
        "grnf": sum(path.stat().st_size for path in (home / "vectors").glob("*.parquet")),
        "morgan": sum(path.stat().st_size for path in (home / "fingerprints").glob("*.parquet")),
    }
    return {
        "molecules": n_graphs,
        "shards": len(jobs),
        "seconds_of_planning": round(planning, 2),
        **{
            name: {
                "seconds": round(clock[name], 1),
                "graphs_per_second": round(n_graphs / clock[name]),
                "processor_seconds": round(processor[name], 1),
                "microseconds_of_processor_per_graph": round(1e6 * processor[name] / n_graphs, 1),
                "peak_memory_of_each_process_mb": peaks[name],
                "bytes": sizes[name],
            }
            for name in pools
        },
        "times_morgan": round(clock["grnf"] / clock["morgan"], 2),
        "times_morgan_in_processor_time": round(processor["grnf"] / processor["morgan"], 2),
        "load_average": {"least": min(loads), "mean": round(sum(loads) / len(loads), 2), "most": max(loads)},
        "peak_memory_of_the_driver_mb": round(peak(), 1),
    }


def plan(results: dict, graphs: float = 1e9) -> dict[str, float]:
    """What so many graphs take, from the measured figures of one molecule."""
    made = results["grnf"]
    seconds = made["processor_seconds"] / results["molecules"]
    size = made["bytes"] / results["molecules"]
    shard_seconds = SHARD * seconds
    core_hours = graphs * seconds / 3600
    return {
        "core microseconds per graph": round(1e6 * seconds, 1),
        "bytes per graph": round(size),
        "core hours": round(core_hours, 1),
        "hours on 64 cores": round(core_hours / 64, 2),
        "hours on 1,000 cores": round(core_hours / 1000, 3),
        "shards": -int(-graphs // SHARD),
        "core seconds per shard": round(shard_seconds, 1),
        "MB per shard": round(SHARD * size / 1e6, 1),
        "TB in all, float32": round(graphs * size / 1e12, 2),
        "MB/s written by 64 cores": round(64 * size / seconds / 1e6),
        "core hours lost if each core fails once per day": round(
            core_hours / 24 * shard_seconds / 2 / 3600, 3
        ),
        "core hours of the same for Morgan fingerprints": round(
            graphs * results["morgan"]["processor_seconds"] / results["molecules"] / 3600, 1
        ),
    }


def tables(results):
    """The figures of the run, and what they mean for 10^9 graphs."""
    both = [results["grnf"], results["morgan"]]
    rows = {
        "seconds": [f"{each['seconds']:,}" for each in both],
        "graphs per second": [f"{each['graphs_per_second']:,}" for each in both],
        "CPU seconds": [f"{each['processor_seconds']:,}" for each in both],
        "CPU microseconds per molecule": [
            f"{each['microseconds_of_processor_per_graph']:,}" for each in both
        ],
        "peak memory of each process, MB": [
            " and ".join(map(str, each["peak_memory_of_each_process_mb"])) for each in both
        ],
        "MB written": [f"{each['bytes'] / 1e6:,.0f}" for each in both],
    }
    load = results["load_average"]
    note = (
        f"That is {results['times_morgan']} times the time of Morgan fingerprints by the clock, and "
        f"{results['times_morgan_in_processor_time']} times in CPU time, on 2 cores. The load "
        f"average, 2 for these processes alone, lay between {load['least']:.1f} and {load['most']:.1f}, "
        f"{load['mean']:.1f} on average. Planning took {results['seconds_of_planning']} s."
    )
    header = [f"{results['molecules']:,} molecules", "GRNF, 512 features", "Morgan, 2048 bits"]
    planned = [[name, f"{value:,}"] for name, value in plan(results).items()]
    return [
        Table("", header, [[name, *pair] for name, pair in rows.items()], note),
        Table("", ["for 10^9 graphs", "value"], planned),
    ]


def settings(study):
    limit = 3000 if study.quick else None
    return {"m": M, "bits": BITS, "shard": SHARD, "block": BLOCK, "processes": 2, "molecules": limit}


def run(study):
    sizes = settings(study)
    with tempfile.TemporaryDirectory(prefix="grnf-million-", dir=study.output) as home:
        table = Path(home) / "train.csv"
        write_table(study.path(WHEEL), table, sizes["molecules"])
        return measure(table, Path(home), sizes["processes"])
