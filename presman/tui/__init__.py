"""The screens of the live monitor."""

import os

os.environ.setdefault("ESCDELAY", "25")
"""Milliseconds until an Esc is the key and not the beginning of another's name; Textual reads it when it is imported.

Its own 100 are felt at each Esc. A terminal sends the name of a key in one piece; whoever has a line that tears them
sets ESCDELAY, as for any full-screen program.
"""
