"""Rows as they leave a database, and the questions that bring them: one record per query, one snapshot per poll.

The records are in the ``*_rows.py``: immutable, the only shapes that leave a database. The fields of a record are the
select list of its query, in order and by name; the file is the record's name in snake case (``PxSession`` is read by
``queries/px_session.sql``). ``int`` and ``str`` fields turn NULL into 0 and "", because there NULL means nothing
counted or nothing said; ``| None`` marks the columns in which NULL is a fact of its own. Datetimes are aware, in UTC.
Every text has passed :func:`presman.base.text.clean`. Named tuples, because hundreds are made at each poll.
Annotations are evaluated in those files: as texts each of the five hundred would be compiled, and the code kept.
"""
