"""The space in which commands group graphs, and the vectors of graphs in it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from typer import Option

from grnf.cli.graph_input import Input, holds_vectors
from grnf.cli.options import LikeFeatures, Run, require

if TYPE_CHECKING:
    from grnf.collection import Collection

__all__ = ["GroupSpace", "check_radius"]

FIT_GRAPHS = 32_768
"""First graphs of a file, on which joint features are fitted."""


@dataclass(frozen=True)
class GroupSpace:
    """Which distances are used."""

    panel: ClassVar[str] = "Method"

    space: Annotated[
        Literal["joint", "d_P", "whitened"],
        Option(
            help="Distances. joint: hashed WL labels and whitened GRNF, in which near graphs are alike. d_P: "
            "the distance of GRNF. whitened: GRNF with equal variance in all directions."
        ),
    ] = "joint"

    @property
    def of_vectors(self) -> Literal["whitened", "plain"]:
        """The space of the library, in which the vectors are compared."""
        return "whitened" if self.space == "whitened" else "plain"

    def transformer(self, features: LikeFeatures, **options: Any) -> Any:
        """Return a transformer with the given settings. Joint features have few."""
        if self.space != "joint":
            return features.transformer()
        from grnf.estimators import JointFeatures

        require(
            features.like is None and features.orders is None,
            "--orders and --like need --space d_P or --space whitened",
        )
        return JointFeatures(features.n_components or 192, random_state=features.seed or 0, **options)

    def vectors(self, source: str, reading: Input, features: LikeFeatures, run: Run) -> Collection:
        """Return the vectors of a file. Graphs are embedded block by block."""
        if self.space != "joint" or holds_vectors(source, reading.format):
            return reading.vectors([source], features, run)[0]
        joint = self.transformer(features, on_error="raise" if reading.on_error == "raise" else "nan")
        with reading.open(source, run) as opened:
            graphs = (graph for *_, graph in opened.usable(reading.on_error, []))
            joint.fit(list(islice(graphs, FIT_GRAPHS)))
            return reading.embed(opened, joint, run)


def check_radius(radius: float | None) -> None:
    """Refuse a radius that is not a number >= 0."""
    require(radius is None or 0 <= radius < float("inf"), f"--radius must be a number >= 0, got {radius}")
