"""Polls: what is due, the thread that asks, the texts and plans of statements on show, the polls so far."""
