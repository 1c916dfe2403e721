"""config.ini, and the meaning of TARGET."""
