"""The overview: the newest letter of each service, problems that need attention, and running jobs."""
