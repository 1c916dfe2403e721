"""The spool as a source: a folder of CSV files, one per view."""
