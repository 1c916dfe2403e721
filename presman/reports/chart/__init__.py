"""Charts of CSV files that presman wrote, in the terminal or as pictures."""
