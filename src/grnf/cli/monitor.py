"""`grnf monitor`: a stream of graphs beside a reference, and an alarm when it has changed."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from grnf.cli.inputs import read_collection
from grnf.cli.options import (
    Force,
    Format,
    Like,
    NComponents,
    NJobs,
    Orders,
    Quiet,
    Seed,
    check_format,
    check_free,
    make_transformer,
    workers,
)
from grnf.cli.source import format_and_options, open_source
from grnf.cli.tell import note
from grnf.errors import GraphError

if TYPE_CHECKING:
    from grnf import GRNF
    from grnf.collection import Collection
    from grnf.stats import Alarm, ChangeDetector, Update

__all__ = ["monitor"]

OnAlarm = Literal["go-on", "stop", "restart"]


def monitor(
    reference: Annotated[str, typer.Argument(help="Graphs that are as they should be, or vectors of them.")],
    stream: Annotated[str, typer.Argument(help="Graphs to watch; - for standard input.")] = "-",
    alpha: Annotated[
        float | None, typer.Option(help="Probability of a false alarm, ever.", show_default="0.05")
    ] = None,
    mean_time: Annotated[
        float | None, typer.Option(help="In place of --alpha: graphs until a false alarm, on average.")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Wait for more at the end of a file that grows.")
    ] = False,
    state: Annotated[
        Path | None,
        typer.Option(help="File that keeps the state: a run that is started again goes on where it was."),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write lines of JSON; - for standard output.")
    ] = "-",
    on_alarm: Annotated[
        OnAlarm, typer.Option(help="After an alarm: go on, stop, or begin anew with the same reference.")
    ] = "go-on",
    alarms_only: Annotated[bool, typer.Option("--alarms-only", help="Write no line for each graph.")] = False,
    on_error: Annotated[
        Literal["raise", "skip"], typer.Option(help="A graph that cannot be used: stop, or say so and go on.")
    ] = "skip",
    format: Format = None,
    block_size: Annotated[int, typer.Option(min=1, help="Graphs that are taken at a time, at most.")] = 256,
    n_components: NComponents = None,
    orders: Orders = None,
    seed: Seed = None,
    like: Like = None,
    n_jobs: NJobs = 1,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Watch a stream of graphs, and raise an alarm when its law is no longer that of a reference.

    A line of JSON for each graph: graph (its number), id, evidence, p_value, alarm. An alarm has a line of
    its own: when the change came, with an interval, and which graphs showed it. Formats with a graph a line
    (jsonl, smi, graph6) are read as they come; others as a whole. With --state, a run that was killed goes on
    after the last graph that it reported and kept; lines after it are removed from --output, and written
    again. Standard input is then taken to go on where it ended.

    Example: grnf monitor usual.smi arriving.smi --follow --state watch.npz --output alarms.jsonl
    """
    if alpha is not None and mean_time is not None:
        raise typer.BadParameter("goes without --alpha", param_hint="--mean-time")
    if alpha is not None and not 0 < alpha < 1:
        raise typer.BadParameter("a probability between 0 and 1 is wanted", param_hint="--alpha")
    if mean_time is not None and not 1 <= mean_time < math.inf:
        raise typer.BadParameter("a number of graphs is wanted, 1 or more", param_hint="--mean-time")
    asked: dict[str, Any] = {"alpha": alpha, "mean_time": mean_time, "n_components": n_components}
    asked |= {"orders": orders, "seed": seed, "like": None if like is None else str(like)}
    watch = _Watch(stream, output, state, on_alarm, alarms_only, on_error, asked, quiet)
    with workers(n_jobs), ExitStack() as stack:
        if state is not None:
            from grnf._utils.locks import FolderLock

            lock = FolderLock(state.with_name(f"{state.name}.lock"))
            stack.callback(lock.remove_folder)
        if state is not None and state.exists():
            watch.resume()
        else:
            if output != "-":
                check_free(output, force)
            watch.begin(reference, format)
            if output != "-":
                Path(output).write_bytes(b"")
        if on_alarm == "stop" and watch.detector.alarm_ is not None:
            raised = watch.detector.alarm_.graph
            note(f"the alarm was raised at graph {raised}; begin anew with another --state", quiet)
            return
        for items, position in _arriving(stream, format, watch.position, follow, block_size):
            if watch.take(items, position):
                return
    note(f"{watch.detector.n_seen_:,} graphs, {watch.alarms:,} alarms", quiet)


