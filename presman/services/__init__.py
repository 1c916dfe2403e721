"""Services that run for days: recorders, metrics, fleets and the web server."""
