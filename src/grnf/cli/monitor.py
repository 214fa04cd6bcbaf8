"""`grnf monitor`: a stream of graphs compared with a reference, and an alarm when it has changed."""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from grnf._utils.files import check_free
from grnf.cli.graph_input import LikeInput, Sample, check_format, unknown_transformer
from grnf.cli.options import DELTA, Destination, check_probability, require
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.stats import ChangeDetector
    from grnf.stats.change_detection import Update


@dataclass(frozen=True)
class MonitorJob(LikeInput, Destination, panel="Method"):
    """Options of `grnf monitor`."""

    output: Annotated[str, "-o", "JSON lines file to write, or - for standard output."] = "-"
    on_error: Annotated[
        Literal["raise", "skip"], "A graph that cannot be used. raise: stop. skip: report it and continue."
    ] = "skip"
    follow: Annotated[bool, "-f", "Wait for more at the end of a file.", {"rich_help_panel": "Input"}] = False
    block_size: Annotated[
        int, "Largest number of graphs read at a time.", {"min": 1, "rich_help_panel": "Input"}
    ] = 256
    alpha: Annotated[float | None, "Probability of any false alarm. [default: 0.05]"] = None
    mean_time: Annotated[float | None, "Mean number of graphs to a false alarm. Excludes --alpha."] = None
    on_alarm: Annotated[
        Literal["continue", "stop", "restart"],
        "After an alarm: continue, stop, or restart with the same reference.",
    ] = "continue"
    state: Annotated[Path | None, "File that keeps the state, from which a later run continues."] = None
    alarms_only: Annotated[bool, "Write only the alarms.", {"rich_help_panel": "Output"}] = False

    def check(self) -> None:
        """Refuse values that are not allowed."""
        require(self.alpha is None or self.mean_time is None, "give --alpha or --mean-time, not both")
        check_probability("--alpha", self.alpha)
        require(
            self.mean_time is None or 1 <= self.mean_time < math.inf,
            f"--mean-time must be a number >= 1, got {self.mean_time}",
        )
        super().check()

    def check_output(self) -> None:
        """Do nothing: the file is checked once it is locked."""


def monitor(
    reference: Sample,
    stream: Annotated[str, "Graphs to monitor, or - for standard input."] = "-",
    *,
    job: MonitorJob,
) -> None:
    """Detect changes in a stream of graphs against a reference.

    Each graph gives a line of JSON: graph (its number), id, evidence, pvalue, alarm. An alarm gives a line
    of its own: when the change came, with an interval, and which graphs showed it. Formats with one graph per
    line (jsonl, smi, graph6) are read as they arrive, others as a whole. With --state, an interrupted run
    continues after the last graph that it reported and stored. Later lines are removed from --output and
    written again. Standard input must then continue after that graph.

    Examples:
      grnf monitor usual.smi arriving.smi
      grnf monitor usual.smi arriving.smi --follow --alarms-only --state monitor.npz --output alarms.jsonl
    """
    watch = _Watch(reference, stream, job.as_in(reference))
    with ExitStack() as stack:
        for path in sorted({str(job.state or "-"), job.output} - {"-"}):
            from grnf._utils.locks import FolderLock

            lock = FolderLock(Path(path).with_name(f"{Path(path).name}.lock"))
            stack.callback(lock.remove_folder)
        if job.state is not None and job.state.exists():
            watch.resume()
        else:
            if job.output != "-":
                check_free(job.output, job.force)
            watch.begin()
        alarm = watch.detector.alarm_
        if job.on_alarm == "stop" and alarm is not None:
            job.note(f"the alarm was raised at graph {alarm.graph}. Start over with another --state")
            return
        for items, position in watch.arriving():
            if watch.update(items, position):
                return
    job.summarize({"graphs": watch.detector.n_seen_, "alarms": watch.alarms})


