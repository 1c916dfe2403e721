"""Files for people: reports, comparisons, charts and answers to "what if"."""
