"""File formats: one module each, and the table of them all."""