class _Watch:
    """A run: the detector, its input and its output."""

    detector: ChangeDetector

    def __init__(self, reference: str, stream: str, job: MonitorJob) -> None:
        self.reference, self.stream, self.job = reference, stream, job
        self.position: dict[str, Any] = {}
        self.written = self.alarms = 0

    def asked(self) -> dict[str, Any]:
        """Return the options that a run which continues must repeat."""
        job, reference = self.job, self.reference
        if Path(reference).is_file():
            with open(reference, "rb") as file:
                reference = f"sha256 {hashlib.file_digest(file, 'sha256').hexdigest()}"
        names = ("alpha", "mean_time", "n_components", "orders", "seed", "output")
        options = {name: getattr(job, name) for name in names} | {"like": job.like and str(job.like)}
        return {**options, "reference": reference, "stream": self.stream, "molecules": list(job.molecules)}

    def begin(self) -> None:
        """Fit the detector on the reference."""
        from grnf.stats import ChangeDetector

        job, reference = self.job, self.reference
        known = None if reference != "-" and Path(reference).suffix else job.format
        X = replace(job, format=known).collection(reference)
        grnf = job.transformer_of(reference) if X.has_vectors else job.transformer()
        if grnf is None:
            raise unknown_transformer(reference)
        self.detector = ChangeDetector(
            grnf,
            alpha=DELTA if job.alpha is None else job.alpha,
            mean_time=job.mean_time,
            random_state=job.seed or 0,
        ).fit(X)
        self.detector.set_params(on_error=job.on_error)
        self.commit({})
        if job.output != "-":
            Path(job.output).write_bytes(b"")

    def resume(self) -> None:
        """Continue from the state, and remove lines that were written after it was."""
        from grnf.stats import ChangeDetector

        state, output = self.job.state, self.job.output
        self.detector = ChangeDetector.load(str(state)).set_params(on_error=self.job.on_error)
        notes = self.detector.notes_
        for name, value in self.asked().items():
            before = notes.get(name)
            if before != value:
                raise GraphError(
                    f"{state} belongs to a run with {name.replace('_', '-')} {before!r}, not {value!r}: "
                    "give the same options, or another --state"
                )
        self.position, self.written, self.alarms = notes["position"], notes["written"], notes["alarms"]
        if output == "-":
            return
        size = Path(output).stat().st_size if Path(output).exists() else 0
        if size < self.written:
            raise GraphError(
                f"{output} is shorter than it was ({size} bytes, {self.written} were written): "
                "restore it, or start over with another --state"
            )
        Path(output).touch()
        os.truncate(output, self.written)

    def update(self, items: list[Any], position: dict[str, Any]) -> bool:
        """Test some graphs, write their lines and store the state. Return whether to stop."""
        records: list[dict[str, Any]] = []
        stop = False
        while items and not stop:
            first = self.detector.n_seen_
            block, update = items, self.detector.update(items)
            alarm, items = update.alarm, []
            last = math.inf if alarm is None or self.job.on_alarm == "continue" else alarm.graph
            records += [record for record in self._records(update) if record["graph"] <= last]
            if alarm is not None:
                self.alarms += 1
                records.append({"event": "alarm", **alarm.to_dict()})
                stop = self.job.on_alarm == "stop"
                if self.job.on_alarm == "restart":
                    items = block[alarm.graph + 1 - first :]
                    self.detector.reset(seen=alarm.graph + 1)
        self._write(records)
        self.commit(position)
        return stop

    def _records(self, update: Update) -> list[dict[str, Any]]:
        if self.job.alarms_only:
            return []
        over = (update.evidence >= self.detector.threshold_).tolist()
        rows = zip(
            update.graphs.tolist(), update.ids, update.evidence.tolist(), update.pvalues.tolist(), over,
            strict=True,
        )  # fmt: skip
        records = [
            {
                "graph": number,
                "id": name,
                "evidence": round(evidence, 4),
                "pvalue": None if math.isnan(pvalue) else float(f"{pvalue:.4g}"),
                "alarm": alarm,
            }
            for number, name, evidence, pvalue, alarm in rows
        ]
        records += [{"graph": number, "error": reason} for number, reason in update.errors]
        return sorted(records, key=lambda record: record["graph"])

    def _write(self, records: list[dict[str, Any]]) -> None:
        text = "".join(json.dumps(record) + "\n" for record in records)
        if self.job.output == "-":
            sys.stdout.write(text)
            sys.stdout.flush()
            return
        with open(self.job.output, "ab") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        self.written += len(text.encode())

    def commit(self, position: dict[str, Any]) -> None:
        """Store the state, if there is a file for it. Lines written before are not written again."""
        self.position = position
        if self.job.state is not None:
            progress = {"position": position, "written": self.written, "alarms": self.alarms}
            self.detector.notes_ = {**self.asked(), **progress}
            self.detector.save(self.job.state)

    def arriving(self) -> Iterator[tuple[list[Any], dict[str, Any]]]:
        """Yield the graphs of the stream some at a time, with the position after them."""
        from grnf._utils.memory import within_memory
        from grnf.io.files.following import LINE_FORMATS, Position, follow_graphs
        from grnf.io.files.formats import FORMATS
        from grnf.io.files.source import format_and_options

        stream, job = self.stream, self.job
        check_format(job.format, stream)
        if stream != "-" and not Path(stream).exists():
            raise GraphError(f"{stream} does not exist")
        suffixes = {suffix: name for name in LINE_FORMATS for suffix in FORMATS[name].suffixes}
        name = format_and_options(job.format)[0] or suffixes.get(Path(stream).suffix.lower())
        if name in LINE_FORMATS and not stream.endswith(".gz"):
            start = Position(**self.position) if self.position else None
            settings: Any = {"follow": job.follow, "block_size": job.block_size, "start": start}
            settings |= dict.fromkeys(job.molecules, True)
            molecules = not job.molecules or name == "smi"
            require(molecules, f"--standardize and --stereo need molecules, got {stream}")
            arriving = follow_graphs(stream, name, **settings)
            for items, reached in within_memory(job.graph_memory, arriving):
                yield items, reached.record()
            return
        if job.follow:
            formats = ", ".join(LINE_FORMATS)
            raise typer.BadParameter(f"--follow needs one of the formats {formats}, got {stream}")
        count = int(self.position.get("items", 0))
        with job.open(stream) as source:
            graphs = islice(source.read(yield_bad=True), count, None)
            while items := list(islice(graphs, job.block_size)):
                count += len(items)
                yield items, {"items": count}
