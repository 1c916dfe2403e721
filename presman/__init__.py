"""presman: the terminal monitor for Oracle Database Resource Manager and the parallel statement queue."""

__version__ = "2.1.0.dev0"