@dataclass
class _Watch:
    """A run: the detector, where it reads and where it writes."""

    stream: str
    output: str
    state: Path | None
    on_alarm: str
    alarms_only: bool
    on_error: str
    asked: dict[str, Any]
    quiet: bool
    position: dict[str, Any] = field(default_factory=dict)
    written: int = 0
    alarms: int = 0

    detector: ChangeDetector = field(init=False)

    def begin(self, reference: str, format: str | None) -> None:
        """Learn the reference."""
        from grnf.stats import ChangeDetector

        settings = {name: self.asked[name] for name in ("n_components", "orders", "seed")}
        alpha = 0.05 if self.asked["alpha"] is None else self.asked["alpha"]
        like = None if self.asked["like"] is None else Path(self.asked["like"])
        X, transformer = _reference(reference, format, like, settings, self.on_error, self.quiet)
        self.detector = ChangeDetector(
            transformer, alpha=alpha, mean_time=self.asked["mean_time"], random_state=self.asked["seed"] or 0
        ).fit(X)
        self.detector.set_params(on_error=self.on_error)
        self.commit({})

    def resume(self) -> None:
        """Go on from the state, and remove lines that were written after it was."""
        from grnf.stats import ChangeDetector

        self.detector = ChangeDetector.open(str(self.state)).set_params(on_error=self.on_error)
        notes = self.detector.notes_
        for name, value in {**self.asked, "stream": self.stream, "output": self.output}.items():
            before = notes.get(name)
            if before != value:
                raise GraphError(
                    f"{self.state} belongs to a run with {name.replace('_', '-')} {before!r}, not {value!r}: "
                    "give the same options, or another --state"
                )
        self.position, self.written, self.alarms = notes["position"], notes["written"], notes["alarms"]
        if self.output == "-":
            return
        size = Path(self.output).stat().st_size if Path(self.output).exists() else 0
        if size < self.written:
            raise GraphError(
                f"{self.output} is shorter than it was ({size} bytes, {self.written} were written): bring it "
                "back, or begin anew with another --state"
            )
        Path(self.output).touch()
        os.truncate(self.output, self.written)

    def take(self, items: list[Any], position: dict[str, Any]) -> bool:
        """Take some graphs, write what is to be said, and keep the state; tell whether to stop."""
        records: list[dict[str, Any]] = []
        stop = False
        while items and not stop:
            first = self.detector.n_seen_
            taken, update = items, self.detector.update(items)
            alarm, items = update.alarm, []
            last = math.inf if alarm is None or self.on_alarm == "go-on" else alarm.graph
            records += [record for record in self._records(update) if record["graph"] <= last]
            if alarm is not None:
                self.alarms += 1
                records.append(_alarm_record(alarm))
                stop = self.on_alarm == "stop"
                if self.on_alarm == "restart":
                    items = taken[alarm.graph + 1 - first :]
                    self.detector.reset(seen=alarm.graph + 1)
        self._write(records)
        self.commit(position)
        return stop

    def _records(self, update: Update) -> Iterator[dict[str, Any]]:
        if self.alarms_only:
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
        if self.output == "-":
            sys.stdout.write(text)
            sys.stdout.flush()
            return
        with open(self.output, "ab") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        self.written += len(text.encode())

    def commit(self, position: dict[str, Any]) -> None:
        """Keep the state, if it is to be kept: what was written before it counts."""
        self.position = position
        if self.state is None:
            return
        notes = {**self.asked, "stream": self.stream, "output": self.output, "position": position}
        self.detector.notes_ = {**notes, "written": self.written, "alarms": self.alarms}
        self.detector.save(self.state)


def _alarm_record(alarm: Alarm) -> dict[str, Any]:
    return {"event": "alarm", **alarm.record()}


def _reference(
    source: str,
    format: str | None,
    like: Path | None,
    settings: dict[str, Any],
    on_error: str,
    quiet: bool,
) -> tuple[Collection, GRNF]:
    """Return the reference, and what makes vectors of graphs."""
    from grnf.io.vectors import side_file

    known = None if source != "-" and Path(source).suffix else format
    found = read_collection(source, known, on_error=on_error, quiet=quiet)
    if found.has_vectors and like is None and not side_file(source).exists():
        raise GraphError(
            "the transformer that made the vectors is not known", where=source, cure="Pass it with --like"
        )
    if found.has_vectors:
        return found, make_transformer(like or side_file(source), {})
    return found, make_transformer(like, settings)


def _arriving(
    stream: str, format: str | None, position: dict[str, Any], follow: bool, size: int
) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Yield the graphs of a stream some at a time, with the position after them."""
    from grnf.io import guess_format
    from grnf.io.files.following import LINE_FORMATS, Position, follow_graphs

    check_format(format, stream)
    if stream != "-" and not Path(stream).exists():
        raise GraphError(f"{stream} does not exist")
    name = format_and_options(format)[0] or guess_format(stream)
    if name in LINE_FORMATS and not stream.endswith(".gz"):
        start = Position(**position) if position else None
        for items, reached in follow_graphs(stream, name, start=start, follow=follow, block_size=size):
            yield items, reached.record()
        return
    if follow:
        raise typer.BadParameter(
            f"{stream} cannot be read while it grows; formats that can are {', '.join(LINE_FORMATS)}",
            param_hint="--follow",
        )
    count, waiting = int(position.get("items", 0)), []
    with open_source(stream, format) as where:
        for place, item in enumerate(where.read(yield_bad=True)):
            if place < count:
                continue
            waiting.append(item)
            if len(waiting) == size:
                yield waiting, {"items": place + 1}
                waiting = []
        if waiting:
            yield waiting, {"items": place + 1}
