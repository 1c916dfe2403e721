"""Plans: directives as shares, the tree, the linter, changes of plan."""
