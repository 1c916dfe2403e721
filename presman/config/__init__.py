"""config.ini, and what TARGET means."""
