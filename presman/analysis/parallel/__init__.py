"""Parallel statements: the queue, the statements that run, the holders of servers, and details of one statement."""
