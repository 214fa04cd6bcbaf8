"""Shards that fail on purpose, in every process that is started with this folder on its path.

Beside the folder of shards, a file "poison.json" says what happens to a shard by its number: "kill" ends the
process, any other text is the error. A file "tries" gets a line for each try.
"""

import importlib.util
import json
import os
import signal
import sys
from pathlib import Path


def poisoned(written):
    def write(plan, shard, job):
        home = Path(job.folder).parent
        with (home / "tries").open("a") as file:
            file.write(f"{shard.number}\n")
        poison = home / "poison.json"
        fate = json.loads(poison.read_text()).get(str(shard.number)) if poison.exists() else None
        if fate == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if fate is not None:
            raise RuntimeError(fate)
        return written(plan, shard, job)

    return write


class Hook:
    def find_spec(self, name, path=None, target=None):
        if name != "grnf.scale.shards":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            module._written = poisoned(module._written)

        spec.loader.exec_module = exec_module
        return spec


HOOK = Hook()
sys.meta_path.insert(0, HOOK)
