#!/bin/sh
# Runs before the removal: deletes the .pyc files, which are not part of the package.
find /usr/lib/presman -name __pycache__ -type d -prune -exec rm -rf {} + || true
