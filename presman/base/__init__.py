"""Foundations: cleaned text, releases, secrets, how numbers become text. Imports nothing of presman's."""
