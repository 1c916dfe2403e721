"""Waits: histograms, percentiles, redo, outliers."""
