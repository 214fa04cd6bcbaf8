"""The command line in processes that are forked from one that has loaded the package: they start at once."""

import atexit
import multiprocessing
import os
import sys
from pathlib import Path
from threading import Timer

HERE = Path(__file__).parent
LOADED = ["grnf.cli.app", "grnf.io.files.formats", "grnf.scale.driver", "grnf.search", "grnf.stats"]
SECONDS = 300


class Forked:
    """A process that runs Python code and then the command line. It is used like `subprocess.Popen`."""

    def __init__(self, program, *arguments, stdin=None):
        context = multiprocessing.get_context("forkserver" if hasattr(os, "fork") else "spawn")
        if hasattr(os, "fork"):
            context.set_forkserver_preload(LOADED)
        pipes = [context.Pipe(duplex=False) for _ in range(2)]
        self.readers, writers = zip(*pipes, strict=True)
        environment = {**os.environ, "COLUMNS": "200"}
        given = program, list(map(str, arguments)), environment, os.getcwd(), stdin or os.devnull, writers
        self.process = context.Process(target=_run, args=given)
        self.process.start()
        for writer in writers:
            writer.close()
        self.pid, self.kill = self.process.pid, self.process.kill
        self.printed = None

    def poll(self):
        return self.process.exitcode

    returncode = property(poll)

    def communicate(self, timeout=SECONDS):
        """Wait for the end, and return what was printed. A process that takes too long is killed."""
        if self.printed is None:
            timer = Timer(timeout, self.kill)
            timer.start()
            self.printed = []
            for reader in self.readers:
                with open(reader.fileno(), encoding="utf-8", closefd=False) as file:
                    self.printed.append(file.read())
                reader.close()
            self.process.join()
            timer.cancel()
        return self.printed


def _run(program, arguments, environment, folder, stdin, writers):
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    with open(stdin) as file:
        for number, stream in enumerate([file, *writers]):
            os.dup2(stream.fileno(), number)
    sys.stdin, sys.stdout, sys.stderr = (open(number, mode) for number, mode in enumerate("rww"))  # noqa: SIM115
    sys.path.insert(0, str(HERE))
    sys.argv = ["grnf", *arguments]
    from grnf.cli import main

    try:
        exec(program, {"__name__": "__main__"})
        main()
    finally:
        atexit._run_exitfuncs()


def before_call(place, code, number=1):
    """Return a program that makes Python run this code before a call of a function, by default the first."""
    owner, _, name = place.rpartition(".")
    return f"""
import os, pkgutil, signal, time
owner, calls = pkgutil.resolve_name({owner!r}), []
function = owner.{name}
def called(*arguments, **options):
    calls.append(1)
    if len(calls) == {number}:
        {code}
    return function(*arguments, **options)
owner.{name} = called
"""
