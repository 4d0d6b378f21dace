"""Scores of terms, of which sentences or pictures are asked about: design, material, effects and letter."""
