"""Acting on a database. Imported only where actions were allowed: `--allow-actions`; nothing else leads here."""
