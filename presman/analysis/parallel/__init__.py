"""Parallel statements: the queue, who runs, who holds servers, why a head waits, a close look at one."""
