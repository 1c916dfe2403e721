"""Rows read from a database, and the queries that read them: one record type per query, one snapshot per poll.

The record types are in the ``*_rows.py`` files. They are immutable, and rows leave a database in no other form. The
fields of a record are the select list of its query, in the same order and by the same names. The query file is named
after the record in snake case (``PxSession`` is read by ``queries/px_session.sql``). ``int`` and ``str`` fields turn
NULL into 0 and "" where NULL means that there is no count or no text; ``| None`` marks the columns in which NULL has a
meaning of its own. Datetimes are aware, in UTC. Every text has passed :func:`presman.base.text.clean`. Records are
named tuples because hundreds are made at each poll. Those files do not postpone annotations: each of the five hundred
would be a string that has to be compiled, and the code would be kept.
"""
