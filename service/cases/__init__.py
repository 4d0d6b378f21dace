"""Cases of a rating's evidence."""
