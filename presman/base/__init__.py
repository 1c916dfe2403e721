"""Foundations: cleaned text, releases, secrets, formats of numbers. Imports no other package of presman."""
