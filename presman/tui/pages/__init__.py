"""Pages shown in place of a panel: details of a row, help, outliers. Their text and the code that opens them."""
