"""Actions on a database. Imported only with `--allow-actions`; nothing else imports this package."""
