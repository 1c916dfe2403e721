"""Files for people: reports, comparisons, charts and what-if answers."""
