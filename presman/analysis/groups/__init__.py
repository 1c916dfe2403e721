"""Consumer groups: what each uses, waits for and is entitled to, and its verdict."""
