#!/bin/sh
# Before the package is removed: take away what was compiled; the package does not know of it.
find /usr/lib/presman -name __pycache__ -type d -prune -exec rm -rf {} + || true
