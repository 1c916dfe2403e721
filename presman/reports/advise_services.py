"""Services of an Autonomous Database: what a customer may change there, and what MEDIUM's concurrency limit does.

CS_RESOURCE_MANAGER.UPDATE_PLAN_DIRECTIVE changes the shares of the services in the two plans that come with the
database, and the concurrency limit of MEDIUM. From that limit the database sets the degree of all statements of MEDIUM,
and lets MEDIUM hold the whole target. Oracle's manual gives examples, but no rule. The rule here was measured by others
on 19c, for each limit on targets of 96 and 288 servers (tests/data), and the manual's examples fit it.
"""

PLANS = frozenset({"DWCS_PLAN", "OLTP_PLAN"})
"""The plans that UPDATE_PLAN_DIRECTIVE changes."""

SERVICES = frozenset({"TPURGENT", "TP", "HIGH", "MEDIUM", "LOW"})
MEDIUM = "MEDIUM"
"""The service whose concurrency limit can be changed."""

KINDS = ("concurrency", "shares")
"""Kinds of changes that a customer can make."""

SAME_DEGREE = 3
"""Up to this concurrency limit all set the highest degree."""


def most_degree(target: int) -> int:
    """Return the highest degree of MEDIUM: CPU_COUNT, of which the target is six times as many."""
    return max(2, target // 6)


def most_limit(target: int) -> int:
    """Return the highest concurrency limit that can be set: under it the degree is 2."""
    return target // 4


def degree(target: int, limit: int) -> int:
    """Return the degree of MEDIUM's statements under a concurrency limit: the target has room for two sets of each.

    >>> degree(96, 12), degree(96, 5), degree(96, 1)
    (4, 9, 16)
    """
    return min(most_degree(target), max(2, target // (2 * limit)))


def at_once(target: int, limit: int) -> int:
    """Return how many statements run at once under a concurrency limit: rounded degrees may leave room for more.

    >>> at_once(96, 12), at_once(96, 7), at_once(96, 1)
    (12, 8, 1)
    """
    found = degree(target, limit)
    return limit if found == most_degree(target) else target // (2 * found)


def servers(target: int, limit: int) -> int:
    """Return the servers that MEDIUM may hold under a concurrency limit."""
    return 2 * degree(target, limit) * at_once(target, limit)
