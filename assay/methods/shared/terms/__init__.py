"""Stereotype scores of words (terms), from answers about sentences or pictures: design, material, effects, letter."""
