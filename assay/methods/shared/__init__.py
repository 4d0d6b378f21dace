"""Code that several methods share: answers, profiles, scores of terms, tables of outcomes by group."""
