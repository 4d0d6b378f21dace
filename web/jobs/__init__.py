"""Jobs: the list, and the page that follows one until its end."""
