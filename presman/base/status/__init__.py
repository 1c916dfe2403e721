"""Status of presman's own processes: what runs for long says in a file of the user's how it is."""
