"""Write the reference pages: every public name of every module, and every command with its options."""

import importlib
import inspect
import shutil
from pathlib import Path

PUBLIC = {
    "grnf": (
        "Transformer, estimators, graphs",
        (
            "GRNF GRNFClassifier GRNFRegressor JointFeatures WLFingerprint ReweightedGRNF Graph GraphBatch "
            "Activation GraphError GrnfWarning CostWarning OrderTooLargeError check_graphs null_graph "
            "compare Comparison Edit map_graphs warmup"
        ),
    ),
    "grnf.io": (
        "Readers of files, converters of objects and tables",
        (
            "BadGraph FORMATS Format RawGraph graphs_from_tables read_blocks read_graphs read_tu "
            "register_format to_raw write_graphs"
        ),
    ),
    "grnf.lifts": (
        "Structural encodings of nodes and edges",
        (
            "ClosedWalks Degree Distance EdgeLift Encode Individualize Lift NodeLift Pool Propagate "
            "RandomWalk Resistance Size Standardize Triangles WeisfeilerLehman"
        ),
    ),
    "grnf.law": (
        "The distribution P: orders and coefficients",
        (
            "Categorical CoefficientLaw Gaussian OrderLaw ParameterLaw ScaleMixture ShiftedPoisson "
            "importance_weights"
        ),
    ),
    "grnf.metric": (
        "Distance, kernel, confidence intervals, number of features",
        (
            "DistanceEstimate KernelEstimate distance distances_from_kernel error_bound exact_distance "
            "exact_distances exact_kernel kernel_estimate kernel_from_distances marginal_distance "
            "marginal_kernel pairwise_distances pairwise_kernels required_dimension truncation_bias"
        ),
    ),
    "grnf.search": (
        "Nearest neighbors, duplicates, clusters, splits",
        (
            "GraphClusterer GraphIndex Hits compare_raw duplicate_groups leaked near_duplicates pick_diverse "
            "split_distances split_graphs"
        ),
    ),
    "grnf.stats": (
        "Two-sample tests, change detection, outlier detection",
        (
            "ChangeDetector ChangePoint Evaluation GRNFOutlierDetector GraphDescriptor OutlierReport "
            "PermutationTestResult change_points evaluate k_sample_test two_sample_test"
        ),
    ),
    "grnf.scale": (
        "Large datasets, clusters",
        "BlockEmbedder embed",
    ),
    "grnf.maps": (
        "Interactive maps",
        "GraphMap map_graphs",
    ),
    "grnf.symmetry": (
        "Isomorphism tests and certificates",
        "Certificate certificates compare_graphs node_codes",
    ),
    "grnf.nn": (
        "PyTorch layer",
        "GRNFAggregation GRNFEncoder GRNFLayer LiftTransform",
    ),
    "grnf.datasets": (
        "Datasets",
        "all_graphs load_brec load_folds load_tu make_delaunay make_sbm",
    ),
    "grnf.testing": (
        "Checks of transformers in tests",
        "assert_invariant check_graph_transformer",
    ),
    "grnf.basis": (
        "Bases of the invariant and equivariant maps",
        "bell indicator_tensor overlapping_tensor set_partitions",
    ),
}
"""All public names by package, in the order of the reference, with the title of the page."""


def write(folder: Path) -> None:
    """Write a page for each installed module, one for the commands, and an index."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    written: list[str] = []
    homes: dict[int, str] = {}
    for module, (title, _) in PUBLIC.items():
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError:  # an extra that is not installed
            continue
        names = [name for name in found.__all__ if not name.startswith("_")]
        known = [name for name in names if id(getattr(found, name)) in homes]
        names = [name for name in names if name not in known]
        written.append(module.replace(".", "-"))
        lines = [f"{module}", "=" * len(module), "", f"{title}.", "", f".. currentmodule:: {module}", ""]
        for kind, wanted in (("Classes", inspect.isclass), ("Functions", inspect.isroutine)):
            own = [name for name in names if wanted(getattr(found, name))]
            if own:
                lines += [kind, "-" * len(kind), "", ".. autosummary::", "   :toctree: generated", ""]
                lines += [f"   {name}" for name in own] + [""]
                homes |= {id(getattr(found, name)): f"{module}.{name}" for name in own}
        if known:
            links = ", ".join(f":obj:`{name} <{homes[id(getattr(found, name))]}>`" for name in known)
            lines += [f"See also {links}.", ""]
        rest = [name for name in names if not callable(getattr(found, name))]
        if rest:
            lines += ["Also here: " + ", ".join(f"``{name}``" for name in rest) + ".", ""]
        (folder / f"{written[-1]}.rst").write_text("\n".join(lines))
    (folder / "commands.rst").write_text(commands())
    index = ["Reference", "=========", "", ".. list-table::", "   :header-rows: 1", ""]
    index += [
        "   * - Page",
        "     - Contents",
        "   * - :doc:`commands`",
        "     - All commands with their options",
    ]
    for module, (title, names) in PUBLIC.items():
        page = module.replace(".", "-")
        if page in written:
            index += [f"   * - :doc:`{module} <{page}>`", f"     - {title}: {', '.join(names.split())}"]
    index += ["", ".. toctree::", "   :hidden:", "", *(f"   {name}" for name in ["commands", *written]), ""]
    (folder / "index.rst").write_text("\n".join(index))


def commands() -> str:
    """Describe every command with its arguments and options."""
    import typer

    from grnf.cli.app import app

    lines = ["Commands", "========", ""]

    def one(command, name):
        lines.extend([name, "-" * len(name), ""])
        for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
            if paragraph.startswith("\b"):  # examples
                lines.extend(["Examples::", "", *paragraph.splitlines()[2:], ""])
            else:
                lines.extend([_escaped(" ".join(paragraph.split())), ""])
        for option in command.params:
            shown = option.opts + option.secondary_opts if option.param_type_name == "option" else []
            about = _escaped(" ".join((getattr(option, "help", None) or "").split()))
            label = ", ".join(f"``{flag}``" for flag in shown) or f"``{option.name.upper()}``"
            lines.append(f"- {label}: {about}" if about else f"- {label}")
        lines.append("")

    def walk(command, name):
        for child, found in sorted(getattr(command, "commands", {}).items()):
            if getattr(found, "commands", None):
                walk(found, f"{name} {child}")
            else:
                one(found, f"{name} {child}")

    walk(typer.main.get_command(app), "grnf")
    return "\n".join(lines)


def _escaped(text: str) -> str:
    """Text without the marks of reStructuredText."""
    return "".join("\\" + sign if sign in "*_`|\\" else sign for sign in text)
