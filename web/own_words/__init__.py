"""Three steps from a bias in one's own words to a test: say it, review the sentences, name the model."""
