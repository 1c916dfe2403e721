"""The documents that are written from presman itself."""
