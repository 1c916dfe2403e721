"""Keys: what the user can do, said once, for bindings, keys line, help, palette and the book.

A key of a tab is declared by the tab and is an action of its panel; all others are here, one module for each subject.
"""
