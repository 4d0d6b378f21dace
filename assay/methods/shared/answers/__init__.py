"""Answers to questions: counts by outcome, answers about profiles, vectors of words."""
