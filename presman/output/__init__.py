"""Readings as files and text for other programs: CSV, JSON, plain text. No figures are computed here."""
