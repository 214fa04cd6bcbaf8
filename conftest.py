"""Doctests of the torch layer are collected where torch is there."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["src/grnf/nn/*"]
