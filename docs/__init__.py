"""The documents that presman's own code generates."""
