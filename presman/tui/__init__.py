"""The screens of the live monitor."""

import os

os.environ.setdefault("ESCDELAY", "15")
"""Milliseconds until an Esc is the key and not the beginning of another's name; Textual reads it when it is imported.

Its own 100 are felt at each Esc. A terminal sends the name of a key in one piece; whoever has a line that tears them
sets ESCDELAY, as for any full-screen program.
"""

os.environ.setdefault("TEXTUAL_FPS", "120")
"""Frames a second at most. A frame is painted only when something has changed, at the next tick of this clock: with
Textual's 60 a key waits 8 ms for it on average, with 120 half of that, at the same CPU time and bytes.
"""
