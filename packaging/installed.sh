#!/bin/sh
# Runs after the installation: compiles presman once, because only root can write .pyc files there.
@PYTHON@ -m compileall -q /usr/lib/presman || true
