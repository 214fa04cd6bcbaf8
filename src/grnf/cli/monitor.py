"""`grnf monitor`: a stream of graphs compared with a reference, and an alarm when it has changed."""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer
from typer import Argument, Option

from grnf.cli.graph_input import Input, OnError, Sample, check_format
from grnf.cli.options import DELTA, Destination, LikeFeatures, Run, check_free, check_probability, require
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.stats import ChangeDetector
    from grnf.stats.change_detection import Update

__all__ = ["monitor"]


@dataclass(frozen=True)
class Stream(Input):
    """How the stream is read."""

    helps: ClassVar[dict[str, str]] = {
        "on_error": "A graph that cannot be used. raise: stop. skip: report it and continue."
    }

    on_error: OnError = "skip"
    follow: Annotated[bool, Option("--follow", "-f", help="At the end of a file, wait for more.")] = False
    block_size: Annotated[int, Option(min=1, help="Largest number of graphs read at a time.")] = 256


@dataclass(frozen=True)
class Lines(Destination):
    """Output options of `grnf monitor`."""

    helps: ClassVar[dict[str, str]] = {"output": "JSON lines file to write, or - for standard output."}
    alarms_only: Annotated[bool, Option("--alarms-only", help="Write only the alarms.")] = False


@dataclass(frozen=True)
class Level:
    """How often false alarms may be raised."""

    alpha: Annotated[float | None, Option(help="Probability of any false alarm.", show_default="0.05")] = None
    mean_time: Annotated[
        float | None,
        Option(help="Mean number of graphs until a false alarm. It excludes --alpha."),
    ] = None
    on_alarm: Annotated[
        Literal["continue", "stop", "restart"],
        Option(help="After an alarm: continue, stop, or restart with the same reference."),
    ] = "continue"

    def check(self) -> None:
        """Refuse values that are not allowed."""
        require(self.alpha is None or self.mean_time is None, "give --alpha or --mean-time, not both")
        check_probability("--alpha", self.alpha)
        require(
            self.mean_time is None or 1 <= self.mean_time < math.inf,
            f"--mean-time must be a number >= 1, got {self.mean_time}",
        )


