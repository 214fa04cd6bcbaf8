"""Is a generator of graphs any good? Generated against reference graphs, each score with an interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from math import isnan
from typing import Any

import numpy as np

from grnf._utils.arrays import principal_axes
from grnf._utils.rules import Int, OneOf, checked
from grnf._version import __version__
from grnf.errors import GraphError
from grnf.stats.descriptor import GraphDescriptor
from grnf.stats.effect import Score, wilson
from grnf.stats.pooling import pooled_views, rounding_variance
from grnf.stats.scores import copies_among, halves, neighbour_scores, sample_distances
from grnf.stats.two_sample import TwoSampleResult, pooled_test
from grnf.typing import FloatArray

__all__ = ["Evaluation", "Score", "evaluate", "in_space"]

AXES = 64
SHRINKAGE = 0.01

BETTER = {
    "energy": "lower", "mmd2": "lower", "frechet": "lower",
    "precision": "higher", "recall": "higher", "density": "higher", "coverage": "higher",
    "uniqueness": "higher", "novelty": "higher", "validity": "higher",
}  # fmt: skip
FORMATS = ("text", "markdown", "latex", "html", "csv")
HEADER = ("score", "better", "value", "95 % interval", "reference halves")
TITLES = {"energy": "energy distance", "mmd2": "MMD^2", "frechet": "Frechet distance"}


@dataclass(frozen=True)
class Evaluation:
    """Scores of generated graphs.

    Parameters
    ----------
    scores : dict from name to Score
        energy, mmd2, frechet; precision, recall, density, coverage; of graphs uniqueness and novelty too, and
        validity where a function says what is valid.
    test : TwoSampleResult
        Whether generated and reference graphs come from one law.
    undecided : int
        Generated graphs of which it is undecided whether they are copies; they count as new.
    protocol : dict
        What it takes to repeat the evaluation.
    """

    scores: dict[str, Score]
    test: TwoSampleResult
    undecided: int
    protocol: dict[str, Any] = field(repr=False)

    @property
    def p_value(self) -> float:
        """Of the two-sample test."""
        return self.test.p_value

    def __getitem__(self, name: str) -> Score:
        return self.scores[name]

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        scores = {
            name: {key: None if each is None or isnan(each) else each for key, each in vars(score).items()}
            for name, score in self.scores.items()
        }
        return {
            "scores": scores,
            "p_value": self.p_value,
            "undecided": self.undecided,
            "test": self.test.to_dict(),
            "protocol": self.protocol,
        }

    def to_table(self, format: str = "text") -> str:
        """Return the scores as a table: "text", "markdown", "latex", "html" or "csv"."""
        return table(self.scores, self._notes(), format)

    def __str__(self) -> str:
        return self.to_table()

    def _notes(self) -> list[str]:
        sizes, made = self.protocol["sizes"], self.protocol["descriptor"]
        features = f"; M = {made['n_components']} features each" if "n_components" in made else ""
        how = f"{self.test.permutations:,} permutations; loudest: {self.test.loudest}"
        k, seed = self.protocol["k"], self.protocol["random_state"]
        space = f"{self.protocol['space']} space, {self.protocol['axes']} axes"
        notes = [
            f"{sizes[0]:,} generated, {sizes[1]:,} reference graphs",
            f"two-sample test: p = {self.p_value:.4g} ({how})",
            f"views: {', '.join(made['views'])}{features}; {space}; k = {k}; seed {seed}; grnf {__version__}",
        ]
        if self.undecided:
            notes.append(f"{self.undecided:,} generated graphs may be copies (undecided); counted as new")
        return notes


def evaluate(
    generated: Any,
    reference: Any,
    *,
    valid: Callable[[Any], bool] | None = None,
    n_unusable: int = 0,
    views: Any = "auto",
    space: str = "whitened",
    k: int = 5,
    permutations: int = 999,
    resamples: int = 400,
    n_components: int = 512,
    random_state: int = 0,
) -> Evaluation:
    """Compare generated with reference graphs.

    Parameters
    ----------
    generated, reference : collections of graphs of any kind, or arrays of vectors
        Of vectors there is no uniqueness, novelty and validity.
    valid : function of a generated graph, as it was given, to bool, optional
        For the share of valid graphs. The other scores are of all graphs that were given.
    n_unusable : int, default=0
        Generated graphs that could not be read, and are not in `generated`: they count as invalid, as the
        errors of a `Collection` do.
    views : "auto", transformer, or dict of transformers, default="auto"
        What makes vectors of graphs, as in `GraphDescriptor`.
    space : "whitened" or "plain", default="whitened"
        Where distances are taken: along up to 64 axes of the reference that count alike (down to a hundredth
        of the largest variance), or as the vectors are.
    k : int, default=5
        Nearest neighbours that make a ball.
    permutations, resamples : int, default=999, 400
    n_components : int, default=512
        Features of each view.
    random_state : int, default=0

    Examples
    --------
    >>> from grnf.datasets import make_sbm
    >>> graphs, y = make_sbm(120, random_state=0)
    >>> same = evaluate(graphs[:60], graphs[60:], n_components=64)
    >>> one, two = ([g for g, label in zip(graphs, y) if label == side] for side in (0, 1))
    >>> other = evaluate(one, two, n_components=64)
    >>> same["energy"].value < other["energy"].value, same.p_value > 0.05, other.p_value
    (True, True, 0.001)
    """
    checked(space, "space", OneOf("whitened", "plain"))
    n_unusable = checked(n_unusable, "n_unusable", Int(0))
    k, resamples = checked(k, "k", Int(1)), checked(resamples, "resamples", Int(10))
    descriptor = GraphDescriptor(n_components, views=views, random_state=random_state)
    samples, pooled = pooled_views([generated, reference], ("generated", "reference"), descriptor)
    for sample in samples:
        if (n := len(sample)) <= k:
            raise GraphError(
                f"{sample.name} has {n} graph{'s' * (n != 1)}, and the {k} nearest neighbors of each are "
                f"needed: give more than {k} graphs, or a smaller k"
            )
    n_unusable += len(samples[0].errors)
    test = pooled_test(samples, pooled, descriptor, permutations=permutations, random_state=random_state)
    m = len(samples[0])
    sides = [{name: Z[rows] for name, Z in pooled.items()} for rows in (slice(m), slice(m, None))]
    X, Y = in_space(sides[0], sides[1], space)
    scores = _scores(X, Y, k, resamples, random_state)
    first, second = halves(Y, random_state)
    if len(first) > k:
        base = _scores(first, second, k, 10, random_state)
        scores = {name: replace(score, baseline=base[name].value) for name, score in scores.items()}
    undecided = 0
    graphs = samples[0].graphs
    if graphs is not None:
        copies = copies_among(samples[0].batch, samples[1].batch)
        scores["uniqueness"] = wilson(copies.distinct, copies.n)
        scores["novelty"] = wilson(copies.novel, copies.n)
        undecided = copies.undecided
    if valid is not None or n_unusable:
        if graphs is None:
            raise GraphError("valid is a function of graphs; got vectors")
        good = len(graphs) if valid is None else sum(bool(valid(graph)) for graph in graphs)
        scores["validity"] = wilson(good, len(graphs) + n_unusable)
    settings = {"space": space, "axes": int(X.shape[1]), "k": k, "resamples": resamples}
    settings |= {"n_unusable": n_unusable}
    return Evaluation(scores, test, undecided, {**test.protocol, **settings})


def in_space(
    generated: Mapping[str, FloatArray], reference: Mapping[str, FloatArray], space: str = "whitened"
) -> tuple[FloatArray, FloatArray]:
    """Return generated and reference rows in the space whose distances are compared, from their views.

    Examples
    --------
    >>> views = {"one": np.arange(12.0).reshape(6, 2)}
    >>> X, Y = in_space(views, views)
    >>> X.shape, bool(np.abs(X - Y).max() < 1e-6)
    ((6, 2), True)
    """
    X, Y = (
        np.hstack([np.asarray(side[view], dtype=np.float64) for view in reference]) / np.sqrt(len(reference))
        for side in (generated, reference)
    )
    if space == "plain":
        return X - Y.mean(axis=0), Y - Y.mean(axis=0)
    mean, variances, axes = _principal_axes(Y)
    unit = max(float(np.finfo(np.asarray(Z).dtype).eps) for Z in reference.values())
    least = rounding_variance(Y, unit)
    if variances[0] <= least:  # the reference is one point: there is nothing to weigh by
        apart = X - mean
        apart[np.einsum("ij,ij->i", apart, apart) <= least] = 0
        return apart, np.zeros_like(Y)
    axes = axes[:, :AXES] / np.sqrt(variances + SHRINKAGE * variances[0])[:AXES]
    return (X - mean) @ axes, (Y - mean) @ axes


def _principal_axes(Y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean, variances and axes; of few long vectors no more axes than there are vectors."""
    if len(Y) >= Y.shape[1]:
        return principal_axes(Y)
    mean = Y.mean(axis=0)
    _, lengths, turned = np.linalg.svd(Y - mean, full_matrices=False)
    return mean, lengths**2 / len(Y), turned.T


