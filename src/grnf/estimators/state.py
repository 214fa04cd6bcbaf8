"""A fitted transformer as JSON: settings, widths and the seed from which all coefficients are drawn again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from grnf.io.encode import AttributeEncoder
from grnf.law import OrderLaw, ParameterLaw

__all__ = ["SavedState", "parse_state", "plain_params", "state_text"]

FORMAT = "grnf-transformer"
VERSION = 3
EMBEDDINGS = ("grnf-embedding", "grnf-shards")
"""Formats of the file beside an embedding, or among its shards, which holds the transformer that made it."""
LAWS = {"orders", "proposal"}
"""Parameters that are laws."""
DEFAULT_KIND = "GRNF"
"""The class of a saved transformer that does not say its own."""
LARGEST = 32_000_000
"""Characters of a saved transformer."""


class SavedState(NamedTuple):
    """What a saved transformer is made of."""

    params: dict[str, Any]
    fitted: dict[str, Any]
    encoder: AttributeEncoder


def state_text(transformer: Any, fitted: Mapping[str, Any]) -> str:
    """Return the parameters and the fitted state of a transformer as JSON."""
    params = {**plain_params(transformer), "random_state": transformer.seed_}
    kind = type(transformer).__name__
    state = {
        "format": FORMAT,
        "version": VERSION,
        **({} if kind == DEFAULT_KIND else {"kind": kind}),
        "params": params,
        "fitted": fitted,
        "encoder": transformer.encoder_.to_config(),
    }
    text = json.dumps(state, indent=2, default=_plain)
    if len(text) >= LARGEST:
        raise ValueError(
            f"the settings take {len(text)} characters, too many to save: columns of names or ids, which "
            "give one category each, should be removed from the graphs"
        )
    return text + "\n"


def parse_state(text: str, kind: str = DEFAULT_KIND, name: str = "the text") -> SavedState:
    """Return the state of a transformer of that class; `name` is what errors call the text."""
    if len(text) > LARGEST:
        raise ValueError(f"{name} is too large for a saved transformer")
    try:
        state = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is not JSON: {error}") from None
    if isinstance(state, dict) and state.get("format") in EMBEDDINGS:
        state = state.get("transformer")
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise ValueError(f"{name} is not a saved transformer: its 'format' is not {FORMAT!r}")
    if state.get("version") in (1, 2):
        raise ValueError(
            f"{name} has version {state['version']} of the format, whose transformers drew other "
            "coefficients: this release would give other vectors. Fit and save it again"
        )
    if state.get("version") != VERSION:
        raise ValueError(
            f"{name} has version {state.get('version')!r} of the format; this release reads {VERSION}"
        )
    found = state.get("kind", DEFAULT_KIND)
    if found != kind:
        raise ValueError(f"{name} holds a {found}, not a {kind}: load it with {found}.load")
    try:
        params = dict(state["params"])
        fitted = dict(state["fitted"])
        fitted |= {key: int(fitted[key]) for key in ("node_width", "edge_width", "seed")}
        for law in LAWS & set(params):
            params[law] = _law(params[law])
        encoder = AttributeEncoder.from_config(state["encoder"])
        if (encoder.node_width, encoder.edge_width) != (fitted["node_width"], fitted["edge_width"]):
            raise ValueError("the columns of the encoder do not make up the widths")
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{name} is damaged: {error}") from None
    return SavedState(params, fitted, encoder)


def plain_params(transformer: Any) -> dict[str, Any]:
    """Return the parameters of a transformer with laws as plain values."""
    params: dict[str, Any] = transformer.get_params(deep=False)
    for name in LAWS & {name for name, value in params.items() if value is not None}:
        law = params[name]
        if isinstance(law, ParameterLaw):
            params[name] = {"law": "parameters", **law.to_config()}
        else:
            params[name] = ParameterLaw(law).to_config()["orders"]
    return params


def _law(config: Mapping[str, Any] | None) -> OrderLaw | ParameterLaw | None:
    if config is None:
        return None
    if config.get("law") == "parameters":
        return ParameterLaw.from_config(config)
    return OrderLaw.from_config(config)


def _plain(value: Any) -> Any:
    """Turn numpy numbers into what JSON knows."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"cannot save a parameter of type {type(value).__name__}")
