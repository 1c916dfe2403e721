"""Names of consumer groups as users write them: in capitals as Oracle has them, or in double quotes as they are."""

QUOTED = r'"(?:[^"]|"")+"'
"""Regular expression of a name in double quotes; a double quote in it is written twice."""


def as_named(text: str) -> str:
    """Return the name that a text means.

    >>> as_named("o'brien & co"), as_named('"My ""own"" group"')
    ("O'BRIEN & CO", 'My "own" group')
    """
    is_quoted = len(text) > 2 and text[0] == text[-1] == '"'
    return text[1:-1].replace('""', '"') if is_quoted else text.upper()


def written(name: str) -> str:
    """Return a name so that :func:`as_named` understands it, in quotes where it needs them.

    >>> written("ETL"), written('My "own" group')
    ('ETL', '"My ""own"" group"')
    """
    is_plain = name == name.upper() and not {" ", '"'} & {*name}
    return name if is_plain else '"{}"'.format(name.replace('"', '""'))