def monitor(
    reference: Sample,
    stream: Annotated[str, Argument(help="Graphs to monitor, or - for standard input.")] = "-",
    *,
    level: Level,
    state: Annotated[
        Path | None, Option(help="File that keeps the state, from which a later run continues.")
    ] = None,
    out: Lines,
    reading: Stream,
    features: LikeFeatures,
    run: Run,
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
    level.check()
    reading = reading.as_in(features, reference)
    watch = _MonitorRun(reference, stream, state, level, out, reading, features, run)
    with run.threads(), ExitStack() as stack:
        for path in sorted({str(state or "-"), out.output} - {"-"}):
            from grnf._utils.locks import FolderLock

            lock = FolderLock(Path(path).with_name(f"{Path(path).name}.lock"))
            stack.callback(lock.remove_folder)
        if state is not None and state.exists():
            watch.resume()
        else:
            if out.output != "-":
                check_free(out.output, out.force)
            watch.begin()
            if out.output != "-":
                Path(out.output).write_bytes(b"")
        alarm = watch.detector.alarm_
        if level.on_alarm == "stop" and alarm is not None:
            run.note(f"the alarm was raised at graph {alarm.graph}. Start over with another --state")
            return
        for items, position in _arriving(stream, reading, watch.position, run):
            if watch.update(items, position):
                return
    out.summarize({"graphs": watch.detector.n_seen_, "alarms": watch.alarms}, run)


@dataclass
class _MonitorRun:
    """A run: the detector, its input and its output."""

    reference: str
    stream: str
    state: Path | None
    level: Level
    out: Lines
    reading: Stream
    features: LikeFeatures
    run: Run
    position: dict[str, Any] = field(default_factory=dict)
    written: int = 0
    alarms: int = 0

    detector: ChangeDetector = field(init=False)

    @property
    def asked(self) -> dict[str, Any]:
        """Options that a run which continues must repeat."""
        like = None if self.features.like is None else str(self.features.like)
        level = {"alpha": self.level.alpha, "mean_time": self.level.mean_time}
        files = {"reference": self._reference(), "stream": self.stream, "output": self.out.output}
        molecules = {"molecules": list(self.reading.molecules)}
        return {**level, **asdict(self.features), "like": like, **files, **molecules}

    def _reference(self) -> str:
        """Return the checksum of the reference, or its name if it is not a file."""
        if not Path(self.reference).is_file():
            return self.reference
        with open(self.reference, "rb") as file:
            return f"sha256 {hashlib.file_digest(file, 'sha256').hexdigest()}"

    def begin(self) -> None:
        """Fit the detector on the reference."""
        from grnf.stats import ChangeDetector

        reference = self.reference
        known = None if reference != "-" and Path(reference).suffix else self.reading.format
        X = replace(self.reading, format=known).collection(reference, self.run)
        of_vectors = self.features.transformer_of(reference) if X.has_vectors else None
        if X.has_vectors and of_vectors is None:
            raise GraphError(
                "the transformer that made the vectors is not known",
                where=reference,
                cure="Pass it with --like",
            )
        self.detector = ChangeDetector(
            of_vectors or self.features.transformer(),
            alpha=DELTA if self.level.alpha is None else self.level.alpha,
            mean_time=self.level.mean_time,
            random_state=self.features.seed or 0,
        ).fit(X)
        self.detector.set_params(on_error=self.reading.on_error)
        self.commit({})

    def resume(self) -> None:
        """Continue from the state, and remove lines that were written after it was."""
        from grnf.stats import ChangeDetector

        self.detector = ChangeDetector.load(str(self.state)).set_params(on_error=self.reading.on_error)
        notes = self.detector.notes_
        for name, value in self.asked.items():
            before = notes.get(name)
            if before != value:
                raise GraphError(
                    f"{self.state} belongs to a run with {name.replace('_', '-')} {before!r}, not {value!r}: "
                    "give the same options, or another --state"
                )
        self.position, self.written, self.alarms = notes["position"], notes["written"], notes["alarms"]
        if self.out.output == "-":
            return
        size = Path(self.out.output).stat().st_size if Path(self.out.output).exists() else 0
        if size < self.written:
            raise GraphError(
                f"{self.out.output} is shorter than it was ({size} bytes, {self.written} were written): "
                "restore it, or start over with another --state"
            )
        Path(self.out.output).touch()
        os.truncate(self.out.output, self.written)

    def update(self, items: list[Any], position: dict[str, Any]) -> bool:
        """Test some graphs, write their lines and store the state. Return whether to stop."""
        records: list[dict[str, Any]] = []
        stop = False
        while items and not stop:
            first = self.detector.n_seen_
            block, update = items, self.detector.update(items)
            alarm, items = update.alarm, []
            last = math.inf if alarm is None or self.level.on_alarm == "continue" else alarm.graph
            records += [record for record in self._records(update) if record["graph"] <= last]
            if alarm is not None:
                self.alarms += 1
                records.append({"event": "alarm", **alarm.to_dict()})
                stop = self.level.on_alarm == "stop"
                if self.level.on_alarm == "restart":
                    items = block[alarm.graph + 1 - first :]
                    self.detector.reset(seen=alarm.graph + 1)
        self._write(records)
        self.commit(position)
        return stop

    def _records(self, update: Update) -> Iterator[dict[str, Any]]:
        if self.out.alarms_only:
            return
        over = update.evidence >= self.detector.threshold_
        rows = {
            int(number): {
                "graph": int(number),
                "id": update.ids[row],
                "evidence": round(float(update.evidence[row]), 4),
                "pvalue": None if math.isnan(update.pvalues[row]) else float(f"{update.pvalues[row]:.4g}"),
                "alarm": bool(over[row]),
            }
            for row, number in enumerate(update.graphs)
        }
        rows |= {number: {"graph": number, "error": reason} for number, reason in update.errors}
        yield from (rows[number] for number in sorted(rows))

    def _write(self, records: list[dict[str, Any]]) -> None:
        text = "".join(json.dumps(record) + "\n" for record in records)
        if self.out.output == "-":
            sys.stdout.write(text)
            sys.stdout.flush()
            return
        with open(self.out.output, "ab") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        self.written += len(text.encode())

    def commit(self, position: dict[str, Any]) -> None:
        """Store the state, if there is a file for it. Lines written before are not written again."""
        self.position = position
        if self.state is None:
            return
        self.detector.notes_ = {
            **self.asked,
            "position": position,
            "written": self.written,
            "alarms": self.alarms,
        }
        self.detector.save(self.state)


def _arriving(
    stream: str, reading: Stream, position: dict[str, Any], run: Run
) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Yield the graphs of a stream some at a time, with the position after them."""
    from grnf._utils.memory import within_memory
    from grnf.io.files.following import LINE_FORMATS, Position, follow_graphs
    from grnf.io.files.formats import FORMATS
    from grnf.io.files.source import format_and_options

    check_format(reading.format, stream)
    if stream != "-" and not Path(stream).exists():
        raise GraphError(f"{stream} does not exist")
    suffixes = {suffix: name for name in LINE_FORMATS for suffix in FORMATS[name].suffixes}
    name = format_and_options(reading.format)[0] or suffixes.get(Path(stream).suffix.lower())
    if name in LINE_FORMATS and not stream.endswith(".gz"):
        start = Position(**position) if position else None
        settings: Any = {"follow": reading.follow, "block_size": reading.block_size}
        chemistry: Any = dict.fromkeys(reading.molecules, True)
        require(not chemistry or name == "smi", f"--standardize and --stereo need molecules, got {stream}")
        arriving = follow_graphs(stream, name, start=start, **settings, **chemistry)
        for items, reached in within_memory(reading.graph_memory, arriving):
            yield items, reached.record()
        return
    if reading.follow:
        raise typer.BadParameter(f"--follow needs one of the formats {', '.join(LINE_FORMATS)}, got {stream}")
    count = int(position.get("items", 0))
    with reading.open(stream, run) as source:
        graphs = islice(source.read(yield_bad=True), count, None)
        while items := list(islice(graphs, reading.block_size)):
            count += len(items)
            yield items, {"items": count}