def _scores(X: FloatArray, Y: FloatArray, k: int, resamples: int, seed: int) -> dict[str, Score]:
    return sample_distances(X, Y, resamples, seed) | neighbour_scores(X, Y, k, resamples, seed)


def table(scores: Mapping[str, Score], notes: Sequence[str], format: str = "text") -> str:
    r"""Return scores as a table, with notes below it.

    Examples
    --------
    >>> print(table({"novelty": Score(0.5, 0.4, 0.6)}, ["10 graphs"], "markdown"))
    | score | better | value | 95 % interval | reference halves |
    |---|---|---|---|---|
    | novelty | higher | 0.500 | 0.400 to 0.600 |  |
    <BLANKLINE>
    10 graphs
    """
    checked(format, "format", OneOf(*FORMATS))
    rows = [(TITLES.get(name, name), BETTER[name], score) for name, score in scores.items()]
    if format == "csv":
        lines = ["score,better,value,low,high,reference_halves"]
        for title, better, score in rows:
            numbers = ["" if value is None else f"{value:.9g}" for value in vars(score).values()]
            lines.append(",".join([title, better, *numbers]))
        return "\n".join(lines) + "\n"
    cells = []
    for title, better, score in rows:
        interval = f"{_text(score.low)} to {_text(score.high)}"
        cells.append([title, better, _text(score.value), interval, _text(score.baseline)])
    return {"text": _plain, "markdown": _markdown, "latex": _latex, "html": _html}[format](cells, notes)


