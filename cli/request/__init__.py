"""The request of a rating, from a file and the options of a command."""
