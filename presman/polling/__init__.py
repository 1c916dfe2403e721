"""Polling: which queries are due, the thread that runs them, the texts and plans of shown statements, past polls."""
