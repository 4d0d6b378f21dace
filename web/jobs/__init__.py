"""Jobs: the list, and the page that follows a job until its end."""
