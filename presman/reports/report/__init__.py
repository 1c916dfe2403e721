"""Report: what a recording tells of a stretch of time, as one HTML page that needs nothing else."""
