"""The overview: the newest letter of each service, what needs attention, what runs."""
