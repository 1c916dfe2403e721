"""V$ views as SQL tables in memory, made from the catalog of a release: what queries run on without Oracle."""
