"""Snapshots as bytes: columns, what changed since the poll before, blocks of many polls."""
