"""Actions on a database. Imported only where they were allowed: `--allow-actions`; nothing else leads here."""
