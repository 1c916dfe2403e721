"""Keys: the single definition of the user's actions, for bindings, keys line, help, palette and the documentation.

A tab declares its own keys, which are actions of its panel; all others are here, one module per subject.
"""
