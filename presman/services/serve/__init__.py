"""The monitor in a browser: a web server that starts a process of presman for each who looks.

textual-serve has the terminal that runs in the browser; the server is presman's own. See docs/decisions.md for why.
"""
