"""Consumer groups: what each uses, waits for, is entitled to, and what its verdict is."""
