"""Pages: what is read in place of a panel: details of a row, help, outliers. Text, and who opens it."""
