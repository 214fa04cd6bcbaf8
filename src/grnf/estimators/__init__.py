"""What users hold: scikit-learn estimators over graphs."""

from grnf.estimators.transformer import GRNF

__all__ = ["GRNF"]
