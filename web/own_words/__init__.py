"""Test of a bias that the user describes, in three steps: words, review of sentences, model."""
