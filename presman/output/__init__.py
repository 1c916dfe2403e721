"""Readings as files and text for other programs: CSV, JSON, plain text. This package computes no figures."""
