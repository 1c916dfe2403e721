"""Plans: directives as shares, the tree, the linter, and plan changes."""
