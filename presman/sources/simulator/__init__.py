"""An Oracle instance in miniature: plans, CPU, parallel queue, sessions and waits, played from a scenario."""
