"""Page: the frame and the tables of HTML pages that load nothing and run nothing."""
