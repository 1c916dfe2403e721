"""Rows as they leave a database, and the questions that bring them: one record per query, one snapshot per poll."""
