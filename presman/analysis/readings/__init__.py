"""Readings: what a snapshot means, as plain values. Everything a screen, CSV or JSON shows is here."""
