"""What protocols over HTTP share."""
