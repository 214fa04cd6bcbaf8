"""`python -m experiments NAME`: run one experiment, or all of the paper with a report."""

import argparse
import sys
from contextlib import contextmanager
from pathlib import Path

from experiments import EXPERIMENTS
from experiments.runner import DOCS, module_of, publish, redraw, reproduce, reproduce_all
from experiments.study import Study


def parsed(arguments):
    """Return the options of the command line."""
    made = argparse.ArgumentParser(
        prog="python -m experiments",
        description="Reproduce the results of the paper and of the documentation. Without NAME: list the "
        "experiments. An interrupted run resumes if you repeat the command.",
    )
    made.add_argument(
        "name",
        nargs="?",
        choices=["all", "figures", *EXPERIMENTS],
        metavar="NAME",
        help="experiment; all: the report; figures: those of the site, from stored results",
    )
    made.add_argument("-o", "--output", type=Path, default=Path("grnf-reproduce"), help="folder to write to")
    made.add_argument("--data", type=Path, help="folder of datasets; default: GRNF_DATA or the user's cache")
    made.add_argument("--seed", type=int, default=0, help="seed of graphs, features and training")
    made.add_argument("--quick", action="store_true", help="small versions that only show that all works")
    made.add_argument("--fresh", action="store_true", help="compute again what an earlier run left")
    made.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    made.add_argument(
        "--publish", action="store_true", help="write results, figures and tables into this repository"
    )
    options = made.parse_args(arguments)
    if options.publish and options.quick:
        made.error("--publish needs a full run: leave out --quick")
    return options


@contextmanager
def status(quiet):
    """Give a function that shows what is being done, on a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda _text: None
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as shown:
        yield shown.update


def main(arguments=None):
    """Run what the arguments name; return the exit code."""
    options = parsed(arguments)
    if options.name is None:
        print(*(f"{name:<14} {module_of(name).TITLE}" for name in EXPERIMENTS), sep="\n")
        return 0

    if options.name == "figures":
        redraw(DOCS / "figures", EXPERIMENTS)
        return 0

    def done(outcome):
        if not options.quiet:
            took = f"{outcome['title']}, {outcome['seconds']:.0f} s"
            print(f"{outcome['experiment']}: {took}", file=sys.stderr)
        if options.publish:
            publish(outcome["experiment"], options.output)

    try:
        with status(options.quiet) as tell:
            study = Study(options.output, options.data, options.seed, options.quick, tell, options.fresh)
            if options.name == "all":
                reproduce_all(study, done)
            else:
                done(reproduce(options.name, study))
    except KeyboardInterrupt:
        print("interrupted; repeat the command to resume", file=sys.stderr)
        return 130
    except (ValueError, OSError, ImportError, MemoryError) as error:
        print(f"experiments: {error}", file=sys.stderr)
        return 1
    written = "report.html" if options.name == "all" else f"{options.name}.json"
    print(f"written to {options.output}/: {written}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
