"""Snapshots as bytes: columns, differences to the previous poll, blocks of many polls."""
