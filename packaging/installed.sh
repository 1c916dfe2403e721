#!/bin/sh
# After the package was installed: compile once what every start would compile anew (nobody but root may write there).
@PYTHON@ -m compileall -q /usr/lib/presman || true
