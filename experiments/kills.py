"""SIGKILL of workers, scheduler and driver at random moments: only unfinished shards are computed again."""

import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from experiments.study import Table
from grnf import GRNF, scale
from grnf.datasets import make_sbm
from grnf.io import write_graphs

TITLE = "Killed processes: nothing is lost"
ABOUT = (
    "A Dask scheduler, two workers and `grnf embed ... --dask ADDRESS --resume` run as separate processes. "
    "At a random moment (some during start, most after one to three more shards) one of them is killed and "
    "started again, twenty times; if a run ends before, the next begins with an empty folder. Each shard "
    "must stay the file that it was when its record appeared, and each folder must have the bytes of an "
    "undisturbed run."
)

SETTINGS = {"m": 256, "shard_size": 500, "block_size": 250}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def write_inputs(folder: Path, n_graphs: int) -> Path:
    graphs, _ = make_sbm(max(n_graphs // 20, 1), random_state=0)
    write_graphs(folder / "graphs.g6", [graph for _ in range(20) for graph in graphs][:n_graphs], lossy=True)
    return folder / "graphs.g6"


def identities(folder: Path) -> dict[str, tuple[int, int]]:
    """The shards that have a record, each with what tells its file from any other of that name."""
    found = {}
    for record in sorted((folder / "_work").glob("[0-9]*.json")):
        shard = folder / f"shard-{record.stem}.parquet"
        try:
            status = shard.stat()
            found[shard.name] = (status.st_ino, status.st_mtime_ns)
        except FileNotFoundError:  # the run is being finished
            continue
    return found


class Cluster:
    """A scheduler and two workers, each of which can be killed and started again."""

    def __init__(self, log: Path) -> None:
        self.port, self.log = free_port(), log.open("w")
        self.processes: dict[str, subprocess.Popen] = {}
        for name in ("scheduler", "worker 0", "worker 1"):
            self.start(name)

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start(self, name: str) -> None:
        kind, more = "dask_worker", [self.address, "--nthreads", "1", "--no-nanny", "--memory-limit", "0"]
        if name == "scheduler":
            kind, more = "dask_scheduler", ["--host", "127.0.0.1", "--port", str(self.port)]
        command = [sys.executable, "-m", f"distributed.cli.{kind}", *more, "--no-dashboard"]
        environment = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "100"}
        self.processes[name] = subprocess.Popen(
            command, stdout=self.log, stderr=subprocess.STDOUT, env=environment
        )

    def kill(self, name: str) -> None:
        self.processes[name].send_signal(signal.SIGKILL)
        self.processes[name].wait()
        self.mend()

    def mend(self) -> None:
        """Start what has ended: workers may go when their scheduler does."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                self.start(name)

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.log.close()


class Driver:
    """`grnf embed` in a process of its own."""

    def __init__(self, source: Path, output: Path, address: str, log: Path) -> None:
        self.source, self.output, self.address, self.log = source, output, address, log.open("w")
        self.process = self.start()

    def start(self) -> subprocess.Popen:
        command = [sys.executable, "-m", "grnf", "embed", self.source, "-o", self.output, "--resume"]
        command += ["-m", SETTINGS["m"], "--shard-size", SETTINGS["shard_size"]]
        command += ["--block-size", SETTINGS["block_size"], "--dask", self.address]
        self.process = subprocess.Popen(list(map(str, command)), stdout=self.log, stderr=subprocess.STDOUT)
        return self.process


def torment(home: Path, kills: int, n_graphs: int, seed: int, longest: float) -> dict[str, object]:
    """Kill `kills` times and return what happened; an AssertionError if a promise is broken."""
    source = write_inputs(home, n_graphs)
    reference = home / "reference"
    start = time.perf_counter()
    sizes = {"shard_size": SETTINGS["shard_size"], "block_size": SETTINGS["block_size"]}
    scale.embed(source, reference, GRNF(SETTINGS["m"], random_state=0), **sizes)
    undisturbed = time.perf_counter() - start
    expected = {path.name: path.read_bytes() for path in sorted(reference.iterdir())}
    chance = random.Random(seed)
    cluster = Cluster(home / "cluster.log")
    events, run, begun = [], 0, time.perf_counter()
    try:
        driver = Driver(source, home / "run-0", cluster.address, home / "driver.log")
        seen: dict[str, tuple[int, int]] = {}
        while len(events) < kills or driver.process.poll() is None:
            if len(events) < kills:
                victim = chance.choice(["worker 0", "worker 1", "scheduler", "driver"])
                more = len(seen) + chance.choice([0, 1, 2, 3])  # 0: whatever it is doing
                wait_until(time.perf_counter() + chance.uniform(0.0, longest), driver.process)
                wait_for_shards(driver, more)
                time.sleep(chance.uniform(0.0, 0.5))
                seen = checked(seen, driver.output)
                if driver.process.poll() is None:
                    if victim == "driver":
                        driver.process.kill()
                        driver.process.wait()
                    else:
                        cluster.kill(victim)
                    events.append({"killed": victim, "run": run, "finished_by_then": len(seen)})
            else:
                wait_until(time.perf_counter() + 120, driver.process)
            cluster.mend()
            if driver.process.poll() == 0:
                check_folder(driver.output, seen, expected)
                if len(events) < kills:
                    run, seen = run + 1, {}
                    driver = Driver(source, home / f"run-{run}", cluster.address, home / "driver.log")
            elif driver.process.poll() is not None:
                driver.start()
        check_folder(driver.output, seen, expected)
    finally:
        cluster.close()
        if driver.process.poll() is None:
            driver.process.kill()
            driver.process.wait()
    return {
        "kills": len(events),
        "runs": run + 1,
        "shards": len(expected) - 1,
        "graphs": n_graphs,
        "seconds": round(time.perf_counter() - begun, 1),
        "seconds_undisturbed_in_one_process": round(undisturbed, 1),
        "lost": 0,
        "finished_shards_repeated": 0,
        "events": events,
    }


def wait_until(end: float, process: subprocess.Popen) -> None:
    while time.perf_counter() < end and process.poll() is None:
        time.sleep(0.02)


def wait_for_shards(driver: Driver, count: int) -> None:
    """Wait until so many shards are finished, as far as the run goes."""
    end = time.perf_counter() + 600
    while len(identities(driver.output)) < count and driver.process.poll() is None:
        if time.perf_counter() > end:
            raise AssertionError("no shard came for ten minutes")
        time.sleep(0.005)


def checked(seen: dict, output: Path) -> dict[str, object]:
    """Add the shards that are finished by now; those that were finished before must be the same files."""
    now = identities(output)
    again = {name for name in seen.keys() & now.keys() if seen[name] != now[name]}
    if again:
        raise AssertionError(f"finished shards were computed again: {sorted(again)}")
    return {**seen, **now}


def check_folder(output: Path, seen: dict, expected: dict[str, bytes]) -> None:
    """All shards are there, with the bytes of the undisturbed run; those seen finished are those files."""
    made = {path.name: path.read_bytes() for path in sorted(output.iterdir())}
    if made != expected:
        different = [name for name in {*made, *expected} if made.get(name) != expected.get(name)]
        raise AssertionError(f"{output} is not as the undisturbed run made it: {sorted(different)}")
    for name, (inode, moment) in seen.items():
        status = (output / name).stat()
        if (status.st_ino, status.st_mtime_ns) != (inode, moment):
            raise AssertionError(f"{name} was finished, and computed again")


def settings(study):
    kills, graphs, longest = (2, 2000, 6.0) if study.quick else (20, 40_000, 5.0)
    return {**SETTINGS, "kills": kills, "graphs": graphs, "longest_pause": longest}


def run(study):
    sizes = settings(study)
    with tempfile.TemporaryDirectory(prefix="grnf-kills-") as home:
        return torment(Path(home), sizes["kills"], sizes["graphs"], study.seed, sizes["longest_pause"])


def tables(results):
    rows = [[name.replace("_", " "), f"{value:,}"] for name, value in results.items() if name != "events"]
    return [Table("Killed processes", ["", "value"], rows)]