def _text(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if 1e-3 <= abs(value) < 1e4 or value == 0 else f"{value:.2e}"


def _plain(cells: list[list[str]], notes: Sequence[str]) -> str:
    lines = [list(HEADER), *cells]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADER))]
    shown = [
        "  ".join(
            text.ljust(width) if column < 2 else text.rjust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    return "\n".join([*shown, "", *notes])


def _markdown(cells: list[list[str]], notes: Sequence[str]) -> str:
    lines = ["| " + " | ".join(HEADER) + " |", "|---" * len(HEADER) + "|"]
    lines += ["| " + " | ".join(line) + " |" for line in cells]
    return "\n".join([*lines, "", *notes])


def _latex(cells: list[list[str]], notes: Sequence[str]) -> str:
    lines = [r"\begin{tabular}{llrrr}", r"\hline", _latex_line(HEADER), r"\hline"]
    lines += [_latex_line(line) for line in cells]
    lines += [r"\hline", r"\end{tabular}", *("% " + note for note in notes)]
    return "\n".join(lines)


def _latex_line(cells: Sequence[str]) -> str:
    marks = {"MMD^2": "MMD$^2$", "Frechet distance": r"Fr\'echet distance"}
    return " & ".join(marks.get(text, text.replace("%", r"\%")) for text in cells) + r" \\"


def _html(cells: list[list[str]], notes: Sequence[str]) -> str:
    def line(texts: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts) + "</tr>"

    body = "\n".join(line(texts, "td") for texts in cells)
    below = "\n".join(f"<p>{escape(note)}</p>" for note in notes)
    style = "table{border-collapse:collapse;font-family:sans-serif}td,th{padding:2px 10px;text-align:left}"
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Evaluation</title>',
            f"<style>{style}</style></head>\n<body><table>",
            f"<thead>{line(HEADER, 'th')}</thead>\n<tbody>\n{body}\n</tbody></table>",
            f"{below}\n</body></html>",
        ]
    )
