"""Forecasts of the parallel queue: its scheduler as a model, and when each statement in it should start. Pure."""
