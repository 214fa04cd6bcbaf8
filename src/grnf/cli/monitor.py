"""`grnf monitor`: a stream of graphs compared with a reference, and an alarm when it has changed."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from grnf.cli.inputs import Sample, read_collection
from grnf.cli.options import (
    Input,
    LikeFeatures,
    Output,
    Run,
    check_format,
    check_free,
    check_probability,
    require,
)
from grnf.cli.source import format_and_options, open_source
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf.collection import Collection
    from grnf.estimators import GRNF
    from grnf.stats import ChangeDetector
    from grnf.stats.monitor import Update

__all__ = ["monitor"]


@dataclass(frozen=True)
class Stream(Input):
    """How the stream is read."""

    on_error: Annotated[
        Literal["raise", "skip"],
        typer.Option(help="A graph that cannot be used. raise: stop; skip: report it and continue."),
    ] = "skip"
    follow: Annotated[bool, typer.Option("--follow", "-f", help="At the end of a file, wait for more.")] = (
        False
    )
    block_size: Annotated[int, typer.Option(min=1, help="Largest number of graphs read at a time.")] = 256


@dataclass(frozen=True)
class Lines(Output):
    """Where the lines are written."""

    output: Annotated[
        str, typer.Option("--output", "-o", help="JSON lines file to write; - for standard output.")
    ] = "-"
    alarms_only: Annotated[bool, typer.Option("--alarms-only", help="Write only the alarms.")] = False


@dataclass(frozen=True)
class Level:
    """How often false alarms may be raised."""

    alpha: Annotated[
        float | None, typer.Option(help="Probability of any false alarm.", show_default="0.05")
    ] = None
    mean_time: Annotated[
        float | None,
        typer.Option(help="Mean number of graphs until a false alarm. It excludes --alpha."),
    ] = None
    on_alarm: Annotated[
        Literal["go-on", "stop", "restart"],
        typer.Option(help="After an alarm: continue, stop, or restart with the same reference."),
    ] = "go-on"

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
    stream: Annotated[str, typer.Argument(help="Graphs to monitor; - for standard input.")] = "-",
    *,
    level: Level,
    state: Annotated[
        Path | None, typer.Option(help="File that keeps the state, from which a later run continues.")
    ] = None,
    out: Lines,
    reading: Stream,
    features: LikeFeatures,
    run: Run,
) -> None:
    """Detect changes in a stream of graphs against a reference.

    Each graph gives a line of JSON: graph (its number), id, evidence, p_value, alarm. An alarm gives a line
    of its own: when the change came, with an interval, and which graphs showed it. Formats with one graph per
    line (jsonl, smi, graph6) are read as they arrive, others as a whole. With --state, an interrupted run
    continues after the last graph that it reported and stored. Later lines are removed from --output and
    written again. Standard input must then continue after that graph.

    Example: grnf monitor usual.smi arriving.smi --follow --state watch.npz --output alarms.jsonl
    """
    level.check()
    watch = _Watch(stream, state, level, out, reading, features, run)
    with run.threads(), ExitStack() as stack:
        if state is not None:
            from grnf._utils.locks import FolderLock

            lock = FolderLock(state.with_name(f"{state.name}.lock"))
            stack.callback(lock.remove_folder)
        if state is not None and state.exists():
            watch.resume()
        else:
            if out.output != "-":
                check_free(out.output, out.force)
            watch.begin(reference)
            if out.output != "-":
                Path(out.output).write_bytes(b"")
        if level.on_alarm == "stop" and watch.detector.alarm_ is not None:
            raised = watch.detector.alarm_.graph
            run.note(f"the alarm was raised at graph {raised}; start over with another --state")
            return
        for items, position in _arriving(stream, reading, watch.position):
            if watch.take(items, position):
                return
    run.note(f"{watch.detector.n_seen_:,} graphs, {watch.alarms:,} alarms")


@dataclass
class _Watch:
    """A run: the detector, where it reads and where it writes."""

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
        features, like = self.features, self.features.like
        asked: dict[str, Any] = {"alpha": self.level.alpha, "mean_time": self.level.mean_time}
        asked |= {"n_components": features.n_components, "orders": features.orders, "seed": features.seed}
        asked |= {"like": None if like is None else str(like)}
        return {**asked, "stream": self.stream, "output": self.out.output}

    def begin(self, reference: str) -> None:
        """Fit the detector on the reference."""
        from grnf.stats import ChangeDetector

        X, transformer = self._reference(reference)
        self.detector = ChangeDetector(
            transformer,
            alpha=0.05 if self.level.alpha is None else self.level.alpha,
            mean_time=self.level.mean_time,
            random_state=self.features.seed or 0,
        ).fit(X)
        self.detector.set_params(on_error=self.reading.on_error)
        self.commit({})

    def _reference(self, source: str) -> tuple[Collection, GRNF]:
        """Return the reference, and the transformer of its graphs or vectors."""
        known = None if source != "-" and Path(source).suffix else self.reading.format
        found = read_collection(source, replace(self.reading, format=known), self.run)
        made = self.features.transformer_of(source) if found.has_vectors else self.features.transformer()
        if made is None:
            raise GraphError(
                "the transformer that made the vectors is not known", where=source, cure="Pass it with --like"
            )
        return found, made

    def resume(self) -> None:
        """Continue from the state, and remove lines that were written after it was."""
        from grnf.stats import ChangeDetector

        self.detector = ChangeDetector.open(str(self.state)).set_params(on_error=self.reading.on_error)
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

    def take(self, items: list[Any], position: dict[str, Any]) -> bool:
        """Take some graphs, write what is to be said, and keep the state; tell whether to stop."""
        records: list[dict[str, Any]] = []
        stop = False
        while items and not stop:
            first = self.detector.n_seen_
            taken, update = items, self.detector.update(items)
            alarm, items = update.alarm, []
            last = math.inf if alarm is None or self.level.on_alarm == "go-on" else alarm.graph
            records += [record for record in self._records(update) if record["graph"] <= last]
            if alarm is not None:
                self.alarms += 1
                records.append({"event": "alarm", **alarm.record()})
                stop = self.level.on_alarm == "stop"
                if self.level.on_alarm == "restart":
                    items = taken[alarm.graph + 1 - first :]
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
                "p_value": None if math.isnan(update.p_values[row]) else float(f"{update.p_values[row]:.4g}"),
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
        """Keep the state, if it is to be kept: what was written before it counts."""
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
    stream: str, reading: Stream, position: dict[str, Any]
) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Yield the graphs of a stream some at a time, with the position after them."""
    from grnf.io.files.following import LINE_FORMATS, Position, follow_graphs
    from grnf.io.files.reading import guess_format

    check_format(reading.format, stream)
    if stream != "-" and not Path(stream).exists():
        raise GraphError(f"{stream} does not exist")
    name = format_and_options(reading.format)[0] or guess_format(stream)
    if name in LINE_FORMATS and not stream.endswith(".gz"):
        start = Position(**position) if position else None
        settings: Any = {"follow": reading.follow, "block_size": reading.block_size}
        for items, reached in follow_graphs(stream, name, start=start, **settings):
            yield items, reached.record()
        return
    if reading.follow:
        raise typer.BadParameter(f"--follow needs one of the formats {', '.join(LINE_FORMATS)}, got {name}")
    count, waiting = int(position.get("items", 0)), []
    with open_source(stream, reading.format) as where:
        for place, item in enumerate(where.read(yield_bad=True)):
            if place < count:
                continue
            waiting.append(item)
            if len(waiting) == reading.block_size:
                yield waiting, {"items": place + 1}
                waiting = []
        if waiting:
            yield waiting, {"items": place + 1}
