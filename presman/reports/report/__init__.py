"""Report on a stretch of a recording, as one HTML page that needs no other files."""
