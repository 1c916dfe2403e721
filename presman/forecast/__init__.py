"""Forecasts of the parallel queue: its scheduler as a model, and when each queued statement should start. Pure."""
