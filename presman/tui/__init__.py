"""The screens of the live monitor."""

import os

os.environ.setdefault("ESCDELAY", "15")
"""Milliseconds after which an Esc is the key Esc and not the start of an escape sequence. Textual reads it on import.

Textual's default of 100 is a noticeable delay at each Esc. A terminal sends an escape sequence in one piece; users
with a connection that splits them can set ESCDELAY, as for any full-screen program.
"""

os.environ.setdefault("TEXTUAL_FPS", "120")
"""Maximum frames per second. A frame is painted only if something has changed, at the next tick of this clock. With
Textual's 60 a key waits 8 ms on average, with 120 half of that, for the same CPU time and bytes.
"""
