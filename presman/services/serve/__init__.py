"""The monitor in a browser: a web server that starts a process of presman for each viewer.

The terminal in the browser is from textual-serve; the server is presman's own. docs/decisions.md gives the reasons.
"""
