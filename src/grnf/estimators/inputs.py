"""What goes into an estimator; see `grnf.io.samples`."""

from grnf.io.samples import Samples, encoded_samples, first_samples

__all__ = ["Samples", "encoded_samples", "first_samples"]
